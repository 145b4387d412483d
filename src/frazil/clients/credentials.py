"""Access keys for the catalog and the object store of a connector whose configuration has none."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError

from frazil.clients.object_store import ObjectStoreConfig
from frazil.environment.settings import Settings
from frazil.errors import ConfigError

_PREFIX = "iceberg.catalog."
_ID, _SECRET = "access-key-id", "secret-access-key"
_PORTS = {"http": 80, "https": 443}


def with_credentials(properties: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The catalog properties of a connector, without their prefix, completed with access keys where they have none.

    A connector's own keys count first, then those of the AWS environment (variables, profile, role), which the
    libraries find by themselves. The worker's keys are used where neither has any, and only for the worker's own
    catalog and object store: another host never sees them. Raises ConfigError that names the missing keys.
    """
    _check_pairs(properties)
    signed = properties.get("rest.sigv4-enabled", "").lower() == "true" or properties.get("rest.auth.type") == "sigv4"
    shared = any(properties.get(name) for name in (f"client.{_ID}", f"rest.{_ID}", "client.profile-name"))
    for_catalog = signed and not shared
    for_store = not shared and not properties.get(f"s3.{_ID}")
    if not (for_catalog or for_store) or _in_aws_environment():
        return dict(properties)
    result = dict(properties)
    own_catalog = _is_own(properties.get("uri", ""), settings)
    if for_catalog:
        if not own_catalog:
            raise _missing("rest", properties.get("uri", ""), settings)
        result |= {f"rest.{_ID}": settings.access_key, f"rest.{_SECRET}": settings.secret_key}
    if for_store:
        endpoint = properties.get("s3.endpoint") or (settings.s3_endpoint if own_catalog else "")
        if _is_own(endpoint, settings):
            result |= {"s3.endpoint": endpoint}
            result |= {f"s3.{_ID}": settings.access_key, f"s3.{_SECRET}": settings.secret_key}
        elif for_catalog:  # the libraries would use the keys of the catalog for the store too
            raise _missing("s3", endpoint, settings)
    return result


def with_store_access(store: ObjectStoreConfig, settings: Settings) -> ObjectStoreConfig:
    """The store of an object sink, completed with access keys where it has none.

    Its own keys count first, then those of the AWS environment; the worker's keys are used for the worker's own store
    only. Raises ConfigError that names the missing keys.
    """
    if store.access_key or _in_aws_environment():
        return store
    if store.endpoint is not None and _is_own(store.endpoint, settings):
        return replace(store, access_key=settings.access_key, secret_key=settings.secret_key)
    raise ConfigError(
        f"the connector has no access keys for {store.endpoint or 'AWS'}, and the AWS environment of the worker has "
        "none; nothing was read. Add aws.access.key.id and aws.secret.access.key, or store.url for a store that is not "
        f"AWS. (The worker's own keys are used for {settings.s3_endpoint} only.)"
    )


def _check_pairs(properties: Mapping[str, str]) -> None:
    for part in ("rest", "client", "s3"):
        for given, other in ((_ID, _SECRET), (_SECRET, _ID)):
            if properties.get(f"{part}.{given}") and not properties.get(f"{part}.{other}"):
                raise ConfigError(
                    f"{_PREFIX}{part}.{given} is set and {_PREFIX}{part}.{other} is not; nothing was read. Add it."
                )


def _in_aws_environment() -> bool:
    try:
        return boto3.Session().get_credentials() is not None
    except BotoCoreError as error:
        raise ConfigError(
            f"the credentials of the worker's AWS environment cannot be used ({error}); nothing was read. Correct that "
            f"environment, or give the connector keys: {_PREFIX}rest.{_ID}, {_PREFIX}rest.{_SECRET}."
        ) from error


def _is_own(url: str, settings: Settings) -> bool:
    return _origin(url) in {_origin(settings.catalog_uri), _origin(settings.s3_endpoint)}


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # no URL: nobody's place
        return url, "", None


def _missing(part: str, url: str, settings: Settings) -> ConfigError:
    return ConfigError(
        f"the connector has no access keys for {url or 'its object store'}, and the AWS environment of the worker has "
        f"none; nothing was read. Add {_PREFIX}{part}.{_ID} and {_PREFIX}{part}.{_SECRET}. (The worker's own keys are "
        f"used for {settings.catalog_uri} and {settings.s3_endpoint} only.)"
    )
