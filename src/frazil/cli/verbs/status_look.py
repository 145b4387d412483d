"""State of the whole stack, asked once: services, connectors with tasks and lag, last commit of each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.cli.verbs.stack import requested, services
from frazil.environment.bootstrap import is_security
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import FrazilError, ServiceUnavailable
from frazil.text.instants import shown
from frazil.text.lists import listed

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot

    from frazil.declare.providers import ConfigProviders
    from frazil.stack.service import Service

MISSING = "MISSING"
EXTERNAL = "external"
STARTING, FAILED = "UNASSIGNED", "FAILED"
# What a user has paused or stopped is as it should be; RESTARTING waits for a part that does not answer.
_FINE = ("RUNNING", "PAUSED", "STOPPED", STARTING)


@dataclass(frozen=True)
class ServiceRow:
    """`state` is that of `frazil.stack.service.Status`, or `external`; `reason` says why it does not run."""

    name: str
    state: str
    address: str
    pid: int | None = None
    reason: str = ""

    @property
    def up(self) -> bool:
        return self.state in ("running", EXTERNAL)


@dataclass(frozen=True)
class ConnectorRow:
    """States are Kafka Connect's, or MISSING for a log connector that is not deployed while others of them are.

    `lag` is in records, None when it is not known; `trace` is the first line of what a failed connector or task says.
    `dead_letters` are its open ones, None when they were not counted. `captured` is what a source has captured, as
    `connectors.progress` tells it.
    """

    name: str
    state: str
    tasks: list[str] = field(default_factory=list)
    lag: int | None = None
    trace: str = ""
    dead_letters: int | None = None
    captured: dict[str, str] = field(default_factory=dict)

    @property
    def up(self) -> bool:
        return all(state in _FINE for state in (self.state, *self.tasks))


@dataclass(frozen=True)
class TableRow:
    """`state` is `ok` or MISSING; `last_commit` is ISO 8601 in UTC, None before the first commit.

    There are at most so many `rows` where there are `delete_files`.

    `snapshot` is text: its id has up to 19 digits, and many JSON readers keep only 15 of a number's.
    """

    name: str
    state: str = "ok"
    rows: int | None = None
    snapshot: str | None = None
    last_commit: str | None = None
    delete_files: int = 0

    @property
    def up(self) -> bool:
        return self.state != MISSING


@dataclass
class StackStatus:
    """Answer of `status`; `errors` are the parts that could not be asked.

    `dead_letters` are those that are open, None when they were not counted: Kafka does not answer, or there are so many
    records in the topics that counting takes long. `foreign_letters` of them are of connectors that the worker has not.
    """

    services: list[ServiceRow] = field(default_factory=list)
    connectors: list[ConnectorRow] = field(default_factory=list)
    tables: list[TableRow] = field(default_factory=list)
    dead_letters: int | None = None
    foreign_letters: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def up(self) -> bool:
        rows: list[ServiceRow | ConnectorRow | TableRow] = [*self.services, *self.connectors, *self.tables]
        return not self.errors and all(row.up for row in rows)


def look(settings: Settings) -> StackStatus:
    """Ask every part once; a part that does not answer becomes one of `errors`."""
    from frazil.minio.records.kinds import CONNECTOR_NAMES, TABLE_NAMES

    found = StackStatus(_services(settings))
    by_records: dict[str, list[str]] = {}
    expected = {CONNECTOR_NAMES[kind]: f"{settings.namespace}.{table}" for kind, table in TABLE_NAMES.items()}
    tables = dict.fromkeys(expected.values(), False)
    down = {row.name for row in found.services if not row.up}
    if "worker" in down:
        found.errors.append(
            "Connectors, and the tables that they name, are not known, as the worker does not run: `start worker`."
        )
    else:
        tables |= _connectors(settings, expected, by_records, found, ask_lag="kafka" not in down)
    if settings.store_service not in down:
        _tables(settings, tables, by_records, found)
    return found


def _services(settings: Settings) -> list[ServiceRow]:
    from frazil.stack.dual import NAMES

    on_request = [*requested(settings), *_sources(settings)]
    own = {service.name: service for service in (*services(settings), *on_request)}
    addresses = {name: _address(service) for name, service in own.items() if name in NAMES}
    addresses |= {
        settings.store_service: settings.s3_endpoint,
        "kafka": settings.bootstrap_servers,
        "worker": settings.connect_url,
    }
    addresses |= {service.name: _address(service) for service in on_request}
    if settings.source_connect_url:
        addresses["sources"] = settings.source_connect_url
    if settings.trino_external:
        addresses.setdefault("trino", settings.trino_url)
    if settings.registry_external:
        addresses.setdefault("registry", settings.registry_url)
    if settings.postgres_external:
        addresses.setdefault("postgres", f"{settings.postgres_host}:{settings.postgres_port}")
    rows = []
    for name, address in addresses.items():
        if name in own:
            state = own[name].state()
            rows.append(ServiceRow(name, state.status.value, address, state.pid, state.reason))
        else:
            rows.append(ServiceRow(name, EXTERNAL, address))
    return rows


def _address(service: Service) -> str:
    scheme = "" if service.name == "postgres" else "http://"
    return f"{scheme}{LOOPBACK}:{service.ports[0].number}"


def _sources(settings: Settings) -> list[Service]:
    """The runtime of source connectors, where the worker has started it."""
    from frazil.stack.connect import sources_service
    from frazil.stack.service import Status

    runtime = sources_service(settings, {})
    return [] if runtime.state().status is Status.STOPPED else [runtime]


def _connectors(
    settings: Settings,
    expected: Mapping[str, str],
    by_records: dict[str, list[str]],
    found: StackStatus,
    *,
    ask_lag: bool,
) -> dict[str, bool]:
    """Add the connectors to `found`, and the dead letters; the tables that they write to, and whether each of them has
    to exist beforehand. Those whose records name their tables are added to `by_records`, with their topics.

    `expected` are the log connectors with their tables: where one is deployed, the others are missed.
    """
    from frazil.clients.connect import ConnectClient
    from frazil.connectors.progress import captured

    tables: dict[str, bool] = {}
    configs: list[dict[str, str]] = []
    try:
        providers = settings.providers()
        with ConnectClient(settings.connect_access) as client:
            names = client.expanded()
            sources = any(entry["info"]["type"] == "source" for entry in names.values())
            metrics = client.metrics() if sources else ()
            for name, entry in names.items():
                config, state = entry["info"]["config"], entry["status"]
                configs.append(config)
                parts = [state["connector"], *state["tasks"]]
                trace = next((part["trace"] for part in parts if part.get("trace")), "")
                lag = None
                if ask_lag:
                    try:
                        lag = _lag(settings, providers, name, config)
                    except FrazilError as error:
                        found.errors.append(providers.hide(str(error)))
                        ask_lag = _has_login(config) or not isinstance(error, ServiceUnavailable)
                found.connectors.append(
                    ConnectorRow(
                        name,
                        state["connector"]["state"],
                        [task["state"] for task in state["tasks"]],
                        lag,
                        trace.partition("\n")[0],
                        captured=dict(captured(metrics, config.get("topic.prefix", ""))),
                    )
                )
                created = config.get("iceberg.tables.auto-create-enabled", "false").lower() == "true"
                for table in listed(config.get("iceberg.tables", "")):
                    tables[table] = tables.get(table, False) or not created
                if _names_tables_by_records(config):
                    by_records[name] = [*listed(config.get("topics", ""))]
    except FrazilError as error:
        found.errors.append(str(error))
    else:
        if not expected.keys().isdisjoint(names):
            tables |= dict.fromkeys(expected.values(), True)
            found.connectors += [ConnectorRow(name, MISSING) for name in expected if name not in names]
        places = {name: place for place, name in enumerate(expected)}
        found.connectors.sort(key=lambda row: (places.get(row.name, len(places)), row.name))
        if ask_lag:
            try:
                _count_letters(settings, configs, found)
            except FrazilError as error:
                found.errors.append(str(error))
    return tables


def _names_tables_by_records(config: Mapping[str, str]) -> bool:
    is_of_tables = any(key.startswith(("iceberg.", "frazil.tables.")) for key in config)
    return is_of_tables and not config.get("iceberg.tables", "").strip()


def _has_login(config: Mapping[str, str]) -> bool:
    """Whether a connector's clients have other security settings than the worker's."""
    return any(is_security(key.partition(".override.")[2]) for key in config)


def _lag(settings: Settings, providers: ConfigProviders, name: str, config: dict[str, str]) -> int | None:
    """Records that a connector has not stored yet; None for a source."""
    from frazil.connectors.connector import Standing

    standing = Standing.of(name, config, settings.bootstrap_servers, providers)
    return sum(standing.lag().values()) if standing.topics or standing.pattern else None


def _count_letters(settings: Settings, configs: Sequence[dict[str, str]], found: StackStatus) -> None:
    """Count the open dead letters, unless that would take long."""
    from frazil.clients.kafka import topics as kafka_topics
    from frazil.pipeline.letters.count import count_open
    from frazil.pipeline.letters.queues import queue_topics

    counts = count_open(
        settings.bootstrap_servers, queue_topics(kafka_topics.topics(settings.bootstrap_servers), configs)
    )
    if counts is None:
        return
    found.dead_letters = counts.total()
    found.foreign_letters = counts.total() - sum(counts[row.name] for row in found.connectors)
    found.connectors = [replace(row, dead_letters=counts[row.name]) for row in found.connectors]


def _tables(
    settings: Settings, names: Mapping[str, bool], by_records: Mapping[str, list[str]], found: StackStatus
) -> None:
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, RESTError
    from requests.exceptions import RequestException

    from frazil.clients.catalog import connect
    from frazil.connectors.iceberg.table.discover import tables_of

    try:
        catalog = connect(settings.catalog_properties())
        for name, required in names.items():
            try:
                found.tables.append(_row(name, catalog.load_table(name).current_snapshot()))
            except (NoSuchTableError, NoSuchNamespaceError):
                if required:
                    found.tables.append(TableRow(name, MISSING))
        others = tables_of(catalog, by_records) if by_records else []
        rows = ((".".join(table.name()), table.current_snapshot()) for table in others)
        found.tables += [_row(name, snapshot) for name, snapshot in rows if name not in names]
    except FrazilError as error:
        found.errors.append(str(error))
    except (RESTError, RequestException) as error:
        found.errors.append(f"the Iceberg catalog at {settings.catalog_uri} does not answer for the tables: {error}")


def _row(name: str, snapshot: Snapshot | None) -> TableRow:
    from frazil.connectors.iceberg.tools.describe import totals

    if snapshot is None:
        return TableRow(name, rows=0)
    figures, at = totals(snapshot), shown(snapshot.timestamp_ms)
    deletes = figures.get("delete_files", 0)
    return TableRow(name, "ok", figures.get("rows"), str(snapshot.snapshot_id), at, deletes)
