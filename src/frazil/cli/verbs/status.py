"""The verb `status`: services, connectors with tasks and lag, last commit of each table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.verbs.status_look import FAILED, MISSING, STARTING, ConnectorRow, StackStatus, look
from frazil.environment.settings import Settings
from frazil.text.amounts import counted, figure

if TYPE_CHECKING:
    from rich.console import Console

_LOOK_S = 2


@verb("status", "status --watch", "status -o json")
def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again every two seconds until Ctrl+C.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show services, connectors with lag, last commits, dead letters.

    The exit code is 1 when something is down: a service, a connector or task that has failed or waits for a part that
    does not answer, or, of the three log connectors and tables that `init` makes, one that is missing.
    """
    settings = Settings.load()
    while True:
        found = look(settings)
        if watch:
            _begin_again(output)
        if output is Output.TABLE:
            _print(found, settings.remarks)
        else:
            typer.echo(as_text({"up": found.up, **asdict(found)}, output))
        if not watch:
            break
        time.sleep(_LOOK_S)
    if not found.up:
        raise typer.Exit(1)


def _begin_again(output: Output) -> None:
    """Clear a terminal, and say when this was; elsewhere one answer follows the other."""
    console = make_console()
    if output is Output.TABLE:
        console.clear()
        console.print(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n")
    elif output is Output.YAML:
        typer.echo("---")


def _print(found: StackStatus, remarks: Sequence[str]) -> None:
    console = make_console()
    for remark in remarks:
        console.print(remark, style="yellow", soft_wrap=True)
    _print_rows(
        console,
        ("service", "state", "address", "pid"),
        [(r.up, r.name, r.state, r.address, r.pid or "") for r in found.services],
    )
    _print_rows(
        console,
        ("connector", "state", "tasks", "lag", "dead letters"),
        [
            (r.up, r.name, _health(r), " ".join(r.tasks) or "-", figure(r.lag), figure(r.dead_letters))
            for r in found.connectors
        ],
    )
    _print_rows(
        console,
        ("table", "rows", "last commit", "snapshot"),
        [
            (
                r.up,
                r.name,
                figure(r.rows, at_most=r.delete_files > 0) if r.up else r.state,
                r.last_commit or "never",
                r.snapshot or "-",
            )
            for r in found.tables
        ],
    )
    if not found.connectors and not found.errors and "worker" in [row.name for row in found.services if row.up]:
        console.print("No connector is deployed: `init` makes those of the log records, `apply` yours.")
    starting = [row.name for row in found.connectors if row.state == STARTING]
    if starting:
        console.print(f"Still starting: {', '.join(starting)}.", soft_wrap=True)
    for service in found.services:
        if service.reason:
            console.print(f"{service.name}: {service.reason}", style="red", soft_wrap=True)
    for row in found.connectors:
        if row.captured:
            told = "; ".join(f"{name.lower()}: {value}" for name, value in row.captured.items())
            console.print(f"{row.name}: {told}", soft_wrap=True)
        if row.trace:
            console.print(f"{row.name}: {row.trace}", style="red", soft_wrap=True)
    for error in found.errors:
        console.print(error, style="red", soft_wrap=True)
    if found.dead_letters:
        one = "1 record was not stored and waits as a dead letter"
        several = f"{found.dead_letters:,} records were not stored and wait as dead letters"
        told = one if found.dead_letters == 1 else several
        if found.foreign_letters:
            told += f", {found.foreign_letters:,} of them of connectors that the worker does not have"
        console.print(f"{told}: `deadletters list` says why.", style="yellow", soft_wrap=True)
    elif found.dead_letters is None and found.connectors:
        console.print("Dead letters were not counted; `deadletters list` does.")
    _print_missing(console, found)
    if not all(row.up for row in found.services):
        console.print(
            "What does not run is started by `start`; `logs SERVICE` says why it ended. The home of this stack is "
            f"{Settings.load().home}; FRAZIL_HOME names another.",
            soft_wrap=True,
        )


def _print_missing(console: Console, found: StackStatus) -> None:
    """Say what to do about what is MISSING: `init` makes what it has to do with, the rest is the user's."""
    from frazil.minio.records.kinds import TABLE_NAMES

    tables = [row.name for row in found.tables if row.state == MISSING]
    own = [name for name in tables if name.rpartition(".")[2] not in TABLE_NAMES.values()]
    if len(tables) > len(own) or MISSING in [row.state for row in found.connectors]:
        console.print("What is MISSING of the log records is created by `init`.")
    for name in own:
        console.print(
            f"Table {name} does not exist: create it, or set iceberg.tables.auto-create-enabled=true in its connector, "
            "then restart the connector.",
            soft_wrap=True,
        )


def _print_rows(console: Console, header: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
    """A table with an empty line below it. The first value of a row says whether it is as it should be."""
    if rows:
        show_table(header, [row[1:] for row in rows], red=[index for index, row in enumerate(rows) if not row[0]])
        console.print()


def _health(row: ConnectorRow) -> str:
    """State of a connector, or that of its tasks where some have failed and it has not."""
    failed = row.tasks.count(FAILED)
    if not failed or row.state == FAILED:
        return row.state
    return f"{failed} of {counted(len(row.tasks), 'task')} {FAILED}"
