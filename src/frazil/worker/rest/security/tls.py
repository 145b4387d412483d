"""TLS of the REST API, from the `ssl.*` keys of Kafka Connect's worker."""

import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

import httpx

from frazil.clients.kafka.certificates import Identity, identity, trusted
from frazil.errors import ConfigError
from frazil.text.lists import listed

LISTENERS = "listeners.https."
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(properties: Mapping[str, str], prefix: str) -> ssl.SSLContext:
    """TLS for listeners whose keys begin with `prefix` (`listeners.https.`, `admin.listeners.https.`).

    When any key has the prefix, those alone count, else the bare `ssl.*`, as in Kafka Connect. Raises ConfigError that
    names the key that is missing or wrong.
    """
    if not any(key.startswith(f"{prefix}ssl.") for key in properties):
        prefix = ""
    own = identity(properties, prefix)
    if own is None:
        raise ConfigError(f"{prefix}ssl.keystore.location is not set; a listener with https needs a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _oldest(properties.get(f"{prefix}ssl.enabled.protocols", ""), prefix)
    _load(context, own, prefix)
    asked = properties.get(f"{prefix}ssl.client.auth", "none").strip().lower()
    if asked not in _CLIENT_AUTH:
        raise ConfigError(f"{prefix}ssl.client.auth is {asked}; it has to be one of {', '.join(_CLIENT_AUTH)}")
    if asked != "none":
        authorities = trusted(properties, prefix)
        if authorities is None:
            raise ConfigError(f"{prefix}ssl.truststore.location is not set; {prefix}ssl.client.auth={asked} needs it")
        context.load_verify_locations(cadata=authorities)
        context.verify_mode = _CLIENT_AUTH[asked]
    return context


def worker_client(properties: Mapping[str, str]) -> httpx.Client:
    """A client for requests to the other workers of a group, whose listeners have the same keys as this one's.

    With a truststore, below `listeners.https.` or bare, they are trusted by it, else by what Python trusts; the
    keystore is this worker's own certificate for them.
    """
    prefix = LISTENERS if any(key.startswith(f"{LISTENERS}ssl.") for key in properties) else ""
    context = ssl.create_default_context(cadata=trusted(properties, prefix))
    own = identity(properties, prefix)
    if own is not None:
        _load(context, own, prefix)
    return httpx.Client(trust_env=False, verify=context)


def _oldest(text: str, prefix: str) -> ssl.TLSVersion:
    names = listed(text)
    unknown = [name for name in names if name not in _VERSIONS]
    if unknown:
        raise ConfigError(f"{prefix}ssl.enabled.protocols has {unknown[0]}; there are {' and '.join(_VERSIONS)}")
    return min((_VERSIONS[name] for name in names), default=ssl.TLSVersion.TLSv1_2)


def _load(context: ssl.SSLContext, own: Identity, prefix: str) -> None:
    """Python takes certificates from a file only; it is readable by its owner, and gone when this returns."""
    descriptor, path = tempfile.mkstemp(prefix="frazil-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(own.key + own.certificates)
        context.load_cert_chain(path)
    except ssl.SSLError as error:
        raise ConfigError(f"{prefix}ssl.keystore.location: key and certificate do not fit: {error.reason}") from None
    finally:
        Path(path).unlink()
