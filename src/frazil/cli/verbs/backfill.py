"""The verb `backfill`: the statement of a connector over a span of its topics."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.ui.console import DryRunOption, YesOption, consent, make_console
from frazil.cli.ui.env_file import EnvFileOption, variables_of
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import progress
from frazil.connectors.documents import read_document
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.connectors.backfill import Backfill


@verb(
    "backfill clicks-per-minute.json --from 2026-05-01 --to 2026-06-01 --dry-run",
    "backfill sales.json --to 2026-05-01T12:00:00Z",
    "backfill sales.json --from 7d --yes -o json",
    "backfill sales.json --table streaming.orders",
)
def backfill(
    file: Annotated[str, typer.Argument(help="SQL connector in JSON or YAML, as for `apply`; - is standard input.")],
    since: Annotated[
        str | None,
        typer.Option("--from", help="Records from then on: an age (30m, 24h, 7d), or a date or time in UTC."),
    ] = None,
    until: Annotated[str | None, typer.Option("--to", help="Records before then; written like --from.")] = None,
    table: Annotated[
        str, typer.Option("--table", help="Iceberg table whose rows stand for the records of the topic.")
    ] = "",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    env_file: EnvFileOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Store the rows of a connector's statement over a span of its topics, as one batch.

    Records between two of Kafka's times, of the whole topics where none is given. The rows go into the table of the
    connector in one commit; groups, windows and sessions are complete with the records of the span. The connector's
    position and state stay as they are, and it may run meanwhile. The same command with the same times does nothing the
    second time; where records of the span are in the table from the connector or another backfill, it asks. Bad records
    become dead letters as its errors.tolerance says; without that nothing is stored. Into a topic, objects or a Delta
    table the rows go step by step; the same command goes on where one was ended. With --table the rows of an
    Iceberg table, as it is now, are computed in place of the topic's records. A Spark is started and stopped again.
    """
    from frazil.connectors.connector import open_connector
    from frazil.engine.on_demand import spark_on_demand
    from frazil.text.times import point_in_time

    if table and (since or until):
        raise UsageError("the rows of a table have no time of Kafka: --table goes without --from and --to")
    now = datetime.now(UTC)
    begin, end = (
        None if text is None else round(point_in_time(text, now).timestamp() * 1000) for text in (since, until)
    )
    settings = Settings.load()
    document = read_document(file, sys.stdin, variables=variables_of(env_file))
    connector = open_connector(document.name, document.config, settings, settings.providers())
    with connector.hiding() as sink:
        found = sink.backfill(begin, end, table)
        if output is Output.TABLE:
            _print(found)
        if found.done or not found.records or dry_run:
            _tell(found, {"stored": 0, "dead_letters": 0, "skipped": 0}, output, dry_run=dry_run)
            return
        if found.remarks:
            consent(yes, f"{'. '.join(found.remarks)}. Store the rows of these records?", "nothing was stored")
        with progress(make_console(stderr=True)) as say, spark_on_demand(settings, document.name) as on_spark:
            say("starting Spark")
            executor = on_spark()
            say(f"computing the rows of {counted(found.records, 'record')}")
            report = asdict(found.run(executor))
    _tell(found, {name: report[name] for name in ("stored", "dead_letters", "skipped")}, output, dry_run=False)


def _print(found: Backfill) -> None:
    show_table(
        ("TOPIC", "PARTITION", "OFFSETS", "RECORDS"),
        [(one.topic, str(one.partition), f"{one.begin:,} to {one.end:,}", f"{len(one):,}") for one in found.ranges],
        numbers=("PARTITION", "RECORDS"),
    )


def _tell(found: Backfill, counts: dict[str, int], output: Output, *, dry_run: bool) -> None:
    if output is not Output.TABLE:
        body: dict[str, Any] = {"position": found.position, "table": found.table, "records": found.records}
        ranges = [
            {"topic": one.topic, "partition": one.partition, "begin": one.begin, "end": one.end} for one in found.ranges
        ]
        told = {"done": found.done, "remarks": list(found.remarks), "dry_run": dry_run}
        typer.echo(as_text({**body, "ranges": ranges, **told, **counts}, output))
        return
    records = counted(found.records, "record")
    if not found.records:
        said = "The topics have no records of that time; nothing was stored."
    elif found.done:
        said = f"{found.table} has the rows of these records by {found.position} already; nothing was stored."
    elif dry_run:
        said = "\n".join([*(f"{each}." for each in found.remarks), f"Rows of {records} would go to {found.table}."])
    else:
        said = (
            f"{counted(counts['stored'], 'row')} of {records} in {found.table}, by {found.position}; "
            f"{counted(counts['dead_letters'], 'dead letter')}"
        )
    make_console().print(said, soft_wrap=True)
