"""Pages of the Iceberg tables: which there are, and columns, files and snapshots of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, RESTError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from requests.exceptions import RequestException
from sqlglot import exp
from starlette.requests import Request

from frazil.clients.catalog import catalog_error, connect
from frazil.connectors.iceberg.table.commit import CONNECTOR, OFFSETS
from frazil.console.links import connector_link, table_link
from frazil.console.render import Page
from frazil.errors import NotFound
from frazil.worker.pages import WorkerView
from frazil.worker.rest.paths import segment_of

_MOST_TABLES = 500
_SNAPSHOTS = 30


@dataclass(frozen=True)
class ShownSnapshot:
    """A snapshot, and the connector that made it, if one did; `positions` are the offsets that it stands for."""

    id: int
    at: float
    operation: str
    added: int
    deleted: int
    files: int
    connector: str
    positions: str

    @property
    def link(self) -> str:
        return connector_link(self.connector)


def listing(view: WorkerView, request: Request) -> Page:
    """Make the list of all tables, the first five hundred. Raises ServiceUnavailable or ConfigError."""
    catalog = _catalog(view)
    try:
        names = [
            ".".join(name) for namespace in sorted(catalog.list_namespaces()) for name in catalog.list_tables(namespace)
        ]
    except (RESTError, RequestException) as error:
        raise catalog_error(view.settings.catalog_properties(), "the list of tables", error) from error
    writers = _writers(view)
    shown = [(name, table_link(name), writers.get(name, [])) for name in sorted(names)[:_MOST_TABLES]]
    return Page(
        "Tables",
        "tables.html",
        {"tables": shown, "more": max(0, len(names) - _MOST_TABLES), "namespace": view.settings.namespace},
        here="tables",
    )


def page(view: WorkerView, request: Request) -> Page:
    """Make the page of one table. Raises NotFound, ServiceUnavailable or ConfigError."""
    namespace, name = segment_of(request, "namespace"), segment_of(request, "table")
    catalog = _catalog(view)
    try:
        table = catalog.load_table((*namespace.split("."), name))
    except (NoSuchTableError, NoSuchNamespaceError):
        raise NotFound(f"There is no table {namespace}.{name}") from None
    except (RESTError, RequestException) as error:
        raise catalog_error(view.settings.catalog_properties(), f"table {namespace}.{name}", error) from error
    identifier = f"{namespace}.{name}"
    snapshots = [_shown(one) for one in sorted(table.snapshots(), key=lambda one: -one.timestamp_ms)[:_SNAPSHOTS]]
    current = table.current_snapshot()
    return Page(
        identifier,
        "table.html",
        {
            "name": identifier,
            "columns": [
                (field.field_id, field.name, str(field.field_type), field.required, field.doc or "")
                for field in table.schema().fields
            ],
            "partitions": [_partition(table, field) for field in table.spec().fields],
            "schemas": len(table.schemas()),
            "snapshots": snapshots,
            "more": max(0, len(table.snapshots()) - _SNAPSHOTS),
            "figures": _figures(current),
            "properties": sorted(table.properties.items()),
            "location": table.location(),
            "format": table.format_version,
            "writers": [(one, connector_link(one)) for one in _writers(view).get(identifier, [])],
            "preview": exp.select("*").from_(exp.table_(name, namespace, quoted=True)).limit(20).sql("trino"),
        },
        here="tables",
    )


def _catalog(view: WorkerView) -> Catalog:
    return connect(view.settings.catalog_properties())


def _writers(view: WorkerView) -> dict[str, list[str]]:
    """Connectors by table, as their batches since the start of this worker tell, and their configurations."""
    found: dict[str, set[str]] = {}
    for info in view.herder.infos():
        named = info.config.get("iceberg.tables", "").split(",")
        places = {place for batch in view.history.batches(info.name) for place in batch.report.places}
        for place in places | {text.strip() for text in named if text.strip()}:
            found.setdefault(place, set()).add(info.name)
    return {place: sorted(names) for place, names in found.items()}


def _figures(snapshot: Snapshot | None) -> list[tuple[str, int, bool]]:
    """Totals of the newest snapshot by name, and whether they are bytes."""
    summary = {} if snapshot is None else _told(snapshot)
    wanted = [
        ("rows", "total-records", False),
        ("data files", "total-data-files", False),
        ("delete files", "total-delete-files", False),
        ("size", "total-files-size", True),
    ]
    return [(title, _count(summary, key), is_size) for title, key, is_size in wanted if key in summary]


def _count(summary: Mapping[str, str], key: str) -> int:
    """A figure of a summary; whoever writes one may write anything."""
    text = summary.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _told(snapshot: Snapshot) -> dict[str, str]:
    summary = snapshot.summary
    return {} if summary is None else {"operation": summary.operation.value, **summary.additional_properties}


def _shown(snapshot: Snapshot) -> ShownSnapshot:
    told = _told(snapshot)
    return ShownSnapshot(
        snapshot.snapshot_id,
        snapshot.timestamp_ms / 1000,
        told.get("operation", ""),
        _count(told, "added-records"),
        _count(told, "deleted-records"),
        _count(told, "added-data-files"),
        told.get(CONNECTOR, ""),
        told.get(OFFSETS, ""),
    )


def _partition(table: Table, field: Any) -> str:
    return f"{field.name} = {field.transform}({table.schema().find_column_name(field.source_id)})"
