"""Initialisation: topics, warehouse, namespace, tables and connectors.

Every step may be repeated: what is there already is left as it is.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    UnauthorizedError,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from requests.exceptions import RequestException
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka.topics import ensure_topics
from frazil.environment.settings import Settings
from frazil.errors import CommitConflict, ConfigError, NotFound, ServiceUnavailable, TerminalError
from frazil.minio.deployment.aggregates import aggregates
from frazil.minio.deployment.connectors import connectors, dead_letter_topic
from frazil.minio.records.kinds import TABLE_NAMES, TableKind
from frazil.minio.records.tables import AUDIT_ADDITIONS, OLDER_AUDIT_SCHEMA, PARTITION_SPECS, SCHEMAS, TABLE_PROPERTIES

Outcome = Literal["created", "exists", "updated"]

_PARTITIONS = 3
_MAX_MESSAGE_BYTES = {"max.message.bytes": "16777216"}


@dataclass(frozen=True)
class Step:
    """Thing that initialisation has seen to; `what` is topic, warehouse, namespace, table, connector or catalog."""

    what: str
    name: str
    outcome: Outcome


Progress = Callable[[Step], None]


def deploy(settings: Settings, progress: Progress) -> None:
    """Make everything that the three log connectors need, then the connectors.

    Each step is reported once it is done. Raises ServiceUnavailable when a part does not answer and ConfigError when
    a table that exists already lacks columns; the steps reported so far stay, and the call may be repeated.
    """
    deploy_topics(settings, progress)
    deploy_tables(settings, progress)
    deploy_connectors(settings, progress)


def deploy_topics(settings: Settings, progress: Progress) -> None:
    """Control topic, data topics and dead-letter topics."""
    topics: dict[str, tuple[int, Mapping[str, str]]] = {settings.control_topic: (1, {})}
    topics |= {topic: (_PARTITIONS, _MAX_MESSAGE_BYTES) for topic in settings.topics.values()}
    topics |= {dead_letter_topic(topic): (1, _MAX_MESSAGE_BYTES) for topic in settings.topics.values()}
    for name, created in ensure_topics(settings.bootstrap_servers, topics).items():
        progress(Step("topic", name, "created" if created else "exists"))


def deploy_tables(settings: Settings, progress: Progress) -> None:
    """Warehouse, namespace and the three tables."""
    if has_warehouse_api(settings):  # elsewhere it is not made here
        created = create_warehouse(settings)
        progress(Step("warehouse", settings.warehouse, "created" if created else "exists"))
    catalog = connect(settings.catalog_properties())
    with _catalog_errors(settings, f"namespace `{settings.namespace}`"):
        progress(Step("namespace", settings.namespace, _create_namespace(catalog, settings.namespace)))
    for kind, name in TABLE_NAMES.items():
        identifier = f"{settings.namespace}.{name}"
        with _catalog_errors(settings, f"table `{identifier}`"):
            progress(Step("table", identifier, _create_table(catalog, identifier, kind)))


def deploy_connectors(settings: Settings, progress: Progress) -> None:
    """The three connectors."""
    _put_connectors(settings, connectors(settings), progress)


def deploy_aggregates(settings: Settings, progress: Progress) -> None:
    """The connectors that aggregate calls, whose tables they create themselves."""
    _put_connectors(settings, aggregates(settings), progress)


def _put_connectors(settings: Settings, configs: Mapping[str, dict[str, str]], progress: Progress) -> None:
    """Put connectors; one whose configuration is the wanted one already goes on undisturbed."""
    with ConnectClient(settings.connect_access) as client:
        for name, config in configs.items():
            progress(Step("connector", name, _put_connector(client, name, config)))


def _put_connector(client: ConnectClient, name: str, config: dict[str, str]) -> Outcome:
    try:
        current = client.config(name)
    except NotFound:
        current = None
    if current is not None and current | {"name": name} == config | {"name": name}:
        return "exists"
    return "created" if client.put_config(name, config) else "updated"


def _create_namespace(catalog: Catalog, namespace: str) -> Outcome:
    try:
        catalog.create_namespace(namespace)
    except NamespaceAlreadyExistsError:
        return "exists"
    return "created"


def _create_table(catalog: Catalog, identifier: str, kind: TableKind) -> Outcome:
    schema = OLDER_AUDIT_SCHEMA if kind == "audit" else SCHEMAS[kind]
    # SeaweedFS answers the creation of an existing table with that table, so its existence is asked for first.
    existed = catalog.table_exists(identifier)
    table = (
        catalog.load_table(identifier)
        if existed
        else catalog.create_table_if_not_exists(
            identifier, schema, partition_spec=PARTITION_SPECS[kind], properties=TABLE_PROPERTIES
        )
    )
    _check_columns(identifier, schema, table.schema())
    added = kind == "audit" and _add_columns(table)
    if existed:
        return "updated" if added else "exists"
    return "created"


def _add_columns(table: Table) -> bool:
    missing = [field for field in AUDIT_ADDITIONS if field.name not in table.schema().column_names]
    if missing:
        with table.update_schema() as update:
            for field in missing:
                update.add_column(field.name, field.field_type, doc=field.doc)
    return bool(missing)


def _check_columns(identifier: str, wanted: Schema, found: Schema) -> None:
    missing = sorted(set(wanted.column_names) - set(found.column_names))
    if missing:
        raise ConfigError(
            f"table `{identifier}` exists but lacks the columns {', '.join(missing)}; it was not changed. "
            "Add them, or choose another NAMESPACE_NAME"
        )


@contextmanager
def _catalog_errors(settings: Settings, what: str) -> Iterator[None]:
    uri = settings.catalog_uri
    try:
        yield
    except CommitFailedException as error:
        raise CommitConflict(f"{what} was changed by another writer at the same time; run `init` again") from error
    except (RequestException, ServerError, ServiceUnavailableError) as error:
        raise ServiceUnavailable(f"the catalog at {uri} failed at {what} ({error}); run `init` again") from error
    except (ForbiddenError, UnauthorizedError) as error:
        raise ConfigError(
            f"the catalog at {uri} refused {what} ({error}); check MINIO_ACCESS_KEY, MINIO_SECRET_KEY and the policy"
        ) from error
    except RESTError as error:
        raise TerminalError(f"the catalog at {uri} refused {what}: {error}") from error


_TIMEOUT_S = 30.0


def has_warehouse_api(settings: Settings) -> bool:
    """Whether the catalog is AIStor's, where a warehouse has to be created first."""
    return settings.catalog_uri.endswith("/_iceberg")


@retry(
    retry=retry_if_exception_type(ServiceUnavailable),
    stop=stop_after_attempt(4),
    wait=wait_exponential_jitter(multiplier=0.2, max=5, jitter=0.2),
    reraise=True,
)
def create_warehouse(settings: Settings) -> bool:
    """Create the warehouse; False when it is there already.

    A server error is tried four times, since concurrent requests make the server answer 500. Raises
    ServiceUnavailable when it does not answer, ConfigError when it refuses the credentials or the name.
    """
    url = f"{settings.catalog_uri}/v1/warehouses"
    body = json.dumps({"name": settings.warehouse, "upgrade-existing": False}).encode()
    try:
        response = httpx.post(url, content=body, headers=_signed(settings, url, body), timeout=_TIMEOUT_S)
    except httpx.HTTPError as error:
        raise ServiceUnavailable(
            f"the catalog at {settings.catalog_uri} does not answer ({type(error).__name__}); the warehouse was not "
            "created. Check MINIO_ENDPOINT and that the server runs"
        ) from error
    if response.is_success:
        return True
    if response.status_code == httpx.codes.CONFLICT:
        return False
    text = f"the catalog at {settings.catalog_uri} did not create warehouse `{settings.warehouse}`: "
    text += f"{response.status_code} {response.text[:500]}"
    if response.is_server_error:
        raise ServiceUnavailable(text)
    if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        raise ConfigError(f"{text}. Check MINIO_ACCESS_KEY and MINIO_SECRET_KEY")
    if response.status_code == httpx.codes.BAD_REQUEST:
        raise ConfigError(f"{text}. Check WAREHOUSE_NAME: 3 to 63 lowercase letters, digits and hyphens")
    raise TerminalError(text)


def _signed(settings: Settings, url: str, body: bytes) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "X-Amz-Content-SHA256": hashlib.sha256(body).hexdigest()}
    request = AWSRequest("POST", url, headers=headers, data=body)
    SigV4Auth(Credentials(settings.access_key, settings.secret_key), "s3tables", settings.region).add_auth(request)
    return dict(request.headers.items())
