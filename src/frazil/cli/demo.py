"""The verb `demo`: everything at once, ending with an answer from the tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from frazil.cli import stack
from frazil.cli.data import send
from frazil.cli.progress import progress
from frazil.cli.query import print_sql
from frazil.clients import kafka
from frazil.clients.connect import ConnectClient
from frazil.config.framework import group_id
from frazil.config.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError
from frazil.logs.tables import TABLE_NAMES

_RECORDS = 1000
_COMMIT_WAIT_S = 90
_SQL = """\
SELECT bucket, name AS api, count(*) AS calls, max("callInfo"."httpStatusCode") AS worst_status
FROM {warehouse}.{namespace}.apilogs
WHERE bucket IS NOT NULL
GROUP BY bucket, name
ORDER BY calls DESC, bucket, api
LIMIT 10"""


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(demo)


def demo() -> None:
    """Start everything, put 1,000 records into each of the three tables, and ask a question."""
    settings = Settings.load()
    console = Console()
    started = time.monotonic()
    with _step(console, "1/4", "Start Kafka, the object store with its Iceberg catalog, and the worker"):
        stack.start_services(stack.services(settings), console)
    with _step(console, "2/4", "Create topics, tables and connectors"):
        _deploy(settings, console)
    with _step(console, "3/4", f"Produce {_RECORDS:,} records to each topic and wait until they are committed"):
        for kind in TABLE_NAMES:
            send(settings, kind, _RECORDS)
        _wait_until_committed(settings, console)
    with _step(console, "4/4", "Ask the tables: the most used calls per bucket"):
        statement = _SQL.format(warehouse=settings.warehouse, namespace=settings.namespace)
        console.print(statement, style="dim", markup=False, highlight=False)
        print_sql(settings, statement)
    script = "./kafka-connect-iceberg-sink.sh"
    console.print(
        f"\nDone in {time.monotonic() - started:.0f} s. The stack goes on running. Try next:\n"
        f"  {script} status                 services, connectors, lag, last commits\n"
        f"  {script} query apilogs          rows and the newest records\n"
        f'  {script} sql "SELECT ..."       any question; also sql "SHOW TABLES"\n'
        f"  {script} generate api -n 100000 more records\n"
        f"  curl -s {settings.connect_url}/connectors/iceberg-sink-apilogs/status\n"
        f"  {script} stop                   stop everything; `clean` also removes the data",
        markup=False,
        highlight=False,
    )


@contextmanager
def _step(console: Console, number: str, title: str) -> Iterator[None]:
    console.print(f"\n[{number}] {title}", style="bold", markup=False, highlight=False)
    started = time.monotonic()
    yield
    console.print(f"      {time.monotonic() - started:.1f} s", style="dim", markup=False, highlight=False)


def _deploy(settings: Settings, console: Console) -> None:
    from frazil.logs.deploy import Step, deploy

    done: list[Step] = []
    with progress(console) as show:

        def report(step: Step) -> None:
            done.append(step)
            show(f"{step.what} {step.name}: {step.outcome}")

        deploy(settings, report)
    new = sum(step.outcome == "created" for step in done)
    console.print(f"      {new} created, {len(done) - new} were there", markup=False, highlight=False)


def _wait_until_committed(settings: Settings, console: Console) -> None:
    """Raises TerminalError when a connector fails, ServiceUnavailable when the records are not committed in time."""
    from frazil.logs.connectors import connectors

    deadline = time.monotonic() + _COMMIT_WAIT_S
    with progress(console) as show, ConnectClient(settings.connect_url) as client:
        while True:
            behind = {}
            for name, config in connectors(settings).items():
                state = client.status(name)["connector"]
                if state["state"] == "FAILED":
                    raise TerminalError(f"connector {name} FAILED: {state.get('trace', '').partition(chr(10))[0]}")
                lag = kafka.lag(settings.bootstrap_servers, [config["topics"]], group_id(name, config))
                behind[config["topics"]] = sum(lag.values())
            if not any(behind.values()):
                return
            if time.monotonic() > deadline:
                raise ServiceUnavailable(
                    f"not all records were committed within {_COMMIT_WAIT_S} s (waiting: {behind}); they are still "
                    "in Kafka. See `status` and `logs worker`."
                )
            show("waiting for the commit: " + ", ".join(f"{topic} {count:,}" for topic, count in behind.items()))
            time.sleep(0.5)
