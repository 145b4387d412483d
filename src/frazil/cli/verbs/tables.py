"""The verb `tables`: list, describe and change Iceberg tables, their snapshots, branches and tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.ui.output import ListOption, Output, OutputOption, as_text, show, show_table
from frazil.cli.ui.program import group
from frazil.cli.ui.table_access import TableArgument, Writers, open_table
from frazil.environment.settings import Settings
from frazil.text.amounts import figure, size
from frazil.text.instants import shown

if TYPE_CHECKING:
    from pyiceberg.table import Table

MAIN = "main"
_FEW = 20
BranchOption = Annotated[str, typer.Option("--branch", "-b", help="Branch.")]

ALTER = "tables alter orders --add 'city string' --widen amount=long"
BACK = "tables rollback orders --to 2h"
tables = group("tables", "List, describe and change Iceberg tables; go back to a snapshot.", "tables list", ALTER, BACK)


@tables("list", "tables list", "tables list -o name")
def list_tables(output: ListOption = Output.TABLE) -> None:
    """List tables with rows, size and last commit.

    And with the connectors that write to them. Rows and sizes are those that the newest snapshot tells; where delete
    files take some away, there are at most so many.
    """
    from frazil.clients.catalog import connect
    from frazil.connectors.iceberg.table.discover import all_tables, loaded
    from frazil.connectors.iceberg.tools.describe import totals

    settings = Settings.load()
    catalog = connect(settings.catalog_properties())
    names = all_tables(catalog)
    if output is Output.NAME:
        show(output, None, (), (), names=map(".".join, names))
        return
    writers = Writers.ask(settings)
    found: list[dict[str, Any]] = []
    for table in loaded(catalog, names):
        snapshot = table.current_snapshot()
        found.append(
            {
                "table": ".".join(table.name()),
                **totals(snapshot),
                "last_commit": None if snapshot is None else shown(snapshot.timestamp_ms),
                "connectors": sorted(writers.of(table)),
            }
        )
    rows = [
        (
            one["table"],
            _rows(one),
            figure(one.get("data_files")),
            _size(one.get("bytes")),
            one["last_commit"] or "never",
            " ".join(one["connectors"]) or "-",
        )
        for one in found
    ]
    header = ("table", "rows", "files", "size", "last commit", "connectors")
    show(output, found, header, rows, numbers=("rows", "files", "size"))


@tables("describe", "tables describe orders", "tables describe streaming.orders -o yaml")
def describe(table: TableArgument, output: OutputOption = Output.TABLE) -> None:
    """Show columns, figures, positions, properties.

    Columns have their history, and connectors that write to the table their states.

    The position of a connector is what the table itself holds of it: everything below these offsets is stored.
    """
    settings = Settings.load()
    _, found = open_table(settings, table)
    writers = Writers.ask(settings).of(found)
    document = _described(found, writers)
    if output is not Output.TABLE:
        typer.echo(as_text(document, output))
        return
    show_table(
        ("table", document["table"]),
        [
            ("location", document["location"]),
            ("format", f"Iceberg version {document['format_version']}"),
            ("last commit", document["last_commit"] or "never"),
            ("rows", _rows(document["figures"])),
            (
                "files",
                f"{figure(document['figures'].get('data_files'))}, {_size(document['figures'].get('bytes'))}",
            ),
            ("delete files", figure(document["figures"].get("delete_files"))),
            ("partitions", ", ".join(document["partitions"]) or "none"),
            ("connectors", ", ".join(f"{name} ({state})" for name, state in writers.items()) or "none"),
        ],
    )
    typer.echo()
    columns = [(one["id"], one["name"], one["type"], "yes" if one["required"] else "") for one in document["columns"]]
    show_table(("id", "column", "type", "required"), columns, numbers=("id",))
    typer.echo()
    history = [(one["id"], one["since"] or "not yet", "; ".join(one["changes"])) for one in document["schemas"]]
    show_table(("schema", "first written", "changes"), history, numbers=("schema",))
    typer.echo()
    show_table(("ref", "kind", "snapshot", "time"), [tuple(one.values()) for one in document["refs"]])
    if document["positions"]:
        typer.echo()
        positions = [
            (one["connector"], one["branch"], topic, partition, f"{offset:,}")
            for one in document["positions"]
            for topic, partition, offset in one["offsets"]
        ]
        header = ("position of", "branch", "topic", "partition", "next offset")
        show_table(header, positions, numbers=header[3:])
    typer.echo()
    show_table(("property", "value"), list(document["properties"].items()))


def _described(table: Table, writers: dict[str, str]) -> dict[str, Any]:
    from frazil.connectors.iceberg.table.commit import TableBranch
    from frazil.connectors.iceberg.table.schema import type_text
    from frazil.connectors.iceberg.tools import describe

    name = ".".join(table.name())
    snapshot = table.current_snapshot()
    positions = [
        (connector, branch, TableBranch(table.catalog, name, branch).floor(table, connector).offsets)
        for connector, branches in sorted(describe.committers(table).items())
        for branch in branches
    ]
    return {
        "table": name,
        "location": table.location(),
        "uuid": str(table.metadata.table_uuid),
        "format_version": table.format_version,
        "last_commit": None if snapshot is None else shown(snapshot.timestamp_ms),
        "figures": describe.totals(snapshot),
        "partitions": describe.partition_terms(table),
        "connectors": writers,
        "columns": [
            {"id": one.field_id, "name": one.name, "type": type_text(one.field_type), "required": one.required}
            for one in table.schema().fields
        ],
        "schemas": [
            {"id": one.id, "since": None if one.since_ms is None else shown(one.since_ms), "changes": list(one.changes)}
            for one in describe.schema_history(table)
        ],
        "refs": _refs(table),
        "positions": [
            {
                "connector": connector,
                "branch": branch,
                "offsets": [[topic, partition, offset] for (topic, partition), offset in sorted(offsets.items())],
            }
            for connector, branch, offsets in positions
        ],
        "properties": describe.own_properties(table),
    }


def _refs(table: Table) -> list[dict[str, Any]]:
    times = {one.snapshot_id: one.timestamp_ms for one in table.snapshots()}
    return [
        {
            "ref": name,
            "kind": ref.snapshot_ref_type.value,
            "snapshot": str(ref.snapshot_id),
            "time": shown(times[ref.snapshot_id]) if ref.snapshot_id in times else None,
        }
        for name, ref in sorted(table.refs().items())
    ]


@tables("snapshots", "tables snapshots orders", "tables snapshots orders --branch audit -n 100")
def snapshots(
    table: TableArgument,
    branch: BranchOption = MAIN,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="So many at most.")] = _FEW,
    output: ListOption = Output.TABLE,
) -> None:
    """List the snapshots of a branch, newest first.

    Each with the connector that made it, or whose dead letters a replay has stored, and the files that its commit has
    made into fewer beside its rows.
    """
    from frazil.connectors.iceberg.table.commit import history
    from frazil.connectors.iceberg.tools.describe import shown_snapshot

    _, found = open_table(Settings.load(), table)
    known = [shown_snapshot(one) for one in history(found, branch)]
    document: list[dict[str, Any]] = [
        {
            "snapshot": str(one.id),
            "time": shown(one.at_ms),
            "operation": one.operation,
            "rows_added": one.added,
            "rows_deleted": one.deleted,
            "files_added": one.files,
            "connector": one.connector or None,
            "replay": one.replay,
            "positions": one.positions or None,
            "compacted": one.compacted or None,
        }
        for one in known[:count]
    ]
    rows = [
        (
            *(str(one.id), shown(one.at_ms), one.operation),
            *map(figure, (one.added, one.deleted, one.files)),
            one.author or "-",
            one.compacted or "-",
        )
        for one in known[:count]
    ]
    numbers = ("rows added", "rows deleted", "files added")
    header = ("snapshot", "time", "operation", *numbers, "connector", "compacted")
    show(output, document, header, rows, numbers=numbers)
    if output is Output.TABLE and len(known) > count:
        typer.echo(f"and {len(known) - count:,} older ones (-n shows more)")


@tables("refs", "tables refs orders")
def refs(table: TableArgument, output: ListOption = Output.TABLE) -> None:
    """List the branches and tags of a table."""
    _, found = open_table(Settings.load(), table)
    document = _refs(found)
    show(output, document, ("ref", "kind", "snapshot", "time"), [tuple(one.values()) for one in document])


def _rows(figures: Mapping[str, Any]) -> str:
    return figure(figures.get("rows"), at_most=bool(figures.get("delete_files")))


def _size(value: int | None) -> str:
    return "?" if value is None else size(value)
