"""What acceptance tests share: topics, tables, records, workers of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import psutil
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import IntegerType, LongType, MapType, NestedField, StringType, StructType, TimestamptzType

from frazil.cli.verbs.stack import worker_service
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.produce import RecordProducer
from frazil.clients.kafka.security import secured
from frazil.environment.settings import Settings
from frazil.stack.ports import unused
from tests.waits import PATIENCE_S

MAX_MESSAGE = {"max.message.bytes": str(16 << 20)}

EVENTS = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "time", TimestamptzType(), required=True),
    NestedField(3, "bucket", StringType()),
    NestedField(4, "count", IntegerType()),
    NestedField(5, "labels", MapType(6, StringType(), 7, StringType())),
    NestedField(8, "info", StructType(NestedField(9, "size", LongType()), NestedField(10, "note", StringType()))),
)
EVENTS_SPEC = PartitionSpec(
    PartitionField(2, 1000, DayTransform(), "time_day"), PartitionField(3, 1001, IdentityTransform(), "bucket")
)


def state_of(status: Mapping[str, Any]) -> str:
    """The state of a connector's tasks while it is RUNNING itself, else its own; `status` is what the API tells."""
    own = str(status["connector"]["state"])
    tasks = {str(task["state"]) for task in status["tasks"]} - {"RUNNING"} if own == "RUNNING" else set()
    return min(tasks, default=own)


def event(number: int, **more: object) -> bytes:
    """A record of the EVENTS table as JSON."""
    import json

    return json.dumps(
        {
            "id": number,
            "time": f"2026-03-{1 + number % 2:02d}T10:30:{number % 60:02d}.123456Z",
            "bucket": f"bucket-{number % 3}",
            "count": number % 1000,
            "labels": {"n": str(number)},
            "info": {"size": number * 1000, "note": f"note {number}"},
            **more,
        }
    ).encode()


def send(bootstrap: str, topic: str, records: Iterable[bytes | None], **message: Any) -> None:
    """Produce records and wait until all are acknowledged."""
    own = {"acks": "all", "message.max.bytes": 16 << 20, "linger.ms": 5}
    producer = Producer({**secured(bootstrap, "producer"), **own})
    for record in records:
        while True:
            try:
                producer.produce(topic, record, **message)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(30) == 0


def produce(
    bootstrap: str, topic: str, records: Iterable[bytes], total: int, on_progress: Callable[[int], None] | None = None
) -> int:
    """Produce records as the verbs do."""
    with RecordProducer(bootstrap) as producer:
        return producer.send(topic, records, total, on_progress)


class Transactions:
    """One transaction after the other, into partition 0 of a topic."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer({**secured(bootstrap, "producer"), "transactional.id": topic})
        self._producer.init_transactions(20)

    def begin(self, records: Iterable[bytes]) -> None:
        """The records are at the broker then, and the transaction is open."""
        self._producer.begin_transaction()
        for record in records:
            self._producer.produce(self._topic, record, partition=0)
        assert self._producer.flush(20) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(20)

    def abort(self) -> None:
        self._producer.abort_transaction(20)


def messages(bootstrap: str, topic: str) -> list[Any]:
    """All messages of a topic, in the order of their offsets."""
    ends = kafka_offsets.end_offsets(bootstrap, [topic])
    consumer = Consumer(
        {
            **secured(bootstrap, "consumer"),
            "group.id": "test",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.message.max.bytes": 16 << 20,
        }
    )
    found: list[Any] = []
    unread = {partition for _, partition in ends}
    try:
        consumer.assign([TopicPartition(t, p, 0) for t, p in ends])
        while unread:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            if (error := message.error()) is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error  # noqa: SLF001
                unread.discard(message.partition())
    finally:
        consumer.close()
    return sorted(found, key=lambda m: (m.partition(), m.offset()))


@dataclass
class Worker(AbstractContextManager["Worker"]):
    """A worker process of its own on somebody else's stack."""

    settings: Settings
    client: ConnectClient = field(init=False)

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        worker_service(self.settings).stop()

    @property
    def pid(self) -> int:
        pid = worker_service(self.settings).state().pid
        assert pid is not None
        return pid

    def start(self) -> None:
        worker_service(self.settings).start(lambda text: None)
        self.client = ConnectClient(self.settings.connect_url)

    def kill(self) -> None:
        """SIGKILL to the worker's process alone; its JVM and Python workers end by themselves.

        The second JVM on a machine writes its archive of classes before it ends, for half a minute on a busy one.
        """
        process = psutil.Process(self.pid)
        family = process.children(recursive=True)
        process.kill()
        gone, alive = psutil.wait_procs([process, *family], timeout=PATIENCE_S)
        assert not alive, f"processes outlived their worker: {alive}"

    def state(self, connector: str) -> str:
        return state_of(self.client.status(connector))

    def trace(self, connector: str) -> str:
        """The trace of a connector or of its tasks; empty when nothing has failed."""
        status = self.client.status(connector)
        return next((str(part["trace"]) for part in (status["connector"], *status["tasks"]) if "trace" in part), "")

    def skipped(self, connector: str) -> dict[str, float]:
        """How many records of a connector the worker has skipped since it started, by reason, as its metrics tell."""
        text = httpx.get(f"http://127.0.0.1:{self.settings.actuator_port}/actuator/prometheus").text
        return {
            sample.labels["reason"]: sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "frazil_records_skipped_total" and sample.labels["connector"] == connector
        }

    def log(self) -> str:
        return (self.settings.logs / "worker.log").read_text()


def own_worker(stack: Settings, home: Path, **variables: str) -> Worker:
    """A worker with a home and ports of its own, which uses the broker, store and catalog of `stack`; `variables` are
    environment variables on top."""
    connect_port, actuator_port = unused(2)
    address = {
        "FRAZIL_HOME": str(home),
        "KAFKA_BOOTSTRAP_SERVERS": stack.bootstrap_servers,
        "MINIO_ENDPOINT": stack.s3_endpoint,
        "ICEBERG_CATALOG_URI": stack.catalog_uri,
        "KAFKA_CONNECT_PORT": str(connect_port),
        "ACTUATOR_PORT": str(actuator_port),
    }
    return Worker(Settings({**stack.env, **address, **variables}))


@dataclass
class Pipe:
    """A topic, a table and the connector between them."""

    settings: Settings
    name: str
    schema: Schema = EVENTS
    spec: PartitionSpec = EVENTS_SPEC

    @property
    def table_name(self) -> str:
        return f"acceptance.{self.name}"

    @property
    def connector(self) -> str:
        return f"sink-{self.name}"

    def catalog(self) -> Catalog:
        return connect(self.settings.catalog_properties())

    def create(self, partitions: int = 3) -> Pipe:
        kafka_topics.ensure_topics(self.settings.bootstrap_servers, {self.name: (partitions, MAX_MESSAGE)})
        catalog = self.catalog()
        catalog.create_namespace_if_not_exists("acceptance")
        catalog.create_table(self.table_name, self.schema, partition_spec=self.spec)
        return self

    def config(self, **more: str) -> dict[str, str]:
        """The keys of a MinIO log connector with a short commit interval; `more` with `__` for dots."""
        base = {
            "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
            "tasks.max": "2",
            "topics": self.name,
            "iceberg.tables": self.table_name,
            "iceberg.tables.auto-create-enabled": "false",
            "iceberg.tables.evolve-schema-enabled": "true",
            **{f"iceberg.catalog.{k}": v for k, v in self.settings.catalog_properties().items()},
            "iceberg.control.commit.interval-ms": "1000",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        return {**base, **{k.replace("__", "."): v for k, v in more.items()}}

    def send(self, records: Iterable[bytes | None], **message: Any) -> None:
        send(self.settings.bootstrap_servers, self.name, records, **message)

    def table(self) -> Table:
        return self.catalog().load_table(self.table_name)

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table().scan().to_arrow().to_pylist()
        return rows

    def ids(self) -> list[int]:
        return sorted(self.table().scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())

    def snapshots(self) -> int:
        return len(self.table().metadata.snapshots)

    def summary(self) -> Mapping[str, str]:
        snapshot = self.table().current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        return snapshot.summary.additional_properties

    def lag(self) -> int:
        return sum(kafka_groups.lag(self.settings.bootstrap_servers, [self.name], f"connect-{self.connector}").values())
