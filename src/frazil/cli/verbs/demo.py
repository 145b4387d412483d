"""The verb `demo`: everything at once, ending with an answer from the tables."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.connect.outcome import failure_of
from frazil.cli.ui.console import make_console
from frazil.cli.ui.program import PROGRAM, verb
from frazil.cli.ui.progress import progress, titled
from frazil.cli.verbs import stack
from frazil.cli.verbs.data import send
from frazil.cli.verbs.demo_cdc import leading_on, show_cdc
from frazil.cli.verbs.sql import print_sql
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError

if TYPE_CHECKING:
    from rich.console import Console

    from frazil.clients.connect import ConnectClient

_RECORDS = 1000
_SQL = """\
SELECT bucket, name AS api, count(*) AS calls, max("callInfo"."httpStatusCode") AS worst_status
FROM {warehouse}.{namespace}.apilogs
WHERE bucket IS NOT NULL
GROUP BY bucket, name
ORDER BY calls DESC, bucket, api
LIMIT 10"""


class Show(StrEnum):
    """Subject of a demo."""

    LOGS = "logs"
    CDC = "cdc"


@verb("demo", "demo cdc", "stop  # when you have seen it")
def demo(
    what: Annotated[
        Show, typer.Argument(help="logs of MinIO, or cdc: a PostgreSQL whose tables are followed.")
    ] = Show.LOGS,
) -> None:
    """Start everything, fill three tables, ask them a question.

    1,000 log records go into each table; with `cdc` a small shop in PostgreSQL is captured by Debezium, and its tables
    and files on S3 follow it. A demo that is run again adds as much. The stack goes on running.
    """
    settings = Settings.load()
    if what is Show.CDC:
        show_cdc(settings)
        return
    console = make_console()
    started = time.monotonic()
    with titled(console, "1/4", "Start Kafka, the object store with its Iceberg catalog, and the worker"):
        stack.start_services(stack.services(settings), console)
    with leading_on(console, started, next_steps(settings)):
        _fill_and_ask(settings, console)


def next_steps(settings: Settings) -> list[tuple[str, str]]:
    """Commands with what they show, as the pages have them; a shell that has run a script does not find `frazil`."""
    found = (f'export PATH="{Path(sys.executable).parent}:$PATH"', "lets this shell find `frazil`, and it this stack")
    return [
        *([] if PROGRAM == "frazil" else [found]),
        ("frazil status", "services, connectors, lag, last commits"),
        ("frazil query apilogs", "row total and the newest records"),
        ('frazil sql "SHOW TABLES"', "any question; `sql -h` has examples"),
        ("frazil generate api -n 100000", "more records"),
        (
            "frazil describe connector iceberg-sink-apilogs",
            f"Kafka Connect's REST API is at {settings.connect_url}",
        ),
        ("frazil stop", "stop everything; `clean` also removes the data"),
    ]


def _fill_and_ask(settings: Settings, console: Console) -> None:
    from frazil.minio.records.kinds import TABLE_NAMES

    with titled(console, "2/4", "Create topics, tables and connectors"):
        _deploy(settings, console)
    with titled(console, "3/4", f"Produce {_RECORDS:,} records to each topic and wait until they are committed"):
        for kind in TABLE_NAMES:
            send(settings, kind, _RECORDS)
        _wait_until_committed(settings, console)
    with titled(console, "4/4", "Ask the tables: the most used calls per bucket"):
        statement = _SQL.format(warehouse=settings.warehouse, namespace=settings.namespace)
        console.print(statement, style="dim", soft_wrap=True)
        print_sql(settings, statement)


def _deploy(settings: Settings, console: Console) -> None:
    from frazil.minio.deployment.deploy import Step, deploy

    done: list[Step] = []
    with progress(console) as show:

        def report(step: Step) -> None:
            done.append(step)
            show(f"{step.what} {step.name}: {step.outcome}")

        deploy(settings, report)
    new = sum(step.outcome == "created" for step in done)
    there = len(done) - new
    before = f", {there} {'was' if there == 1 else 'were'} there already" if there else ""
    console.print(f"      {new} created{before}")


def _wait_until_committed(settings: Settings, console: Console) -> None:
    """Raises TerminalError when a connector does not run, ServiceUnavailable when nothing is committed for long."""
    from frazil.clients.connect import ConnectClient
    from frazil.stack.patience import LIMIT

    last: dict[str, int] = {}
    since = time.monotonic()
    with progress(console) as show, ConnectClient(settings.connect_access) as client:
        while waiting_for := behind(settings, client):
            waiting = ", ".join(f"{topic} {count:,}" for topic, count in waiting_for.items())
            if waiting_for != last:
                last, since = waiting_for, time.monotonic()
            elif time.monotonic() - since > settings.start_timeout:
                raise ServiceUnavailable(
                    f"nothing was committed for {settings.start_timeout} s (waiting: {waiting}); the records are still "
                    f"in Kafka. See `status` and `logs worker`; {LIMIT} says how many seconds that may take."
                )
            show(f"not committed yet: {waiting}")
            time.sleep(0.5)


def behind(settings: Settings, client: ConnectClient) -> dict[str, int]:
    """Records that are not committed yet, by topic; empty when there are none.

    Raises TerminalError when a connector has failed or was paused or stopped.
    """
    from frazil.clients.kafka import groups as kafka_groups
    from frazil.connectors.keys.overrides import group_id
    from frazil.minio.deployment.connectors import connectors

    lags = {}
    for name, config in connectors(settings).items():
        status = client.status(name)
        failure = failure_of(status)
        if failure is not None:
            raise TerminalError(f"connector {name} FAILED: {failure.rstrip('.')}. Its records are still in Kafka.")
        state = status["connector"]["state"]
        if state in ("PAUSED", "STOPPED"):
            raise TerminalError(
                f"connector {name} is {state}, so its records stay in Kafka. Resume it with `resume connector {name}`"
            )
        lag = sum(kafka_groups.lag(settings.bootstrap_servers, [config["topics"]], group_id(name, config)).values())
        if lag:
            lags[config["topics"]] = lag
    return lags
