"""Truststore of what Python trusts, for Java, which knows none of the variables that name certificates."""

import hashlib
import os
import ssl
import warnings
from collections.abc import Mapping
from pathlib import Path

from frazil.environment.paths import expanded
from frazil.environment.settings import Settings
from frazil.errors import ConfigError

#: Variables that name PEM certificates, a file or a folder, for Python's libraries.
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_OWN_STORE = "-Djavax.net.ssl.trustStore="
_PASSWORD = "changeit"  # noqa: S105 - Java's own for such stores, which hold public certificates alone
_BEGIN = b"-----BEGIN CERTIFICATE-----"


def trust_options(env: Mapping[str, str]) -> list[str]:
    """Options for a Java process to trust what the variables in `env` name, Python's own list and that of the system.

    Empty when none of the variables is set, or when `JAVA_TOOL_OPTIONS` names a truststore. The store is a file in the
    home, made again when a certificate changes. Raises ConfigError when a variable names no certificates.
    """
    named = {name: env[name] for name in CERTIFICATE_VARIABLES if env.get(name)}
    if not named or _OWN_STORE in env.get("JAVA_TOOL_OPTIONS", ""):
        return []
    text = b"\n".join([_named(name, place) for name, place in named.items()] + _known())
    store = Settings(env).home / "conf" / f"truststore-{hashlib.sha256(text).hexdigest()[:12]}.p12"
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        draft = store.with_name(f"{store.name}.{os.getpid()}")
        draft.write_bytes(_pkcs12(text))
        draft.replace(store)
    options = {"trustStore": store, "trustStoreType": "PKCS12", "trustStorePassword": _PASSWORD}
    return [f"-Djavax.net.ssl.{name}={value}" for name, value in options.items()]


def _named(variable: str, place: str) -> bytes:
    path = expanded(variable, place)
    try:
        text = b"\n".join(one.read_bytes() for one in (sorted(path.glob("*.*")) if path.is_dir() else [path]))
    except OSError as error:
        raise ConfigError(f"{variable}={place} cannot be read ({error.strerror}); correct it or unset it") from None
    if _BEGIN not in text:
        raise ConfigError(f"{variable}={place} holds no certificate in PEM; correct it or unset it")
    return text


def _known() -> list[bytes]:
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    places = (DEFAULT_CA_BUNDLE_PATH, ssl.get_default_verify_paths().openssl_cafile)
    return [path.read_bytes() for path in map(Path, places) if path.is_file()]


def _pkcs12(text: bytes) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
    from cryptography.utils import CryptographyDeprecationWarning

    with warnings.catch_warnings():
        # lists of systems have certificates older than the rules of today
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        found = dict.fromkeys(x509.load_pem_x509_certificates(text))
    entries = [PKCS12Certificate(one, str(number).encode()) for number, one in enumerate(found)]
    return serialize_java_truststore(entries, BestAvailableEncryption(_PASSWORD.encode()))
