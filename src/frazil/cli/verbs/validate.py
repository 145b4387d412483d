"""The verb `validate`: configurations of connectors, and what they would make of live records."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.env_file import EnvFileOption, variables_of
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import progress
from frazil.connectors.documents import read_documents
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, FrazilError, ServiceUnavailable
from frazil.sql.value_text import json_text, json_value
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from rich.console import Console

    from frazil.connectors.sample import Judged, Sample

_ROWS = 3
_SHOWN = 20


@dataclass(frozen=True)
class Findings:
    """Findings of one connector; without `sample` none was asked for, or there are errors."""

    name: str
    errors: list[str]
    warnings: list[str]
    sample: Sample | None = None

    @property
    def good(self) -> bool:
        """Whether it can run, and stores each record of the sample."""
        dead = self.sample is not None and any(each.verdict == "dead letter" for each in self.sample.judged)
        return not self.errors and not dead

    def body(self) -> dict[str, Any]:
        """The findings as JSON."""
        shown = None
        if self.sample is not None:
            judged, tables = (list(map(asdict, each)) for each in (self.sample.judged, self.sample.tables))
            shown = {"records": judged, "tables": tables, "columns": self.sample.columns}
            shown["warnings"] = self.sample.warnings
        return {"name": self.name, "errors": self.errors, "warnings": self.warnings, "sample": shown}


@verb("validate connector.json", "validate events.yaml --sample 200", "validate connector.json --sample 1000 -o json")
def validate(
    file: Annotated[str, typer.Argument(help="Connectors in JSON or YAML, as for `apply`; - is standard input.")],
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="Read so many of the newest records of its topics as well.")
    ] = 0,
    env_file: EnvFileOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check connectors, and try them on live records.

    Errors and warnings are those of the worker, which does not have to run; the catalog is asked for the tables. With
    --sample the newest records of the connector's topics go through its transforms and conversion: each is shown as
    stored, skipped or a dead letter, with the columns that would be added and the first rows. Nothing is written, and
    no consumer group is used. The exit code is 1 for a configuration with errors, and when a record would be a dead
    letter.
    """

    settings = Settings.load()
    documents = read_documents([file], sys.stdin, variables=variables_of(env_file))
    found = [_findings(document.name, document.config, sample, settings) for document in documents]
    if output is not Output.TABLE:
        bodies = [json_value(one.body()) for one in found]
        typer.echo(as_text(bodies[0] if len(bodies) == 1 else bodies, output))
    else:
        for one in found:
            _print(one)
    if not all(one.good for one in found):
        raise typer.Exit(1)


def _findings(name: str, own: Mapping[str, str], sample: int, settings: Settings) -> Findings:
    from frazil.connectors.connector import open_resolved
    from frazil.connectors.debezium_keys import errors_of, is_debezium, warnings_of_debezium
    from frazil.connectors.registry import parsed_with
    from frazil.declare.secrets import hide_secrets

    config, providers = {**own, "name": name}, settings.providers()
    if is_debezium(own.get("connector.class", "").strip()):
        return Findings(name, errors_of(config), warnings_of_debezium(config) + providers.unknown(config))
    parsed = parsed_with(config, settings)
    found = Findings(
        name,
        [hide_secrets(text, config) for text in parsed.causes()],
        parsed.warnings + providers.unknown(config),
    )
    if found.errors:
        return found
    resolved = None
    try:
        resolved = providers.resolve(config)
        connector = open_resolved(name, resolved, settings)
    except FrazilError as error:
        if sample:
            raise
        if resolved is not None and isinstance(error, ConfigError):
            found.errors.append(str(error))
        else:
            found.warnings.append(f"the store was not asked: {error}")
        return found
    with progress(make_console(stderr=True)) as say, connector.hiding() as sink:
        try:
            found.errors.extend(sink.problems())
        except ConfigError as error:
            found.errors.append(str(error))
        except ServiceUnavailable as error:
            if sample:
                raise
            found.warnings.append(f"the store was not asked: {error}")
        if not sample or found.errors:
            return found
        from frazil.engine.on_demand import spark_on_demand

        with spark_on_demand(settings, name) as on_spark:
            return replace(found, sample=sink.sample(sample, _ROWS, say, on_spark))


def _print(findings: Findings) -> None:
    console = make_console()
    for text in findings.errors:
        console.print(f"ERROR    {text}", soft_wrap=True)
    for text in findings.warnings:
        console.print(f"WARNING  {text}", soft_wrap=True)
    errors, warnings = counted(len(findings.errors), "error"), counted(len(findings.warnings), "warning")
    console.print(f"{findings.name}: {errors}, {warnings}")
    found = findings.sample
    if found is None:
        return
    for topic, columns in found.columns.items():
        console.print(f"columns of {topic}: {columns}", soft_wrap=True, markup=False)
    for text in found.warnings:
        console.print(f"WARNING  {text}", soft_wrap=True, markup=False)
    if not found.judged:
        console.print("The topics have no records.")
        return
    console.print()
    _print_verdicts(console, found.kinds())
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


def _print_verdicts(console: Console, kinds: Sequence[tuple[Judged, int]]) -> None:
    """Print a line for each kind, with the first record of it."""
    show_table(
        ("TABLE", "VERDICT", "RECORDS", "FIRST", "REASON"),
        [
            (one.table or "(none)", one.verdict, f"{count:,}", f"{one.topic}-{one.partition}@{one.offset}", one.reason)
            for one, count in kinds[:_SHOWN]
        ],
        numbers=("RECORDS",),
    )
    if len(kinds) > _SHOWN:
        console.print(f"{len(kinds) - _SHOWN:,} more kinds; -o json has every record.")
