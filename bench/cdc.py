"""Changes in PostgreSQL, through Debezium and Kafka, until a reader sees them: how long, and at what cost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg
from confluent_kafka import Consumer, TopicPartition
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from bench.drain import wait_until_running
from bench.environment import Show, running, with_home
from bench.load import PARTITIONS, SEED, create_topic
from bench.results import Cdc
from bench.sampling import TreeSampler, cpu_between
from bench.systems import FRAZIL, Connector
from bench.tables import reading_times
from bench.upsert import MODES
from frazil.cli.verbs.verify_database import compared
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError
from frazil.stack.plugins import install_plugin
from frazil.stack.postgres import postgres_service

_PER_TRANSACTION, _TRANSACTIONS_A_SECOND = 20, 100
"""Rows of a transaction; more, where it takes more for so many transactions a second."""
_INTERVAL_MS = 2_000
_LOOK_S, _SETTLE_S, _WAIT_S = 0.1, 5.0, 600.0
SLOT = {"slot.name": "taken", "publication.name": "taken", "snapshot.mode": "no_data"}
_PREFIX = "bench"
TOPIC = f"{_PREFIX}.public.accounts"
_TABLE = """
CREATE TABLE accounts (
  id bigint PRIMARY KEY, branch int NOT NULL, balance numeric(12,2) NOT NULL, holder text NOT NULL,
  changed timestamptz NOT NULL DEFAULT now());
INSERT INTO accounts SELECT g, g % 100, g / 7.0, md5(g::text) FROM generate_series(1, %s) g;
"""
_CONVERTERS = {
    f"{part}.converter{option}": value
    for part in ("key", "value")
    for option, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "true"))
} | {"value.converter.replace.null.with.default": "false"}


def measure(settings: Settings, rows: int, rate: int, seconds: int, show: Show) -> Iterator[Cdc]:
    """Change so many rows a second of a table of `rows` rows for some seconds, once for each way to write the changes.

    Raises TerminalError when a table is not equal to the database's in the end.
    """
    settings = with_home(settings, settings.home / "workers" / "cdc")
    create_topic(settings, TOPIC)
    with postgres(settings, rows, show):
        for mode in MODES:
            show(f"cdc: {rows:,} rows into the table of {mode}")
            command = snapshot_command(settings, f"cdc-{mode}", sink_config(settings, mode))
            subprocess.run(command, env=settings.env, stdout=subprocess.DEVNULL, check=True)
        with (
            running(FRAZIL.worker(settings), show) as process,
            ConnectClient(settings.connect_url) as client,
            TreeSampler(process) as sampler,
        ):
            source = Connector(client, settings, "cdc-source")
            source.deploy(source_config(settings) | SLOT)
            wait_until_running(source, show)
            for mode in MODES:
                yield _Run(settings, client, mode, rows, show).measured(sampler, rate, seconds)


def snapshot_command(settings: Settings, sink: str, config: Mapping[str, str]) -> list[str]:
    """The verb that takes the rows into the table of a connector."""
    files = []
    for name, of_one in ((f"{sink}-source", source_config(settings) | SLOT), (sink, config)):
        files.append(settings.home / f"{name}.json")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(json.dumps({"name": name, "config": of_one}))
    return [str(Path(sys.executable).with_name("frazil")), "snapshot", *map(str, files), "-o", "json"]


@contextmanager
def postgres(settings: Settings, rows: int, show: Show) -> Iterator[None]:
    """Run PostgreSQL with a table `accounts` of so many rows, and have Debezium installed."""
    service = postgres_service(settings)
    service.start(show)
    try:
        install_plugin(settings, "debezium-postgres", show)
        with psycopg.connect(**settings.postgres_access()) as connection:
            show(f"cdc: {rows:,} rows in PostgreSQL")
            connection.execute(_TABLE.replace("%s", str(rows)))
        yield
    finally:
        service.stop()


class _Run:
    """A connector that writes the changes in one of the ways, from its deployment on."""

    def __init__(self, settings: Settings, client: ConnectClient, mode: str, rows: int, show: Show) -> None:
        self._settings, self._client, self._mode, self._show = settings, client, mode, show
        self._rows = rows
        self.sink, self._config = Connector(client, settings, f"cdc-{mode}"), sink_config(settings, mode)
        self.sink.deploy(self._config)
        self._watched = _Watched(settings, self._config["iceberg.tables"])

    def catch_up(self, records: int) -> dict[int, int]:
        """Wait until the topic has so many records, or more, and all are visible; give the ends of the partitions."""
        deadline = time.monotonic() + _WAIT_S
        while True:
            self._watched.look()
            reached = self._watched.reached
            visible = sum(reached.values())
            self._show(f"cdc: {self._mode}, {visible:,} of {records:,} records")
            if visible >= records and (ends := _ends(self._settings)) == {**dict.fromkeys(ends, 0), **reached}:
                return ends
            if time.monotonic() > deadline:
                raise ServiceUnavailable(f"cdc: only {visible:,} of {records:,} records are visible in {_WAIT_S:.0f} s")
            self.sink.runs()
            time.sleep(_LOOK_S)

    def measured(self, sampler: TreeSampler, rate: int, seconds: int) -> Cdc:
        """Change rows, and see how long they take. Raises TerminalError when the tables are not equal in the end."""
        settings, watched = self._settings, self._watched
        wait_until_running(self.sink, self._show)
        fresh_s = watched.reading_s()
        begin = self.catch_up(0)
        time.sleep(_SETTLE_S)
        first, size, before = time.time(), watched.row_bytes(), len(watched.commits)
        with ThreadPoolExecutor(1, thread_name_prefix="traffic") as executor:
            sent = executor.submit(_traffic, settings.postgres_access(), self._rows, rate, seconds)
            while not sent.done():
                watched.look()
                self._show(
                    f"cdc: {self._mode}, {sum(watched.reached.values()) - sum(begin.values()):,} changes visible"
                )
                time.sleep(_LOOK_S)
            changes = sent.result()
        self.catch_up(sum(begin.values()) + changes)
        sampler.take()
        (found,) = compared(settings, {self.sink.name: self._config}, settings.postgres_access(), self._show)
        if not found.equal:
            raise TerminalError(f"{found.target} is not equal to {found.source} of the database")
        commits, read_s = watched.commits[before:], watched.reading_s()
        p50, p99 = np.percentile(lags(_committed(settings, begin), commits), [50, 99])
        self._client.delete(self.sink.name)
        return Cdc(
            mode=self._mode,
            rows=self._rows,
            changes=changes,
            seconds=seconds,
            p50_s=float(p50),
            p99_s=float(p99),
            cpu_s=cpu_between(sampler.samples, first, commits[-1].visible_at),
            commits=len(commits),
            written=sum(commit.written for commit in commits),
            changed=changes * size,
            fresh_s=fresh_s,
            read_s=read_s,
        )


@dataclass(frozen=True)
class Commit:
    """A snapshot, with what it has of each partition and the bytes that it wrote; `visible_at` is when it was seen."""

    visible_at: float
    reached: Mapping[int, int]
    written: int


class _Watched:
    """The table of a connector, as a reader sees it."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._catalog, self._name = connect(settings.catalog_properties()), name
        self._table: Table | None = None
        self._seen = 0
        self.commits: list[Commit] = []

    @property
    def reached(self) -> Mapping[int, int]:
        """The records that are visible, by partition."""
        return self.commits[-1].reached if self.commits else {}

    def look(self) -> None:
        """Note the snapshots that are new."""
        try:
            self._table = self._catalog.load_table(self._name) if self._table is None else self._table.refresh()
        except NoSuchTableError:
            return
        now = time.time()
        for snapshot in self._table.metadata.snapshots:
            if (snapshot.sequence_number or 0) > self._seen:
                self._seen = snapshot.sequence_number or 0
                self.commits.append(_commit(snapshot, now))

    def reading_s(self) -> float:
        """Seconds in which a reader has all rows, the median of some."""
        self.look()
        if self._table is None:
            raise TerminalError(f"{self._name} is not there")
        return median(reading_times(self._table))

    def row_bytes(self) -> float:
        """Bytes of a row in the files, on average."""
        head = self._table.current_snapshot() if self._table is not None else None
        if head is None or head.summary is None:
            raise TerminalError(f"{self._name} has no rows")
        told = head.summary.additional_properties
        return int(told["total-files-size"]) / int(told["total-records"])


def _commit(snapshot: Snapshot, now: float) -> Commit:
    told = snapshot.summary.additional_properties if snapshot.summary is not None else {}
    offsets = json.loads(told.get("frazil.offsets", "{}")).get(TOPIC, {})
    reached = {int(number): offset for number, offset in offsets.items()}
    return Commit(now, reached, int(told.get("added-files-size", 0)))


def lags(
    records: Mapping[int, Sequence[tuple[int, float]]], commits: Sequence[Commit]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seconds from the commit of each change in the database to the first snapshot with it.

    `records` has offset and moment by partition. Raises IndexError for a record that no snapshot has.
    """
    found = []
    for number, several in records.items():
        ends = [commit.reached.get(number, 0) for commit in commits]
        found += [commits[bisect_right(ends, offset)].visible_at - moment for offset, moment in several]
    return np.array(found, np.float64)


def _consumer(settings: Settings) -> Consumer:
    return Consumer({"bootstrap.servers": settings.bootstrap_servers, "group.id": "bench-cdc", "fetch.min.bytes": 1})


def _ends(settings: Settings) -> dict[int, int]:
    consumer = _consumer(settings)
    try:
        return {
            number: consumer.get_watermark_offsets(TopicPartition(TOPIC, number), timeout=10)[1]
            for number in range(PARTITIONS)
        }
    finally:
        consumer.close()


def _traffic(access: Mapping[str, Any], rows: int, rate: int, seconds: int) -> int:
    """Change so many rows a second: nine updates in ten, else an insert or a delete; give the number of changes."""
    chance, sent, begin = random.Random(SEED), 0, time.monotonic()
    with psycopg.connect(**access, autocommit=True) as connection:
        while sent < rate * seconds:
            time.sleep(max(0.0, begin + sent / rate - time.monotonic()))
            ids = chance.sample(range(1, rows + 1), max(_PER_TRANSACTION, rate // _TRANSACTIONS_A_SECOND))
            with connection.transaction():
                gone = connection.execute("DELETE FROM accounts WHERE id = %s", [ids.pop()]).rowcount
                sent += gone
                changed = "UPDATE accounts SET balance = balance + 1, changed = now() WHERE id = ANY(%s)"
                sent += connection.execute(changed, [ids]).rowcount
                new = "INSERT INTO accounts SELECT coalesce(max(id), 0) + 1, 1, 0, 'new' FROM accounts"
                sent += connection.execute(new).rowcount
    return sent


def _committed(settings: Settings, begin: Mapping[int, int]) -> dict[int, list[tuple[int, float]]]:
    """Offset of each change, and the moment at which the database committed it, by partition."""
    ends = _ends(settings)
    found: dict[int, list[tuple[int, float]]] = {number: [] for number in ends}
    consumer = _consumer(settings)
    try:
        consumer.assign([TopicPartition(TOPIC, number, offset) for number, offset in begin.items()])
        left = sum(ends.values()) - sum(begin.values())
        while left:
            for message in consumer.consume(min(left, 1000), timeout=10):
                value, number, offset = message.value(), message.partition(), message.offset()
                if value is None or number is None or offset is None:
                    raise TerminalError(f"{TOPIC} has a record without a value: {message.error()}")
                source = json.loads(value)["payload"]["source"]
                found[number].append((offset, source["ts_us"] / 1e6))
                left -= 1
    finally:
        consumer.close()
    return found


def source_config(settings: Settings) -> dict[str, str]:
    """Debezium's connector of the table."""
    access = settings.postgres_access()
    names = {"hostname": "host", "port": "port", "user": "user", "password": "password", "dbname": "dbname"}
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        **{f"database.{name}": str(access[key]) for name, key in names.items()},
        "topic.prefix": _PREFIX,
        "table.include.list": "public.accounts",
        "plugin.name": "pgoutput",
        "publication.autocreate.mode": "filtered",
        "tombstones.on.delete": "false",
        **_CONVERTERS,
    }


def sink_config(settings: Settings, mode: str) -> dict[str, str]:
    """The connector that follows the table, in a way to write changes."""
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": TOPIC,
        "iceberg.tables": f"{settings.namespace}.cdc_{mode.replace('-', '_')}",
        "frazil.cdc.format": "debezium",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.tables.auto-create-props.write.merge.mode": mode,
        "iceberg.control.commit.interval-ms": str(_INTERVAL_MS),
        **_CONVERTERS,
        **{f"iceberg.catalog.{key}": value for key, value in settings.catalog_properties().items()},
    }
