"""An object sink that runs in this process, on a cluster in memory or on a real broker; its store is a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import Message

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.results import ObjectsResult
from frazil.connectors.objects.schema_file import SchemaFile
from frazil.connectors.objects.sink_task import ObjectSinkTask, Table
from frazil.connectors.objects.stored_positions import StoredPositions
from frazil.connectors.objects.task import ObjectsSpec, ObjectsTask
from frazil.connectors.sink import SinkContext
from frazil.connectors.source import task_source
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.source import Source
from tests.connectors.broker import BOOTSTRAP, Broker
from tests.connectors.objects.samples import FolderStore, sink_with
from tests.harness import messages, send
from tests.waits import eventually


class Cluster(Protocol):
    """Where a test has its topic."""

    bootstrap: str

    def make(self, topic: str) -> None: ...
    def delete(self, topic: str) -> None: ...
    def send(self, topic: str, values: Iterable[bytes | None]) -> None: ...
    def messages(self, topic: str) -> list[Message]: ...
    def source(self, config: ObjectSinkConfig) -> Source: ...
    def queue(self, topic: str) -> DeadLetterQueue: ...


class RealCluster:
    """That of the stack."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def make(self, topic: str) -> None:
        kafka_topics.ensure_topics(self.bootstrap, {topic: (1, {})})

    def delete(self, topic: str) -> None:
        """The broker forgets the positions of the topic in its own time."""
        client = kafka_client.admin(self.bootstrap)
        client.delete_topics([topic], operation_timeout=20)[topic].result(20)
        eventually(lambda: topic not in kafka_topics.topics(self.bootstrap))
        eventually(lambda: not kafka_groups.all_group_offsets(self.bootstrap, f"connect-{topic}"))

    def send(self, topic: str, values: Iterable[bytes | None]) -> None:
        send(self.bootstrap, topic, values, partition=0)

    def messages(self, topic: str) -> list[Message]:
        return messages(self.bootstrap, topic)

    def source(self, config: ObjectSinkConfig) -> Source:
        return task_source(config, self.bootstrap, headers=True)

    def queue(self, topic: str) -> DeadLetterQueue:
        self.make(f"{topic}-dlq")
        return DeadLetterQueue(self.bootstrap, topic, "c", None, True)


class MemoryCluster:
    """One in memory."""

    bootstrap = BOOTSTRAP

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.make, self.delete, self.messages = broker.make, broker.delete, broker.records

    def send(self, topic: str, values: Iterable[bytes | None]) -> None:
        self._broker.send(topic, values)

    def source(self, config: ObjectSinkConfig) -> Source:
        return self._broker.source()

    def queue(self, topic: str) -> DeadLetterQueue:
        return self._broker.queue(topic, topic)


class Recorder:
    """An executor that hands its tasks to a function."""

    parallelism = 1

    def __init__(self, run: Callable[[ObjectsTask], ObjectsResult]) -> None:
        self.run_task = run

    def run(self, calls: Sequence[Any], what: str, records: int | None = None) -> list[Any]:
        return [self.run_task(call) for call in calls]


class Driver:
    """A sink whose tasks run in this process; what it stores is in a folder."""

    def __init__(self, cluster: Cluster, topic: str, store: Path | FolderStore, **changes: str) -> None:
        self.cluster, self.bootstrap, self.topic = cluster, cluster.bootstrap, topic
        self.store = store if isinstance(store, FolderStore) else FolderStore(str(store))
        self.table: Table | None = None
        made = sink_with({name.replace("__", "."): value for name, value in changes.items()})
        self.config: ObjectSinkConfig = replace(made, topics=(topic,), name=topic, group_id=f"connect-{topic}")
        self.reports: list[BatchReport] = []
        self.runs: list[ObjectsSpec] = []
        self.now_ms = 0
        self._position: Offsets = {}
        self.restart()

    def restart(self) -> None:
        queue = self.cluster.queue(self.topic) if self.config.errors_tolerance == "all" else None
        schema = None
        kept = FolderStore(f"{self.store.folder}/kept")
        if self.config.json_schema is not None:
            schema = SchemaFile(self.config.json_schema, "c.json", kept, self.topic)
        self.stored = StoredPositions("topics.json", kept, self.topic)
        self.executor = Recorder(self.run)
        self.context = SinkContext(self.executor)
        self.sink = ObjectSinkTask(
            self.config,
            self.bootstrap,
            [self.topic],
            self.cluster.source(self.config),
            queue,
            self.store,
            self.stored,
            self.context,
            schema,
            self.table,
        )

    def run(self, task: ObjectsTask) -> ObjectsResult:
        self.runs.append(task.spec)
        return task()

    def send(self, values: Iterable[bytes | None]) -> None:
        self.cluster.send(self.topic, values)

    def process(self, wait_ms: int = 0) -> bool:
        self.now_ms += wait_ms
        return self.store_below(kafka_offsets.end_offsets(self.bootstrap, [self.topic]), self.now_ms)

    def store_below(self, ends: Offsets, now_ms: int) -> bool:
        due = self.sink.find_due(ends, now_ms)
        if due.ends:
            self.sink.step(due, self.reports.append)
        return bool(due.ends)

    def make_topic_again(self, values: Iterable[bytes | None]) -> None:
        """The topic without its old records."""
        self.cluster.delete(self.topic)
        self.cluster.make(self.topic)
        self.send(values)

    def moved(self) -> bool:
        """Whether the position has moved since it was asked the last time."""
        before, self._position = self._position, self.sink.position
        return before != self._position

    def position(self) -> int:
        return kafka_groups.group_offsets(self.bootstrap, self.config.group_id, [(self.topic, 0)])[self.topic, 0]

    def first_offsets(self) -> list[int]:
        return sorted(int(name.rpartition("+")[2].partition(".")[0]) for name in self.store.objects())
