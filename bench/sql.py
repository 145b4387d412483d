"""SQL in the stream beside the plain connector and plain Spark: the same records into tables with the same columns."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, get_args

import psutil
from pyiceberg.table import Table

from bench.avro import as_json, orders
from bench.drain import summarise, wait_for_rows
from bench.environment import Show, running, with_home
from bench.load import fill
from bench.results import Drain
from bench.sampling import TreeSampler
from bench.systems import FRAZIL, Connector
from bench.tables import WatchedTable
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.connectors.sql.columns import parse_columns
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError
from frazil.minio.records.tables import TABLE_PROPERTIES
from frazil.pipeline.convert.arrow import arrow_schema

Way = Literal["plain", "sql", "spark", "sql-some", "spark-some"]
WAYS: tuple[Way, ...] = get_args(Way)
TITLES: dict[Way, str] = {
    "plain": "frazil, Iceberg connector",
    "sql": "frazil, `SELECT *`",
    "spark": "plain Spark, `SELECT *`",
    "sql-some": "frazil, half of the rows, 6 columns",
    "spark-some": "plain Spark, half of the rows, 6 columns",
}
TOPIC = "bench-orders"
COLUMNS = (
    "id BIGINT, customer BIGINT, status STRING, at TIMESTAMP, updated TIMESTAMP, day DATE, quantity INT, price DOUBLE, "
    "tax DOUBLE, weight DOUBLE, score DOUBLE, paid BOOLEAN, gift BOOLEAN, name STRING, street STRING, city STRING, "
    "zip STRING, country STRING, source STRING, mail STRING, phone STRING, note STRING, tags ARRAY<STRING>, "
    "place STRUCT<latitude: DOUBLE, longitude: DOUBLE>, session STRING"
)
SOME = "id BIGINT, customer BIGINT, total DOUBLE, day DATE, city STRING, latitude DOUBLE"
SELECT_SOME = (
    "SELECT id, customer, price * quantity AS total, CAST(at AS DATE) AS day, upper(city) AS city, "
    "place.latitude AS latitude FROM {} WHERE paid"
)
BATCH = 100_000
"""Records of a batch, so that there are commits between which all is warm."""
_SLOWEST_RATE = 2_000
_READY_S = 180


@dataclass(frozen=True)
class Query:
    """What plain Spark is to do, as JSON for its process."""

    bootstrap: str
    topic: str
    columns: str
    sql: str
    table: str
    checkpoint: str
    home: str
    batch: str = str(BATCH)


def fill_orders(settings: Settings, count: int, show: Show) -> None:
    """Put JSON records of 25 fields into the topic."""
    fill(settings, TOPIC, map(as_json, orders(count)), count, show)


def measure(settings: Settings, way: Way, records: int, run: str, show: Show) -> Drain:
    """Store the records of the topic one way. Raises FrazilError when it fails or does not finish in time."""
    some = way.endswith("-some")
    rows = (records + 1) // 2 if some else records
    table = WatchedTable(orders_table(settings, run.replace("-", "_"), SOME if some else COLUMNS))
    measured = _spark if way.startswith("spark") else _frazil
    with measured(settings, way, table, run, show) as (sampler, start):
        begin = time.time()
        connector = start()
        wait_for_rows(connector, table, rows, records / _SLOWEST_RATE + 120, show)
        sampler.take()
    found = summarise(replace(FRAZIL, name=way, title=TITLES[way]), rows, begin, table, sampler)
    rate, per_cpu_s = (each and each * records / rows for each in (found.warm_rate, found.warm_per_cpu_s))
    found = replace(found, warm_rate=rate, warm_per_cpu_s=per_cpu_s)
    return replace(found, records=records, refused=records - rows, rows=table.count())


def connector_config(settings: Settings, table: WatchedTable) -> dict[str, str]:
    """The keys of a connector for orders into a table."""
    return {
        "connector.class": "IcebergSink",
        "topics": TOPIC,
        "iceberg.tables": table.identifier,
        "iceberg.control.commit.interval-ms": "10000",
        "frazil.batch.max.records": str(BATCH),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{f"iceberg.catalog.{name}": text for name, text in settings.catalog_properties().items()},
    }


@contextmanager
def _frazil(
    settings: Settings, way: Way, table: WatchedTable, run: str, show: Show
) -> Iterator[tuple[TreeSampler, Callable[[], Connector]]]:
    service = FRAZIL.worker(with_home(settings, settings.home / "workers" / run))
    config = connector_config(settings, table)
    if way != "plain":
        sql = SELECT_SOME if way == "sql-some" else "SELECT * FROM {}"
        config |= {"connector.class": "SqlSink", "frazil.sql.schema": COLUMNS, "frazil.sql": sql.format(f"`{TOPIC}`")}
    with (
        running(service, show) as process,
        ConnectClient(settings.connect_url) as client,
        TreeSampler(process) as sampler,
    ):
        connector = Connector(client, settings, run)

        def start() -> Connector:
            connector.deploy(config)
            return connector

        yield sampler, start


@contextmanager
def _spark(
    settings: Settings, way: Way, table: WatchedTable, run: str, show: Show
) -> Iterator[tuple[TreeSampler, Callable[[], Connector]]]:
    home = settings.home / "workers" / run
    home.mkdir(parents=True)
    sql = (SELECT_SOME if way == "spark-some" else "SELECT * FROM {}").format("records")
    query = Query(
        settings.bootstrap_servers, TOPIC, COLUMNS, sql, table.identifier, (home / "checkpoint").as_uri(), str(home)
    )
    show(f"{run}: starting Spark")
    with (home / "spark.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.plain_spark", json.dumps(query.__dict__)],
            env=dict(settings.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            if process.stdout.readline().strip() != "ready":
                raise ServiceUnavailable(f"plain Spark did not start; see {home / 'spark.log'}")
            with TreeSampler(psutil.Process(process.pid)) as sampler:

                def start() -> Connector:
                    process.stdin.write("go\n")  # type: ignore[union-attr]
                    process.stdin.flush()  # type: ignore[union-attr]
                    return _Process(process, run)

                yield sampler, start
        finally:
            process.stdin.close()
            try:
                process.wait(_READY_S)
            except subprocess.TimeoutExpired:
                process.kill()


class _Process(Connector):
    """Looks whether plain Spark is still there."""

    def __init__(self, process: subprocess.Popen[str], name: str) -> None:
        self._process = process
        self.name = name

    def runs(self) -> bool:
        if self._process.poll() is not None:
            raise TerminalError(f"{self.name}: plain Spark has ended; its log says why")
        return True


def orders_table(settings: Settings, name: str, columns: str = COLUMNS) -> Table:
    """Make a table with these columns."""
    catalog = connect(settings.catalog_properties())
    catalog.create_namespace_if_not_exists(settings.namespace)
    schema = arrow_schema(parse_columns(columns))
    return catalog.create_table(f"{settings.namespace}.{name}", schema, properties=TABLE_PROPERTIES)
