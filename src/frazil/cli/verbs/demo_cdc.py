"""`demo cdc`: a shop in PostgreSQL, captured by Debezium, and tables and objects that follow it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from frazil.cli.connect.outcome import failure_of
from frazil.cli.ui.console import make_console
from frazil.cli.ui.program import PROGRAM
from frazil.cli.ui.progress import Records, progress, titled
from frazil.cli.verbs import stack
from frazil.cli.verbs.sql import print_sql
from frazil.cli.verbs.verify_database import compared, show_comparisons
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotFound, ServiceUnavailable, TerminalError

if TYPE_CHECKING:
    from rich.console import Console

    from frazil.cdc.compare import Comparison
    from frazil.clients.connect import ConnectClient

_PLUGIN = "debezium-postgres"
_CUSTOMERS, _TRANSACTIONS = 100, 300
_WAIT_S = 300.0
_PREFIX = "shop"
_SOURCE, _SINK, _OBJECTS = "shop-source", "shop-tables", "shop-objects"
_SQL = """\
SELECT status, count(*) AS orders, sum(total) AS total
FROM {warehouse}.shop.orders
GROUP BY status
ORDER BY status"""


def show_cdc(settings: Settings) -> None:
    """Start what the demo needs, let the shop do business, and show that the tables are equal to the database's.

    Raises ServiceUnavailable when they are not equal in time, TerminalError when a connector fails.
    """
    from frazil.stack.plugins import install_plugin

    console = make_console()
    started = time.monotonic()
    with titled(console, "1/5", "Start PostgreSQL, Kafka, the object store with its Iceberg catalog, and the worker"):
        stack.start_services([*stack.services(settings), *stack.with_postgres(settings)], console)
    steps = [
        (f"{PROGRAM} status", "services, connectors, lag, last commits"),
        (f"{PROGRAM} demo cdc", "more business"),
        (f"{PROGRAM} verify {_SINK} --against postgres://", "database and tables, row by row"),
        (f"{PROGRAM} stop", "stop everything; `clean` also removes the data"),
    ]
    with leading_on(console, started, steps):
        with titled(console, "2/5", "Install Debezium, and open a shop with customers, orders and items"):
            with progress(console) as say:
                install_plugin(settings, _PLUGIN, say)
            _open_shop(settings, console)
        with titled(console, "3/5", "Deploy three connectors: Debezium, Iceberg tables, Parquet files on S3"):
            _deploy(settings, console)
        with titled(console, "4/5", f"Let the shop do business: {_TRANSACTIONS} transactions, and wait for the tables"):
            _trade(settings, console)
            found = _wait_until_equal(settings, console)
        with titled(console, "5/5", "Compare row by row, and ask the tables"):
            show_comparisons(found)
            if not all(one.equal for one in found):
                raise ServiceUnavailable(
                    f"the tables are not equal to the database after {_WAIT_S:.0f} s; what is missing is still on its "
                    "way or was refused: see `status` and `logs worker`"
                )
            statement = _SQL.format(warehouse=settings.warehouse)
            console.print(statement, style="dim", soft_wrap=True)
            print_sql(settings, statement)


@contextmanager
def leading_on(console: Console, started: float, steps: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Tell behind a demo how long it has taken and which commands to try next, or that it has not finished."""
    try:
        yield
    except (FrazilError, KeyboardInterrupt):
        console.print(f"\nThe demo has not finished. The services go on running; `{PROGRAM} stop` stops them.")
        raise
    console.print(f"\nDone in {time.monotonic() - started:.0f} s. The stack goes on running. Try next:")
    for command, meaning in steps:
        console.print(f"  {command}  # {meaning}", soft_wrap=True)


def connectors(settings: Settings) -> dict[str, dict[str, str]]:
    """The connectors of the demo by name."""
    from frazil.cdc.shop import TABLES

    topics = ",".join(f"{_PREFIX}.public.{table}" for table in TABLES)
    json = "org.apache.kafka.connect.json.JsonConverter"
    converters = {
        f"{part}.converter{option}": value
        for part in ("key", "value")
        for option, value in (("", json), (".schemas.enable", "true"), (".replace.null.with.default", "false"))
    }
    access = settings.postgres_access()
    return {
        _SOURCE: {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            **{f"database.{name}": str(access[key]) for name, key in _ACCESS.items()},
            "topic.prefix": _PREFIX,
            "table.include.list": ",".join(f"public.{table}" for table in TABLES),
            "plugin.name": "pgoutput",
            "slot.name": "frazil_shop",
            "publication.name": "frazil_shop",
            "publication.autocreate.mode": "filtered",
            "topic.creation.default.partitions": "3",
            "topic.creation.default.replication.factor": "-1",
            **converters,
        },
        _SINK: {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "topics": topics,
            "frazil.cdc.format": "debezium",
            "frazil.tables.topic-pattern": f"{_PREFIX}.{{topic}}",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.tables.evolve-schema-enabled": "true",
            "iceberg.control.commit.interval-ms": "2000",
            "transforms": "table",
            "transforms.table.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.table.regex": rf"{_PREFIX}\.public\.(.*)",
            "transforms.table.replacement": "$1",
            **converters,
        },
        _OBJECTS: {
            "connector.class": "io.confluent.connect.s3.S3SinkConnector",
            "topics": topics,
            "s3.bucket.name": "shop-changes",
            "s3.region": settings.region,
            "store.url": settings.s3_endpoint,
            "storage.class": "io.confluent.connect.s3.storage.S3Storage",
            "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
            "flush.size": "1000",
            "rotate.schedule.interval.ms": "5000",
            "timezone": "UTC",
            "behavior.on.null.values": "ignore",
            "report.null.values.to.dlq": "false",
            "value.converter": json,
            "value.converter.schemas.enable": "true",
            "value.converter.replace.null.with.default": "false",
        },
    }


_ACCESS = {"hostname": "host", "port": "port", "user": "user", "password": "password", "dbname": "dbname"}


def _open_shop(settings: Settings, console: Console) -> None:
    from frazil.cdc.shop import Shop

    shop = Shop(settings.postgres_access())
    try:
        with progress(console) as say:
            shop.fill(_CUSTOMERS, say)
    finally:
        shop.close()
    console.print(f"      {_CUSTOMERS} customers have come and ordered")


def _deploy(settings: Settings, console: Console) -> None:
    from frazil.clients.connect import ConnectClient
    from frazil.clients.kafka import topics as kafka_topics
    from frazil.clients.object_store import ObjectStoreConfig
    from frazil.clients.objects import ObjectStore

    wanted = connectors(settings)
    bucket, access = wanted[_OBJECTS]["s3.bucket.name"], (settings.access_key, settings.secret_key)
    ObjectStore(
        ObjectStoreConfig(bucket, settings.region, settings.s3_endpoint, access_key=access[0], secret_key=access[1])
    ).create()
    names = wanted[_SINK]["topics"].split(",")
    kafka_topics.ensure_topics(settings.bootstrap_servers, {name: (3, {}) for name in names})
    with progress(console) as say, ConnectClient(settings.connect_access) as client:
        deadline = time.monotonic() + _WAIT_S
        for name, config in wanted.items():
            say(f"creating {name}")
            _put(client, name, config, deadline)
        while not _runs(client, wanted):
            if time.monotonic() > deadline:
                raise ServiceUnavailable(f"the connectors do not run after {_WAIT_S:.0f} s; see `status`")
            say("waiting for the connectors")
            time.sleep(0.5)
    console.print(f"      {', '.join(wanted)} run")


def _put(client: ConnectClient, name: str, config: Mapping[str, str], deadline: float) -> None:
    """Create a connector, also while its runtime is still starting. Raises as `put_config` does after the deadline."""
    while True:
        try:
            client.put_config(name, config)
            return
        except ServiceUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def _runs(client: ConnectClient, wanted: Mapping[str, object]) -> bool:
    """Whether all of them run. Raises TerminalError for one that has failed."""
    for name in wanted:
        try:
            status = client.status(name)
        except NotFound:
            return False
        failure = failure_of(status)
        if failure is not None:
            raise TerminalError(f"connector {name} FAILED: {failure}")
        if not status["tasks"] or any(task["state"] != "RUNNING" for task in status["tasks"]):
            return False
    return True


def _trade(settings: Settings, console: Console) -> None:
    from frazil.cdc.shop import Shop

    shop = Shop(settings.postgres_access(), seed=int(time.time()))
    try:
        with progress(console) as say:
            for number in range(_TRANSACTIONS):
                say(Records("transactions", number, _TRANSACTIONS))
                shop.transact()
    finally:
        shop.close()


def _wait_until_equal(settings: Settings, console: Console) -> list[Comparison]:
    from frazil.cdc.shop import TABLES
    from frazil.clients.connect import ConnectClient

    wanted = connectors(settings)
    deadline = time.monotonic() + _WAIT_S
    with progress(console) as say, ConnectClient(settings.connect_access) as client:
        while True:
            _runs(client, wanted)
            found = compared(settings, {_SINK: wanted[_SINK]}, settings.postgres_access(), lambda text: None)
            if len(found) == len(TABLES) and all(one.equal for one in found):
                return found
            if time.monotonic() > deadline:
                return found
            say(", ".join(f"{one.target} {one.stored:,} of {one.rows:,} rows" for one in found) or "no table yet")
            time.sleep(1)
