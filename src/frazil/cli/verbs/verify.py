"""The verb `verify`: topics compared with what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.ui.console import YesOption, make_console
from frazil.cli.ui.letter_connectors import Connectors
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import Records, progress
from frazil.cli.verbs.verify_database import compare_with_database
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotComparable, UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.connectors.checks.compare import Limits
    from frazil.connectors.checks.result import RangeCheck

_SHOWN = 10


@verb(
    "verify  # all sinks of the worker",
    "verify user-events --partition 0 --from 5000 --to 6000",
    "verify --config connector.json -o json",
    "verify users --against postgres://  # with the PostgreSQL of the stack",
)
def verify(
    connectors: Annotated[list[str] | None, typer.Argument(help="Connectors; all sinks when none is named.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="Connectors in JSON or YAML, for a worker that does not run.")
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Only this Kafka partition.")] = None,
    begin: Annotated[int | None, typer.Option("--from", min=0, help="First offset.")] = None,
    end: Annotated[int | None, typer.Option("--to", min=0, help="Offset to end before.")] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", help="Compare tables with this PostgreSQL instead, as postgres://USER@HOST:PORT/NAME."
        ),
    ] = None,
    delete_surplus: Annotated[
        bool,
        typer.Option("--delete-surplus", help="Delete rows that only a table has, and not --against; asks first."),
    ] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare topics with what is stored of them: objects or tables.

    Each record up to the connector's position has to be stored once and as it is in the topic, or to have a dead
    letter, or to be one that the connector leaves out. Records, objects and rows are read anew and nothing is written.
    The exit code is 1 when a record is missing, doubled or another one than in the topic, and when a connector cannot
    be compared now. One of a kind that never can, as one that changes rows, is named as not comparable and is no
    failure, also when it is the only one.

    With --against the tables of connectors that follow a PostgreSQL are compared with it, row by row by the primary
    key: run it when nothing changes there and the lag is 0. What the address leaves out is that of AWS_RDS_…, as in
    `postgres://`. With --delete-surplus the rows that only a table has are deleted then, but for those that the
    database has when it is asked again. Connectors may run meanwhile.
    """
    from frazil.connectors.checks.compare import Limits

    if delete_surplus and against is None:
        raise UsageError("--delete-surplus needs --against. Nothing was compared.")
    settings = Settings.load()
    chosen = _chosen(settings, connectors or [], config)
    if against is not None:
        if begin is not None or end is not None or partition is not None:
            raise UsageError("--partition, --from and --to are for topics, not for --against. Nothing was compared.")
        if not compare_with_database(settings, chosen, against, output, delete=delete_surplus, yes=yes):
            raise typer.Exit(1)
        return
    if len(chosen) > 1 and (begin is not None or end is not None or partition is not None):
        raise UsageError("--partition, --from and --to are for one connector; name it. Nothing was compared.")
    checks: dict[str, list[RangeCheck]] = {}
    failed: dict[str, FrazilError] = {}
    with progress(make_console(stderr=True)) as say:
        for name, one in chosen.items():
            try:
                checks[name] = _verified(settings, name, one, Limits(partition, begin, end), say)
            except FrazilError as error:
                if isinstance(error, UsageError) and not isinstance(error, NotComparable):
                    raise
                failed[name] = error
    if output is not Output.TABLE:
        bodies = [_body(name, one) for name, found in checks.items() for one in found]
        bodies += [
            {"connector": name, "error": str(error), "complete": None if isinstance(error, NotComparable) else False}
            for name, error in failed.items()
        ]
        typer.echo(as_text(bodies, output))
    else:
        show(checks, failed)
    unknown = [error for error in failed.values() if not isinstance(error, NotComparable)]
    if unknown or not all(one.complete for found in checks.values() for one in found):
        raise typer.Exit(1)


def _chosen(settings: Settings, names: Sequence[str], file: Path | None) -> dict[str, Mapping[str, str]]:
    from frazil.connectors.registry import connector_of
    from frazil.errors import ConfigError

    if file is not None:
        known = Connectors.read(file, names[0] if names else None)
        return dict(known.configs)
    known = Connectors.known(settings, names)
    if names:
        return {name: known.config_of(name) for name in names}
    if known.unknown:
        raise known.unknown
    found = {}
    for name, config in known.configs.items():
        try:
            if connector_of(config).type == "sink":
                found[name] = config
        except ConfigError:
            continue  # a class that runs on Kafka Connect
    if not found:
        raise UsageError("the worker has no sink; name a connector's file with --config. Nothing was compared.")
    return found


def _verified(
    settings: Settings, name: str, stored: Mapping[str, str], limits: Limits, say: Callable[[str], None]
) -> list[RangeCheck]:
    from frazil.connectors.connector import open_connector

    def tell(what: str, done: int, total: int) -> None:
        say(Records(f"{name}: {what}", done, total) if total else f"{name}: {what}")

    with open_connector(name, stored, settings, settings.providers()).hiding() as sink:
        return sink.verify(limits, tell)


def _body(connector: str, check: RangeCheck) -> dict[str, Any]:
    return {"connector": connector, **asdict(check), "complete": check.complete}


def show(checks: Mapping[str, Sequence[RangeCheck]], failed: Mapping[str, FrazilError] = MappingProxyType({})) -> None:
    """Print a table, and what is wrong; `failed` are connectors that could not be compared."""
    console = make_console()
    lines = [(name, one) for name, found in checks.items() for one in found]
    numbers = ("RECORDS", "STORED", "DEAD", "SKIPPED", "MISSING", "DOUBLED", "OTHER")
    if lines:
        show_table(
            ("CONNECTOR", "TOPIC", "OFFSETS", *numbers, "CHECKSUM"),
            [_row(name, one) for name, one in lines],
            numbers=numbers,
            red=[index for index, (_, one) in enumerate(lines) if not one.complete],
        )
    for name, one in lines:
        for what, offsets in (("missing", one.missing), ("doubled", one.doubled)):
            if offsets:
                shown = ", ".join(map(str, offsets[:_SHOWN])) + (" …" if len(offsets) > _SHOWN else "")
                console.print(f"{name}: {what} of {one.place}: offsets {shown}", soft_wrap=True)
        if one.foreign:
            none = "is none" if one.foreign == 1 else "are none"
            console.print(
                f"{name}: {counted(one.foreign, 'record')} of {one.target} {none} of the topic", soft_wrap=True
            )
        for note in one.notes:
            console.print(f"{name}: {note}", soft_wrap=True)
    for name, error in failed.items():
        if isinstance(error, NotComparable):
            console.print(f"{name} is not comparable: {error}", soft_wrap=True)
        else:
            console.print(f"{name} could not be compared: {error}", style="red", soft_wrap=True)
    if not lines or failed or not all(one.complete for _, one in lines):
        return
    if not any(one.read for _, one in lines):
        console.print("There was no record to compare: nothing has come yet that these connectors have read.")
    else:
        console.print(
            "Each record that was compared is stored exactly once, is a dead letter, or is left out by its connector."
        )


def _row(name: str, one: RangeCheck) -> tuple[str, ...]:
    offsets = f"{one.begin:,} to {one.end:,}" if one.partition is not None else "all"
    numbers = (one.read, one.stored, one.dead, one.skipped, len(one.missing), len(one.doubled), one.foreign)
    same = "equal" if one.expected_sum == one.stored_sum else "differs"
    checksum = "counts only" if one.expected_sum is None else same
    return name, one.place, offsets, *(f"{number:,}" for number in numbers), checksum
