"""The verb `validate`: a connector's configuration, and what it would make of live records."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from frazil.cli.ui.console import make_console
from frazil.cli.ui.letter_connectors import read_connector
from frazil.cli.ui.progress import progress
from frazil.cli.ui.usage import examples
from frazil.cli.verbs.status import Output
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.iceberg.tools.sample import Judged, Sample

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
    output: Annotated[Output, typer.Option("--output", "-o", help="For people or for programs.")] = Output.TABLE,
) -> None:
    """Check a connector's configuration, and try it on live records.

    Errors and warnings are those of the worker, which does not have to run. With --sample the newest records of the
    connector's topics go through its transforms and conversion: each is shown as stored, skipped or a dead letter, with
    the columns that would be added and the first rows. Nothing is written, and no consumer group is used. The exit code
    is 1 for a configuration with errors, and when a record would be a dead letter.
    """
    from frazil.connectors.registry import connector_of
    from frazil.declare.providers import ConfigProviders

    settings = Settings.load()
    own, config = read_connector(file, str(file))
    name = own or file.stem
    config = {**config, "name": name}
    providers = ConfigProviders.load(settings.config_providers, settings.env)
    plugin = connector_of(config)
    parsed = plugin.parse(config)
    errors, warnings = parsed.error_texts(), parsed.warnings + providers.unknown(config)
    found = None
    if sample and not errors:
        found = _sampled(settings, providers.resolve(config).config, sample)
    if output == Output.JSON:
        body = {"name": name, "errors": errors, "warnings": warnings, "sample": None if found is None else _body(found)}
        typer.echo(json.dumps(body, indent=2, default=str))
    else:
        _print(name, errors, warnings, found)
    if errors or (found is not None and any(each.verdict == "dead letter" for each in found.judged)):
        raise typer.Exit(1)


def _sampled(settings: Settings, config: Mapping[str, str], count: int) -> Sample:
    from frazil.clients.credentials import with_credentials
    from frazil.clients.kafka import admin as kafka
    from frazil.clients.kafka.newest import newest_records
    from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
    from frazil.connectors.iceberg.tools.sample import sample

    sink = iceberg_sink_config(config)
    sink = replace(sink, catalog_properties=with_credentials(sink.catalog_properties, settings))
    with progress(make_console(stderr=True)) as say:
        topics = list(sink.topics)
        if sink.topics_regex is not None:
            pattern = re.compile(sink.topics_regex)
            topics = sorted(topic for topic in kafka.topics(settings.bootstrap_servers) if pattern.fullmatch(topic))
        say(f"reading the newest records of {', '.join(topics)}")
        records = newest_records(settings.bootstrap_servers, topics, count)
        say(f"converting {len(records):,} records")
        return sample(sink, sink.mapper_for, records, _ROWS)


def _body(found: Sample) -> dict[str, Any]:
    return {"records": [asdict(each) for each in found.judged], "tables": [asdict(table) for table in found.tables]}


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
    verdicts = Counter((each.table or "(none)", each.verdict, each.reason) for each in found.judged)
    table = Table("TABLE", "VERDICT", box=None, pad_edge=False)
    table.add_column("RECORDS", justify="right")
    for heading in ("FIRST", "REASON"):
        table.add_column(heading)
    first: dict[tuple[str, str, str], Judged] = {}
    for each in found.judged:
        first.setdefault((each.table or "(none)", each.verdict, each.reason), each)
    console.print()
    for key, count in verdicts.most_common(_SHOWN):
        place = first[key]
        table.add_row(key[0], key[1], f"{count:,}", f"{place.topic}-{place.partition}@{place.offset}", key[2])
    console.print(table)
    if len(verdicts) > _SHOWN:
        console.print(f"{len(verdicts) - _SHOWN:,} more kinds; -o json has every record.")
    for of_table in found.tables:
        console.print()
        if of_table.problem:
            console.print(f"{of_table.name}: {of_table.problem}", soft_wrap=True)
        for column, type_ in of_table.changes.items():
            console.print(f"{of_table.name} would get column {column} {type_}", soft_wrap=True)
        for row in of_table.rows:
            console.print(f"{of_table.name} {json.dumps(row, default=str)}", soft_wrap=True)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
