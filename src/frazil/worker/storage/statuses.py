"""States of a group's connectors, the topics they have read, and URLs of workers in Kafka's `status.storage.topic`."""

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from frazil.worker.lifecycle.status import ConnectorStatus, OwnStatus
from frazil.worker.storage.reader import TopicReader
from frazil.worker.storage.records import (
    Record,
    StatusRecord,
    TopicRecord,
    WorkerRecord,
    parse_status,
    status_record,
    topic_record,
    worker_record,
)

logger = logging.getLogger(__name__)

_FLUSH_S = 5.0
_ANY, _WORKERS = -1, 0
"""Partitions: that of the record's key, and the first one for the records of workers, which so have one order."""


class StatusTopic:
    """Publishes the states of this worker's connectors to the other workers, and keeps those that they publish.

    A state is sent once; `publish` may be called as often as one likes, and also puts right what a worker that was
    replaced has written late. Nothing here raises when Kafka does not answer: the next call sends again.
    """

    def __init__(
        self, consumer: Mapping[str, Any], producer: Mapping[str, Any], topic: str, group: str, version: str
    ) -> None:
        self._topic = topic
        self._version = version
        self._lock = threading.Lock()
        self._connectors: dict[str, OwnStatus] = {}
        self._tasks: dict[str, dict[int, OwnStatus]] = {}
        self._topics: dict[str, set[str]] = {}
        self._workers: dict[str, WorkerRecord] = {}
        """Workers in the order of their records, which all are in one partition."""
        self._sent: dict[str, set[int]] = {}
        """Tasks that this worker has published and not removed since, by connector; they may not be read yet."""
        self._newest: dict[str, bytes | None] = {}
        """The value that was sent or read last, by key."""
        self._failing = False
        self._reader = TopicReader(consumer, group, topic, self._apply)
        self._producer = Producer(
            {**producer, "enable.idempotence": True, "message.timeout.ms": 30_000, "linger.ms": 2}
        )

    def start(self) -> None:
        """Return when all that the topic has was read; raises ServiceUnavailable."""
        self._reader.start()

    def close(self) -> None:
        """Flush, and end; idempotent."""
        self.flush()
        self._reader.close()

    def flush(self) -> None:
        """Wait until what was sent is stored, for 5 s at most."""
        self._producer.flush(_FLUSH_S)

    def publish(self, status: ConnectorStatus) -> None:
        """Publish the state of a connector and of its tasks; returns at once."""
        name, version = status.name, self._version
        with self._lock:
            gone = (self._tasks.get(name, {}).keys() | self._sent.get(name, set())) - status.tasks.keys()
            self._sent[name] = set(status.tasks)
        records = [status_record(name, None, status, version)]
        records += [status_record(name, number, task, version) for number, task in status.tasks.items()]
        self._send(records + [status_record(name, number, None, version) for number in sorted(gone)])

    def of(self, name: str) -> ConnectorStatus | None:
        """The state of a connector that was published last, without its type; None when there is none."""
        with self._lock:
            found, tasks = self._connectors.get(name), dict(sorted(self._tasks.get(name, {}).items()))
        if found is None:
            return None
        return ConnectorStatus(found.state, found.worker_id, found.trace, name=name, tasks=tasks, type="unknown")

    def forget(self, name: str) -> None:
        """Remove states and topics of a connector."""
        with self._lock:
            known = name in self._connectors or name in self._sent
            numbers = self._tasks.get(name, {}).keys() | self._sent.pop(name, set())
        removed = [status_record(name, number, None, self._version) for number in sorted(numbers)]
        self._send([*removed, status_record(name, None, None, self._version)] if known or removed else [])
        self.reset_topics(name)

    def names(self) -> set[str]:
        """Connectors with a state or topics."""
        with self._lock:
            return {*self._connectors, *self._tasks, *self._topics}

    def add_topic(self, name: str, topic: str) -> None:
        """Publish that a connector has read a topic."""
        with self._lock:
            known = topic in self._topics.get(name, ())
        if not known:
            self._send([topic_record(name, topic, int(time.time() * 1000))])

    def topics_of(self, name: str) -> list[str]:
        """Topics that a connector has read, sorted."""
        with self._lock:
            return sorted(self._topics.get(name, ()))

    def reset_topics(self, name: str) -> None:
        """Forget the topics of a connector."""
        self._send([topic_record(name, topic, None) for topic in self.topics_of(name)])

    def announce(self, worker: WorkerRecord) -> None:
        """Publish the URL and partitions of a worker, or that it has left; returns at once."""
        self._send([worker_record(worker)], partition=_WORKERS)

    def urls_of(self, slot: int) -> list[str]:
        """URLs of the workers that have published that they have a partition, the newest first."""
        with self._lock:
            return [worker.url for worker in reversed(self._workers.values()) if worker.url and slot in worker.slots]

    def superseded(self) -> list[str]:
        """Workers that are gone: others have all of their partitions."""
        with self._lock:
            last = {slot: worker.worker_id for worker in self._workers.values() for slot in worker.slots}
            return [name for name, worker in self._workers.items() if worker.slots and name not in last.values()]

    def _send(self, records: Iterable[Record], partition: int = _ANY) -> None:
        for key, value in records:
            with self._lock:
                if key in self._newest and self._newest[key] == value:
                    continue
                self._newest[key] = value
            try:
                self._producer.produce(self._topic, value, key, partition=partition, on_delivery=self._delivered)
            except BufferError:
                self._lost(key, "too much waits to be sent")
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        key = message.key()
        if error is None:
            self._failing = False
        elif isinstance(key, bytes):
            self._lost(key.decode(), error.str())

    def _lost(self, key: str, reason: str) -> None:
        with self._lock:
            self._newest.pop(key, None)
        if not self._failing:
            logger.warning("topic %s: states are not stored: %s; they are sent again", self._topic, reason)
        self._failing = True

    def _apply(self, key: str, value: bytes | None) -> None:
        record = parse_status(key, value)
        if record is None:
            return
        with self._lock:
            self._newest[key] = value
            match record:
                case StatusRecord(name, None, None):
                    self._connectors.pop(name, None)
                case StatusRecord(name, None, status) if status is not None:
                    self._connectors[name] = status
                case StatusRecord(name, int(task), None):
                    self._tasks.get(name, {}).pop(task, None)
                    if not self._tasks.get(name):
                        self._tasks.pop(name, None)
                case StatusRecord(name, int(task), status) if status is not None:
                    self._tasks.setdefault(name, {})[task] = status
                case WorkerRecord(worker_id, url):
                    self._workers.pop(worker_id, None)
                    if url is not None:
                        self._workers[worker_id] = record
                case TopicRecord(name, topic, True):
                    self._topics.setdefault(name, set()).add(topic)
                case TopicRecord(name, topic, False):
                    self._topics.get(name, set()).discard(topic)
                    if not self._topics.get(name):
                        self._topics.pop(name, None)
