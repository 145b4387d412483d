"""Pages of the Iceberg tables: which there are, and columns, files and snapshots of one."""

import logging

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from sqlglot import exp
from starlette.requests import Request

from frazil.clients.catalog import catalog_errors, connect
from frazil.connectors.iceberg.table.discover import all_tables
from frazil.connectors.iceberg.table.schema import type_text
from frazil.connectors.iceberg.tools.describe import (
    committers,
    named_tables,
    newest_first,
    partition_terms,
    schema_history,
    shown_snapshot,
    totals,
)
from frazil.console.links import connector_link, table_link
from frazil.console.render import Page
from frazil.console.sent import fields_of
from frazil.errors import NotFound, UsageError
from frazil.worker.pages import WorkerView
from frazil.worker.rest.paths import segment_of

logger = logging.getLogger(__name__)

_MOST_TABLES = 500
_SNAPSHOTS = 30


def listing(view: WorkerView, request: Request) -> Page:
    """Make the list of all tables, the first five hundred. Raises ServiceUnavailable or ConfigError."""
    catalog = _catalog(view)
    names = [".".join(name) for name in all_tables(catalog)]
    writers = _writers(view)
    shown = [(name, table_link(name), writers.get(name, [])) for name in names[:_MOST_TABLES]]
    return Page(
        "Tables",
        "tables.html",
        {"tables": shown, "more": max(0, len(names) - _MOST_TABLES), "namespace": view.settings.namespace},
        here="tables",
    )


def maintain(view: WorkerView, request: Request) -> Page:
    """Let maintenance of the tables of a connector begin, and make the page of the table that a form came from.

    Raises UsageError, NotFound, ServiceUnavailable or ConfigError.
    """
    connector = fields_of(request).get("connector", [""])[0]
    if not connector:
        raise UsageError("No connector is named whose tables are to be looked after.")
    view.maintenance.now(connector)
    logger.info("maintenance of the tables of connector %s was asked for from the console", connector)
    return page(view, request)


def page(view: WorkerView, request: Request) -> Page:
    """Make the page of one table. Raises NotFound, ServiceUnavailable or ConfigError."""
    namespace, name = segment_of(request, "namespace"), segment_of(request, "table")
    catalog = _catalog(view)
    with catalog_errors(view.settings.catalog_properties(), f"table {namespace}.{name}"):
        try:
            table = catalog.load_table((*namespace.split("."), name))
        except (NoSuchTableError, NoSuchNamespaceError):
            raise NotFound(f"There is no table {namespace}.{name}") from None
    identifier = f"{namespace}.{name}"
    snapshots = [shown_snapshot(one) for one in newest_first(table)[:_SNAPSHOTS]]
    figures = totals(table.current_snapshot()) if snapshots else {}
    here = {info.name for info in view.herder.infos()}
    written_by = sorted(set(_writers(view).get(identifier, [])) | (committers(table).keys() & here))
    return Page(
        identifier,
        "table.html",
        {
            "name": identifier,
            "columns": [
                (field.field_id, field.name, type_text(field.field_type), field.required, field.doc or "")
                for field in table.schema().fields
            ],
            "partitions": partition_terms(table),
            "history": schema_history(table)[::-1],
            "snapshots": [(one, connector_link(one.connector)) for one in snapshots],
            "more": max(0, len(table.snapshots()) - _SNAPSHOTS),
            "figures": figures,
            "properties": sorted(table.properties.items()),
            "location": table.location(),
            "format": table.format_version,
            "writers": [(one, connector_link(one)) for one in written_by],
            "schedules": [(one, found) for one in written_by if (found := view.maintenance.of(one)) is not None],
            "here": table_link(identifier),
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
        places = {place for batch in view.history.batches(info.name) for place in batch.report.places}
        for place in places.union(named_tables(info.config)):
            found.setdefault(place, set()).add(info.name)
    return {place: sorted(names) for place, names in found.items()}
