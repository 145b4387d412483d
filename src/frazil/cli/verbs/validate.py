"""The verb `validate`: a connector's configuration, and what it would make of live records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.output import Output, OutputOption, show_json, show_table
from frazil.cli.ui.progress import progress
from frazil.cli.ui.usage import examples
from frazil.connectors.document import read_connector
from frazil.environment.settings import Settings
from frazil.sql.value_text import json_text, json_value

if TYPE_CHECKING:
    from rich.console import Console

    from frazil.connectors.sample import Judged, Sample

_ROWS = 3
_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        epilog=examples(
            "validate connector.json",
            "validate connector.json --sample 200",
            "validate connector.json --sample 1000 -o json",
        )
    )(validate)


def validate(
    file: Annotated[Path, typer.Argument(help="The connector's JSON, as it is sent to the worker.")],
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="Read so many of the newest records of its topics as well.")
    ] = 0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a connector's configuration, and try it on live records.

    Errors and warnings are those of the worker, which does not have to run. With --sample the newest records of the
    connector's topics go through its transforms and conversion: each is shown as stored, skipped or a dead letter, with
    the columns that would be added and the first rows. Nothing is written, and no consumer group is used. The exit code
    is 1 for a configuration with errors, and when a record would be a dead letter.
    """
    from frazil.connectors.connector import open_connector
    from frazil.connectors.registry import connector_of
    from frazil.declare.providers import ConfigProviders
    from frazil.declare.secrets import hide_secrets

    settings = Settings.load()
    own, config = read_connector(file, str(file))
    name = own or file.stem
    config = {**config, "name": name}
    providers = ConfigProviders.load(settings.config_providers, settings.env)
    parsed = connector_of(config).parse(config)
    errors = [hide_secrets(text, config) for text in parsed.error_texts()]
    warnings = parsed.warnings + providers.unknown(config)
    found = None
    if sample and not errors:
        connector = open_connector(name, config, settings, providers)
        with progress(make_console(stderr=True)) as say, connector.hiding() as sink:
            found = sink.sample(sample, _ROWS, say)
    if output is Output.TABLE:
        _print(name, errors, warnings, found)
    else:
        shown = None
        if found is not None:
            shown = {"records": list(map(asdict, found.judged)), "tables": list(map(asdict, found.tables))}
        body = {"name": name, "errors": errors, "warnings": warnings, "sample": shown}
        show_json(json_value(body))
    if errors or (found is not None and any(each.verdict == "dead letter" for each in found.judged)):
        raise typer.Exit(1)


def _print(name: str, errors: list[str], warnings: list[str], found: Sample | None) -> None:
    console = make_console()
    for text in errors:
        console.print(f"ERROR    {text}", soft_wrap=True)
    for text in warnings:
        console.print(f"WARNING  {text}", soft_wrap=True)
    console.print(f"{name}: {_counted(len(errors), 'error')}, {_counted(len(warnings), 'warning')}")
    if found is None:
        return
    if not found.judged:
        console.print("The topics have no records.")
        return
    console.print()
    _print_verdicts(console, found.judged)
    for of_table in found.tables:
        console.print()
        if of_table.problem:
            console.print(f"{of_table.name}: {of_table.problem}", soft_wrap=True)
        for warning in of_table.warnings:
            console.print(f"WARNING  {warning}", soft_wrap=True)
        for column, type_ in of_table.changes.items():
            console.print(f"{of_table.name} would get column {column} {type_}", soft_wrap=True)
        for row in of_table.rows:
            console.print(f"{of_table.name} {json_text(json_value(row))}", soft_wrap=True)


def _print_verdicts(console: Console, judged: Sequence[Judged]) -> None:
    """A line for each table, verdict and reason, with the first record of it."""
    alike: dict[tuple[str, str, str], list[Judged]] = {}
    for each in judged:
        alike.setdefault((each.table or "(none)", each.verdict, each.reason), []).append(each)
    most = sorted(alike.items(), key=lambda item: -len(item[1]))
    show_table(
        ("TABLE", "VERDICT", "RECORDS", "FIRST", "REASON"),
        [
            (table, verdict, f"{len(each):,}", f"{each[0].topic}-{each[0].partition}@{each[0].offset}", reason)
            for (table, verdict, reason), each in most[:_SHOWN]
        ],
        numbers=("RECORDS",),
    )
    if len(most) > _SHOWN:
        console.print(f"{len(most) - _SHOWN:,} more kinds; -o json has every record.")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
