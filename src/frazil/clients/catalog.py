"""The Iceberg REST catalog, from properties in the sink's `iceberg.catalog.*` spelling."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog, TableResponse
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    ForbiddenError,
    NoSuchIdentifierError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
)
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import CommitTableResponse, Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Properties
from requests import Response, Session
from requests.exceptions import InvalidJSONError, InvalidSchema, InvalidURL, MissingSchema, RequestException

from frazil.clients.calls import timed
from frazil.clients.catalog_properties import file_access, merged, without_code
from frazil.environment.settings import LOOPBACK
from frazil.errors import ConfigError, ServiceUnavailable, StackUnavailable

_PYICEBERG_NAMES = {
    "rest.access-key-id": "client.access-key-id",
    "rest.secret-access-key": "client.secret-access-key",
    "rest.session-token": "client.session-token",
}
_NOT_PASSED = {"type", "rest.auth.type", "rest.auth.sigv4.delegate-auth-type"}
_DEFAULTS = {
    # A retry below the commit loop could hide that a lost answer was a commit that was applied.
    "rest.sigv4.max-retries": "0",
    "s3.connect-timeout": "10",
    "s3.request-timeout": "60",
}


def pyiceberg_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Translate Java's catalog property names to PyIceberg's. Raises ConfigError where one names code."""
    result = dict(_DEFAULTS)
    for key, value in without_code(properties, "the catalog's properties").items():
        if key not in _NOT_PASSED:
            result[_PYICEBERG_NAMES.get(key, key)] = value
    region = result.get("client.region") or result.get("rest.signing-region")
    if region:  # else PyIceberg asks AWS for the region of the bucket, wherever the store is
        result["client.region"] = region
    if properties.get("rest.auth.type") == "sigv4":
        result["rest.sigv4-enabled"] = "true"
    return result


# Seconds until a connection stands, and until the next bytes of an answer come.
_TIMEOUT_S = (10.0, 60.0)
_LOCATIONS = TableProperties.WRITE_PY_LOCATION_PROVIDER_IMPL


class GuardedRestCatalog(RestCatalog):
    """PyIceberg's client, which would wait for ever for a server that takes a request and does not answer it, and load
    the code that the server's answers and the properties of tables name.

    `server_properties` is what the server has told, with what is left out.
    """

    server_properties: Properties = EMPTY_DICT

    def _fetch_config(self) -> None:
        own = self.properties
        super()._fetch_config()
        self.server_properties = {k: v for k, v in self.properties.items() if own.get(k) != v}
        self.properties = merged(own, self.properties)

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> PyArrowFileIO:
        return PyArrowFileIO(file_access({**self.properties, **properties}))

    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: TableResponse) -> Table:
        location = table_response.metadata_location
        credentials = self._resolve_storage_credentials(table_response.storage_credentials, location)
        return Table(
            identifier_tuple,
            _without_code(table_response.metadata),
            location or "",
            self._load_file_io({**table_response.config, **credentials}),
            self,
            table_response.config,
        )

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """See RestCatalog."""
        response: CommitTableResponse = super().commit_table(table, requirements, updates)
        _without_code(response.metadata)
        return response

    def _create_session(self) -> Session:
        session = super()._create_session()
        for adapter in session.adapters.values():
            adapter.send = _within_time(adapter.send)  # type: ignore[method-assign]
        return session


def _without_code(metadata: TableMetadata) -> TableMetadata:
    """Forget which class the table wants to choose the locations of its files."""
    metadata.properties.pop(_LOCATIONS, None)
    return metadata


def _within_time(send: Callable[..., Response]) -> Callable[..., Response]:
    def within(*request: Any, **options: Any) -> Response:
        with timed("catalog") as call:
            response = send(*request, **{**options, "timeout": options.get("timeout") or _TIMEOUT_S})
            call.answered(response.status_code)
        if response.ok and response.headers.get("Content-Type", "").startswith("text/html"):
            raise InvalidJSONError("it sends a web page")
        return response

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
        why = str(error) if isinstance(error, InvalidJSONError) else type(error).__name__
        return _unanswered(properties, f"{catalog} does not answer ({why}) when asked for {asked_for}")
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


@contextmanager
def catalog_errors(properties: Mapping[str, str], asked_for: str) -> Iterator[None]:
    """Translate what a catalog fails with meanwhile, as `catalog_error` does."""
    try:
        yield
    except NoSuchIdentifierError as error:
        raise ConfigError(f"{asked_for}: the name of a table is written namespace.table") from error
    except (RequestException, RESTError) as error:
        raise catalog_error(properties, asked_for, error) from error


def _unanswered(properties: Mapping[str, str], told: str) -> ServiceUnavailable:
    """Tell what to do about a catalog that does not answer: that of the stack is on loopback."""
    correct = "or correct iceberg.catalog.uri or ICEBERG_CATALOG_URI"
    try:
        embedded = urlsplit(properties.get("uri") or "").hostname == LOOPBACK
    except ValueError:
        embedded = False
    if embedded:
        return StackUnavailable(f"{told}. Start that of the stack: `start seaweedfs`, {correct}")
    return ServiceUnavailable(f"{told}. Look whether it runs there, {correct}")


def _identified(properties: Mapping[str, str]) -> bool:
    """Whether requests say who sends them."""
    signed = properties.get("rest.sigv4-enabled", "").lower() == "true" or "rest.auth.type" in properties
    return signed or any(properties.get(key) for key in ("token", "credential"))


def server_properties(properties: Mapping[str, str]) -> Properties:
    """Give what a catalog tells its clients. Raises as `connect` does."""
    return _connect(properties, "iceberg").server_properties


def connect(properties: Mapping[str, str], name: str = "iceberg") -> Catalog:
    """Connect to the catalog.

    Raises ServiceUnavailable when it does not answer, ConfigError when it refuses the warehouse or the credentials, and
    for properties that name code to be loaded.
    """
    return _connect(properties, name)


def _connect(properties: Mapping[str, str], name: str) -> GuardedRestCatalog:
    named = properties.get("warehouse")
    with catalog_errors(properties, f"warehouse {named!r}" if named else "its warehouse"):
        return GuardedRestCatalog(name, **pyiceberg_properties(properties))
