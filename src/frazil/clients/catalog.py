"""The Iceberg REST catalog, from properties in the sink's `iceberg.catalog.*` spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    ForbiddenError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
)
from requests import Response, Session
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema, RequestException

from frazil.errors import ConfigError, ServiceUnavailable

_PYICEBERG_NAMES = {
    "rest.access-key-id": "client.access-key-id",
    "rest.secret-access-key": "client.secret-access-key",
    "rest.session-token": "client.session-token",
}
_NOT_PASSED = {"rest.auth.type", "rest.auth.sigv4.delegate-auth-type", "io-impl"}
_DEFAULTS = {
    # A retry below the commit loop could hide that a lost answer was a commit that was applied.
    "rest.sigv4.max-retries": "0",
    "s3.connect-timeout": "10",
    "s3.request-timeout": "60",
}


def pyiceberg_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Translate Java's catalog property names to PyIceberg's."""
    result = dict(_DEFAULTS)
    for key, value in properties.items():
        if key not in _NOT_PASSED:
            result[_PYICEBERG_NAMES.get(key, key)] = value
    region = result.get("client.region") or result.get("rest.signing-region")
    if region:  # else PyIceberg asks AWS for the region of the bucket, wherever the store is
        result["client.region"] = region
    if properties.get("rest.auth.type") == "sigv4":
        result["rest.sigv4-enabled"] = "true"
    result.setdefault("type", "rest")
    return result


# Seconds until a connection stands, and until the next bytes of an answer come.
_TIMEOUT_S = (10.0, 60.0)
_REST_CATALOG = f"{__name__}.TimedRestCatalog"


class TimedRestCatalog(RestCatalog):
    """PyIceberg's client, which would wait for ever for a server that takes a request and does not answer it."""

    def _create_session(self) -> Session:
        session = super()._create_session()
        for adapter in session.adapters.values():
            adapter.send = _timed(adapter.send)  # type: ignore[method-assign]
        return session


def _timed(send: Callable[..., Response]) -> Callable[..., Response]:
    def within(*request: Any, **options: Any) -> Response:
        return send(*request, **{**options, "timeout": options.get("timeout") or _TIMEOUT_S})

    return within


_PASSING = (AuthorizationExpiredError, ServerError, ServiceUnavailableError, TooManyRequestsError)
_WRONG_URI = (InvalidSchema, InvalidURL, MissingSchema)


def catalog_error(
    properties: Mapping[str, str], asked_for: str, error: RequestException | RESTError
) -> ConfigError | ServiceUnavailable:
    """Translate a failed request: the catalog is away for the moment, or it will never grant this.

    `properties` are those of the catalog, in the spelling of either side.
    """
    catalog = f"the Iceberg catalog at {properties.get('uri')}"
    if isinstance(error, _WRONG_URI):
        return ConfigError(f"{catalog} cannot be asked: {error}. Correct iceberg.catalog.uri or ICEBERG_CATALOG_URI.")
    if isinstance(error, RequestException):
        return ServiceUnavailable(
            f"{catalog} does not answer ({type(error).__name__}) when asked for {asked_for}; check that it runs "
            "(`status` shows the embedded one, `start` starts it)"
        )
    if isinstance(error, _PASSING):
        return ServiceUnavailable(f"{catalog} failed when asked for {asked_for}: {error}")
    if isinstance(error, ForbiddenError | UnauthorizedError) and not _identified(properties):
        return ConfigError(
            f"{catalog} refused {asked_for}: {error}. The requests were not signed and had no token: set "
            "iceberg.catalog.rest.sigv4-enabled=true (or iceberg.catalog.rest.auth.type=sigv4) with "
            "iceberg.catalog.rest.signing-name and rest.signing-region, or iceberg.catalog.credential or token."
        )
    why = str(error).rstrip(". ")
    return ConfigError(f"{catalog} refused {asked_for}: {why}. Check the warehouse's name and the access keys.")


def _identified(properties: Mapping[str, str]) -> bool:
    """Whether requests say who sends them."""
    signed = properties.get("rest.sigv4-enabled", "").lower() == "true" or "rest.auth.type" in properties
    return signed or any(properties.get(key) for key in ("token", "credential"))


def connect(properties: Mapping[str, str], name: str = "iceberg") -> Catalog:
    """Connect to the catalog.

    Raises ServiceUnavailable when it does not answer, ConfigError when it refuses the warehouse or the credentials.
    """
    translated = pyiceberg_properties(properties)
    if translated["type"] == "rest":
        del translated["type"]
        translated["py-catalog-impl"] = _REST_CATALOG
    try:
        return load_catalog(name, **translated)
    except (RequestException, RESTError) as error:
        raise catalog_error(properties, f"warehouse {properties.get('warehouse')!r}", error) from error
