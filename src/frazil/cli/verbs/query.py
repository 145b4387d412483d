"""The verb `query`: what the tables hold at a glance."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.arguments import known_table
from frazil.cli.ui.console import make_console
from frazil.cli.ui.engines import EngineName, EngineOption, ExpandedOption, FormatOption
from frazil.cli.ui.program import verb
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.sql.render import Format, TableLook, records, render, write_json
from frazil.sql.result import Result
from frazil.sql.text_table import Expanded
from frazil.sql.value_text import json_value, printable
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.sql.summary import TableSummary

FEW_ROWS, MORE_ROWS = 5, 10


@verb("query", "query apilogs -n 20", "query --format csv", "query --engine trino")
def query(
    table: Annotated[
        str | None, typer.Argument(help="`namespace.table`, or a table of NAMESPACE_NAME; all of that when left out.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("-n", "--rows", help=f"Newest rows: {FEW_ROWS}, or {MORE_ROWS} of a named table.")
    ] = None,
    form: FormatOption = Format.TABLE,
    expanded: ExpandedOption = False,
    engine: EngineOption = None,
) -> None:
    """Show row total, newest snapshot and newest rows of tables.

    They are read by frazil itself, unless --engine says trino.
    """
    if rows is not None and rows < 1:
        raise UsageError(f"-n {rows}: expected a number of rows from 1 on")
    settings = Settings.load()
    count = rows or (FEW_ROWS if table is None else MORE_ROWS)
    namespace, summaries = _summaries(settings, table, count, engine)
    if form == Format.JSON:
        write_json([_as_object(summary) for summary in summaries], sys.stdout)
    elif form == Format.CSV:
        render(_as_rows(list(summaries), with_rows=table is not None), form, make_console())
    else:
        nothing = True
        for summary in summaries:
            nothing = False
            _print(summary, namespace, Expanded.ON if expanded else Expanded.OFF)
        if nothing:
            typer.echo(f"there is no table in {namespace} yet; `init` creates them")


def _summaries(
    settings: Settings, table: str | None, count: int, engine: EngineName | None
) -> tuple[str, Iterable[TableSummary]]:
    """The namespace, and the summaries of the tables that are asked for, each made when its turn comes."""
    tables: Callable[[str], list[str]]
    summarise: Callable[..., TableSummary]
    from frazil.minio.records.shown import shown_columns, shown_names

    if engine is EngineName.TRINO:
        from frazil.sql import trino_summary
        from frazil.sql.trino import TrinoEngine

        trino = TrinoEngine(settings)
        tables = partial(trino_summary.known_tables, trino)
        summarise = partial(trino_summary.summarise, trino, shown=shown_names)
    else:
        from frazil.clients.catalog import connect
        from frazil.sql import summary

        catalog = connect(settings.catalog_properties())
        tables = partial(summary.known_tables, catalog)
        summarise = partial(summary.summarise, catalog, shown=shown_columns)
    if table is None:
        place, wanted = settings.namespace, _in_order(tables(settings.namespace))
    else:
        place, name = known_table(table, settings.namespace, lambda place: _in_order(tables(place)))
        wanted = [name]
    return place, (summarise(place, name, count, last=table is not None) for name in wanted)


def _in_order(tables: list[str]) -> list[str]:
    """Sort tables, those of log records first, in the order of all verbs."""
    from frazil.minio.records.kinds import TABLE_NAMES

    ours = [name for name in TABLE_NAMES.values() if name in tables]
    return [*ours, *(name for name in tables if name not in ours)]


def _print(summary: TableSummary, namespace: str, expanded: Expanded) -> None:
    typer.echo(f"{printable(f'{namespace}.{summary.name}')}: {counted(summary.rows, 'row')}")
    snapshot = summary.snapshot
    if snapshot is None:
        typer.echo("  no snapshot yet: nothing was committed\n")
        return
    added = "unknown" if snapshot.added_records is None else f"{snapshot.added_records:,}"
    committed = snapshot.committed_at.isoformat(timespec="milliseconds")
    typer.echo(f"  newest snapshot {snapshot.snapshot_id}, {committed}, {snapshot.operation}, {added} records added")
    render(summary.newest, Format.TABLE, make_console(), TableLook(expanded=expanded, footer=False))
    if summary.last is not None:
        typer.echo("newest row in full:")
        render(summary.last, Format.TABLE, make_console(), TableLook(expanded=Expanded.ON, footer=False))


def _as_object(summary: TableSummary) -> dict[str, object]:
    snapshot = summary.snapshot
    result: dict[str, object] = {
        "table": summary.name,
        "rows": summary.rows,
        "snapshot": None
        if snapshot is None
        else json_value(vars(snapshot)) | {"snapshot_id": str(snapshot.snapshot_id)},
        "newest": records(summary.newest),
    }
    return result | ({"last": records(summary.last)[0]} if summary.last is not None else {})


def _as_rows(summaries: list[TableSummary], *, with_rows: bool) -> Result:
    """CSV holds one kind of row: the newest rows of a named table, else a line for each table."""
    if with_rows:
        return summaries[0].newest
    columns = ("table", "rows", "snapshot_id", "committed_at", "operation", "added_records")
    return Result(
        columns, [(s.name, s.rows, *(vars(s.snapshot).values() if s.snapshot else (None,) * 4)) for s in summaries]
    )
