"""All rows of a table of PostgreSQL in an Iceberg table: taken by `frazil snapshot`, and by Debezium through Kafka."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
from pyiceberg.exceptions import NoSuchTableError

from bench.cdc import TOPIC, postgres, sink_config, snapshot_command, source_config
from bench.drain import wait_until_running
from bench.environment import Show, running, with_home
from bench.load import create_topic
from bench.results import Snapshot
from bench.sampling import TreeSampler, cpu_between
from bench.systems import FRAZIL, Connector
from frazil.cli.verbs.verify_database import compared
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError

_LOOK_S, _WAIT_S = 0.5, 1_800.0


def measure(settings: Settings, rows: int, show: Show) -> Iterator[Snapshot]:
    """Take a table of so many rows in both ways. Raises TerminalError when a table is not equal to the database's."""
    settings = with_home(settings, settings.home / "workers" / "snapshot")
    create_topic(settings, TOPIC)
    with postgres(settings, rows, show):
        yield _taken(settings, rows, show)
        with running(FRAZIL.worker(settings), show) as process, ConnectClient(settings.connect_url) as client:
            yield _through_kafka(settings, rows, process, client, show)


def _taken(settings: Settings, rows: int, show: Show) -> Snapshot:
    """The verb, from its start to its end."""
    config = sink_config(settings, "copy-on-write")
    command = snapshot_command(settings, "taken-tables", config)
    show(f"snapshot: {rows:,} rows by the verb")
    begin = time.time()
    with (
        subprocess.Popen(command, env=settings.env, stdout=subprocess.PIPE, text=True) as verb,
        TreeSampler(psutil.Process(verb.pid)) as sampler,
    ):
        told, _ = verb.communicate()
    end = time.time()
    if verb.returncode:
        raise TerminalError(f"the verb snapshot ended with {verb.returncode}")
    _check(settings, "taken-tables", config, rows, show)
    inside = float(json.loads(told)[0]["seconds"])
    return _result("frazil snapshot", rows, end - begin, inside, sampler, begin, end)


def _through_kafka(
    settings: Settings, rows: int, process: psutil.Process, client: ConnectClient, show: Show
) -> Snapshot:
    """Debezium's own snapshot, from its deployment until a reader sees all rows."""
    sink, config = Connector(client, settings, "kafka-tables"), sink_config(settings, "merge-on-read")
    source = Connector(client, settings, "kafka-source")
    catalog = connect(settings.catalog_properties())
    with TreeSampler(process) as sampler:
        sink.deploy(config)
        wait_until_running(sink, show)
        begin, visible = time.time(), 0
        source.deploy(source_config(settings))
        while visible < rows:
            if time.time() > begin + _WAIT_S:
                raise ServiceUnavailable(f"snapshot: only {visible:,} of {rows:,} rows are visible in {_WAIT_S:.0f} s")
            show(f"snapshot: {visible:,} of {rows:,} rows through Kafka")
            time.sleep(_LOOK_S)
            sink.runs()
            with suppress(NoSuchTableError):
                head = catalog.load_table(config["iceberg.tables"]).current_snapshot()
                told = head.summary.additional_properties if head is not None and head.summary is not None else {}
                visible = int(told.get("total-records", 0))
        end = time.time()
    _check(settings, sink.name, config, rows, show)
    return _result("Debezium through Kafka", rows, end - begin, end - begin, sampler, begin, end)


def _result(
    title: str, rows: int, seconds: float, inside: float, sampler: TreeSampler, begin: float, end: float
) -> Snapshot:
    samples = sampler.samples
    peak = max(sample.pss for sample in samples)
    return Snapshot(title, rows, seconds, inside, cpu_between(samples, begin, end), peak)


def _check(settings: Settings, name: str, config: dict[str, str], rows: int, show: Show) -> None:
    (found,) = compared(settings, {name: config}, settings.postgres_access(), show)
    if not found.equal or found.stored != rows:
        raise TerminalError(f"{found.target} is not equal to {found.source} of the database")
