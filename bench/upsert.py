"""Changes into a large table: how long until a reader sees them, and whether every row is right afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from bench.drain import wait_until_running
from bench.environment import Show, running, with_home
from bench.load import PARTITIONS, SEED, create_topic
from bench.results import Upsert
from bench.sampling import TreeSampler, cpu_between
from bench.systems import FRAZIL, Connector
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError

MODES = ("copy-on-write", "merge-on-read")
CHANGES = 10_000
ROUNDS = 3
_FILES = 10
_VISIBLE_S = 300
_LOOK_S = 0.1
_INTERVAL_MS = 1_000
_CITIES = np.array(["Graz", "Linz", "Wien", "Salzburg", "Innsbruck", "Bregenz"])
_SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "name", StringType()),
    NestedField(3, "email", StringType()),
    NestedField(4, "city", StringType()),
    NestedField(5, "balance", DecimalType(12, 2)),
    NestedField(6, "orders", IntegerType()),
    NestedField(7, "active", BooleanType()),
    NestedField(8, "updated", TimestamptzType()),
    identifier_field_ids=[1],
)
_UPDATED = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1_000_000)


def fill_table(settings: Settings, name: str, mode: str, rows: int, show: Show) -> Table:
    """A table of customers in ten files, whose keys are spread over all of them: no file can be left out."""
    catalog = connect(settings.catalog_properties())
    catalog.create_namespace_if_not_exists(settings.namespace)
    codec = {"write.parquet.compression-codec": "zstd", "write.parquet.compression-level": "1"}
    properties = {"write.merge.mode": mode, **codec}
    table = catalog.create_table(f"{settings.namespace}.{name}", _SCHEMA, properties=properties)
    chance = np.random.default_rng(SEED)
    for number, keys in enumerate(np.array_split(chance.permutation(rows), _FILES), 1):
        show(f"upsert: writing file {number} of {_FILES}")
        table.append(_customers(chance, keys))
    return table


@dataclass(frozen=True)
class Rounds:
    """Rounds of changes to a table by a worker: `seconds` of each, and what the worker took for all of them."""

    table: Table
    live: int
    seconds: Sequence[float]
    cpu_s: float
    peak_pss: int


def measure(settings: Settings, mode: str, rows: int, show: Show) -> Upsert:
    """Send changes to `rows` rows in several rounds, one commit each. Raises TerminalError when a row is wrong."""
    done = change(settings, f"upsert-{mode}", mode, rows, ROUNDS, show)
    files = len(list(done.table.scan().plan_files()))
    return Upsert(mode, rows, done.live, CHANGES, done.seconds, done.cpu_s / ROUNDS, done.peak_pss, files)


def change(
    settings: Settings,
    run: str,
    mode: str,
    rows: int,
    count: int,
    show: Show,
    keys: Mapping[str, str] | None = None,
    look: Callable[[int, Table], None] = lambda number, table: None,
) -> Rounds:
    """Send `count` rounds of changes to a table of `rows` rows, one commit each, and `look` at the table after each.

    `keys` are more ones of the connector. Raises TerminalError when a row is wrong at the end.
    """
    topic, name = f"bench-{run}", run.replace("-", "_")
    create_topic(settings, topic)
    table = fill_table(settings, name, mode, rows, show)
    expected = np.ones(rows, np.int32)  # `orders` by key; -1 is a row that is gone
    service = FRAZIL.worker(with_home(settings, settings.home / "workers" / run))
    seconds: list[float] = []
    with (
        running(service, show) as process,
        ConnectClient(settings.connect_url) as client,
        TreeSampler(process) as sampler,
    ):
        connector = Connector(client, settings, run)
        connector.deploy(_config(settings, topic, f"{settings.namespace}.{name}") | dict(keys or {}))
        wait_until_running(connector, show)
        begin = time.time()
        for number in range(2, count + 2):
            changes = Changes(np.random.default_rng(SEED + number), expected, number)
            show(f"{run}: round {number - 1} of {count}")
            seconds.append(_round(settings, connector, table, topic, changes))
            expected = changes.expected
            look(number - 1, table)
        cpu_s = cpu_between(sampler.samples, begin, time.time())
        sampler.take()
        peak = max(sample.pss for sample in sampler.samples)
    check(table, expected)
    return Rounds(table, int((expected >= 0).sum()), seconds, cpu_s, peak)


@dataclass
class Changes:
    """A tenth are deletes, a tenth new rows, the others replace rows; `expected` is the table afterwards."""

    chance: np.random.Generator
    before: np.ndarray[Any, np.dtype[np.int32]]
    number: int

    def __post_init__(self) -> None:
        tenth = CHANGES // 10
        live = self.chance.choice(np.flatnonzero(self.before >= 0), CHANGES - tenth, replace=False)
        self._gone, self._replaced = live[:tenth], live[tenth:]
        self._new = np.arange(len(self.before), len(self.before) + tenth)
        self.expected = np.concatenate([self.before, np.full(tenth, self.number, np.int32)])
        self.expected[self._replaced] = self.number
        self.expected[self._gone] = -1

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Key and record, in the order of keys that chance gives."""
        order = self.chance.permutation(np.concatenate([self._gone, self._replaced, self._new]))
        gone = set(self._gone.tolist())
        for key in order.tolist():
            record: dict[str, object] = {"id": key, "op": "d"}
            if key not in gone:
                record |= {
                    "op": "u", "name": f"Customer {key}", "email": f"customer-{key}@example.org", "city": "Graz",
                    "balance": "12.50", "orders": self.number, "active": True, "updated": "2026-02-01T00:00:00Z",
                }  # fmt: skip
            yield key, json.dumps(record).encode()


def _round(settings: Settings, connector: Connector, table: Table, topic: str, changes: Changes) -> float:
    """Seconds from the first record that is produced until a reader has seen the commit with all of them."""
    records = list(changes.records())
    before = _position(table, topic)
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "acks": "all", "linger.ms": 5})
    begin = time.monotonic()
    for key, record in records:
        producer.produce(topic, record, partition=key % PARTITIONS)
        producer.poll(0)
    if producer.flush(60):
        raise ServiceUnavailable(f"the broker did not take all changes to {topic}; the round was not measured")
    while _position(table, topic) - before < len(records):
        connector.runs()
        if time.monotonic() - begin > _VISIBLE_S:
            raise ServiceUnavailable(f"{connector.name}: the changes are not visible after {_VISIBLE_S} s")
        time.sleep(_LOOK_S)
    return time.monotonic() - begin


def _position(table: Table, topic: str) -> int:
    """How many records the table has, as its newest snapshot says."""
    snapshot = table.refresh().current_snapshot()
    offsets = snapshot.summary.additional_properties.get("frazil.offsets") if snapshot and snapshot.summary else None
    return sum(json.loads(offsets).get(topic, {}).values()) if offsets else 0


def check(table: Table, expected: np.ndarray[Any, np.dtype[np.int32]]) -> None:
    """Raise TerminalError unless the table has the rows of `expected`: `orders` by key, -1 where there is none."""
    found = table.refresh().scan(selected_fields=("id", "orders")).to_arrow()
    keys, orders = found.column("id").to_numpy(), found.column("orders").to_numpy()
    seen = np.full(len(expected), -1, np.int32)
    seen[keys] = orders
    if len(keys) != int((expected >= 0).sum()) or not np.array_equal(seen, expected):
        wrong = int((seen != expected).sum())
        raise TerminalError(f"{'.'.join(table.name())}: {wrong:,} keys are wrong, {len(keys):,} rows are visible")


def _config(settings: Settings, topic: str, table: str) -> dict[str, str]:
    return {
        "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": topic,
        "iceberg.tables": table,
        "iceberg.tables.cdc-field": "op",
        "iceberg.control.commit.interval-ms": str(_INTERVAL_MS),
        "iceberg.control.topic": f"control-{topic}",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{f"iceberg.catalog.{key}": value for key, value in settings.catalog_properties().items()},
    }


def _customers(chance: np.random.Generator, keys: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
    texts = keys.astype(str)
    cents = chance.integers(0, 1_000_000, len(keys))
    columns = [
        pa.array(keys),
        pa.array(np.char.add("Customer ", texts)),
        pa.array(np.char.add(np.char.add("customer-", texts), "@example.org")),
        pa.array(_CITIES[chance.integers(0, len(_CITIES), len(keys))]),
        pa.array(cents).cast(pa.decimal128(19, 0)).cast(pa.decimal128(38, 0)),
        pa.array(np.ones(len(keys), np.int32)),
        pa.array(chance.random(len(keys)) < 0.9),
        pa.array(_UPDATED + chance.integers(0, 1 << 40, len(keys)), pa.timestamp("us", tz="UTC")),
    ]
    schema = schema_to_pyarrow(_SCHEMA, include_field_ids=False)
    return pa.Table.from_arrays([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
