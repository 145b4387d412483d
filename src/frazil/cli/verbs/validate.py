"""The verb `validate`: configurations of connectors, and what they would make of live records."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.connect.session import connect
from frazil.cli.ui.console import make_console
from frazil.cli.ui.env_file import EnvFileOption, variables_of
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import progress
from frazil.connectors.documents import read_documents
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, FrazilError, NotFound, ServiceUnavailable
from frazil.sql.value_text import json_text, json_value
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from rich.console import Console

    from frazil.clients.connect import ConnectClient
    from frazil.connectors.connector import Connector
    from frazil.connectors.sample import Judged, Sample

_ROWS = 3
_SHOWN = 20


@dataclass(frozen=True)
class Findings:
    """Findings of one connector; without `sample` none was asked for, or there are errors.

    `worker` is the address of the one whose word counts; None when none answers, and `unasked` says why. `has_sql`: it
    has a statement, whose columns only Spark knows.
    """

    name: str
    errors: list[str]
    warnings: list[str]
    worker: str | None = None
    unasked: str = ""
    has_sql: bool = False
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
        found = {"name": self.name, "errors": self.errors, "warnings": self.warnings}
        return {**found, "worker": self.worker, "sample": shown}


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

    The worker is asked when it runs, and its word counts; else the settings of this shell do, which may not be those of
    the worker. Which of both it was is told. The catalog is asked for the tables. With
    --sample the newest records of the connector's topics go through its transforms and conversion: each is shown as
    stored, skipped or a dead letter, with the columns that would be added and the first rows. Nothing is written, and
    no consumer group is used. The exit code is 1 for a configuration with errors, and when a record would be a dead
    letter.
    """
    settings = Settings.load()
    documents = read_documents([file], sys.stdin, variables=variables_of(env_file))
    with connect(None) as client:
        asked = [_Asked.of(client, {**document.config, "name": document.name}) for document in documents]
    found = [
        _findings(document.name, document.config, sample, settings, of_worker)
        for document, of_worker in zip(documents, asked, strict=True)
    ]
    if output is not Output.TABLE:
        bodies = [json_value(one.body()) for one in found]
        typer.echo(as_text(bodies[0] if len(bodies) == 1 else bodies, output))
    else:
        for one in found:
            _print(one)
    if not all(one.good for one in found):
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Asked:
    """The answer of a worker: its address, or why there is none, and its errors."""

    url: str | None
    errors: list[str]
    why: str = ""

    @classmethod
    def of(cls, client: ConnectClient, config: Mapping[str, str]) -> _Asked:
        try:
            return cls(client.url, client.validate(config))
        except (ConfigError, NotFound) as error:
            return cls(client.url, [str(error)])
        except FrazilError as error:
            return cls(None, [], str(error))

    def over(self, found: Findings) -> Findings:
        """The findings of this shell with the worker's word over them."""
        if self.url is None:
            return replace(found, unasked=self.why)
        if self.errors:  # which repeat the consequences of one mistake
            told = found.errors and all(any(own in text for text in self.errors) for own in found.errors)
            return replace(found, errors=found.errors if told else self.errors, worker=self.url)
        told_here = [f"the worker takes it, and the settings of this shell do not: {text}" for text in found.errors]
        return replace(found, errors=[], warnings=found.warnings + told_here, worker=self.url)


def _findings(name: str, own: Mapping[str, str], sample: int, settings: Settings, of_worker: _Asked) -> Findings:
    found, connector = _opened(name, own, settings, bool(sample))
    found = of_worker.over(found)
    if connector is None or found.errors:
        return found
    with progress(make_console(stderr=True)) as say, connector.hiding() as sink:
        try:
            found.warnings.extend(f"the connector would fail: {text}" for text in connector.missing_topics())
        except FrazilError as error:
            found.warnings.append(f"the topics were not looked for: {error}")
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


def _opened(
    name: str, own: Mapping[str, str], settings: Settings, to_sample: bool
) -> tuple[Findings, Connector | None]:
    """Findings in the configuration itself, and the connector, as the settings of this shell have it."""
    from frazil.connectors.connector import open_resolved
    from frazil.connectors.debezium_keys import errors_of, is_debezium, warnings_of_debezium
    from frazil.connectors.registry import parsed_with
    from frazil.connectors.sql.config import SQL
    from frazil.declare.secrets import hide_secrets

    config, providers = {**own, "name": name}, settings.providers()
    if is_debezium(own.get("connector.class", "").strip()):
        return Findings(name, errors_of(config), warnings_of_debezium(config) + providers.unknown(config)), None
    try:
        parsed = parsed_with(config, settings)
    except ConfigError as error:  # of a class that is not there, whose keys nobody knows
        return Findings(name, [str(error)], []), None
    errors = [hide_secrets(text, config) for text in parsed.causes()]
    found = Findings(name, errors, parsed.warnings + providers.unknown(config), has_sql=SQL in config)
    if errors:
        return found, None
    resolved = None
    try:
        resolved = providers.resolve(config)
        connector = open_resolved(name, resolved, settings)
        found.errors.extend(connector.sink.obstacles())
        return found, connector
    except FrazilError as error:
        if to_sample:
            raise
        if resolved is not None and isinstance(error, ConfigError):
            found.errors.append(str(error))
        else:
            found.warnings.append(f"the store was not asked: {error}")
        return found, None


def _print(findings: Findings) -> None:
    console = make_console()
    for text in findings.errors:
        console.print(f"ERROR    {text}", soft_wrap=True)
    for text in findings.warnings:
        console.print(f"WARNING  {text}", soft_wrap=True)
    errors, warnings = counted(len(findings.errors), "error"), counted(len(findings.warnings), "warning")
    console.print(f"{findings.name}: {errors}, {warnings}")
    if findings.worker is None:
        console.print(
            f"Checked with the settings of this shell, not those of a worker: {findings.unasked}", soft_wrap=True
        )
    else:
        console.print(f"Checked by the worker at {findings.worker}", soft_wrap=True)
    found = findings.sample
    if found is None:
        if findings.has_sql and not findings.errors:
            console.print("Not checked: the columns of the statement; `explain` and --sample do, with Spark")
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
