"""Dead letters: records that cannot be stored, kept with their original bytes and Connect's headers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from tenacity import retry, retry_if_exception, stop_after_delay, wait_fixed

from frazil.clients.kafka.headers import headers_of
from frazil.errors import ConfigError, ServiceUnavailable

PREFIX = "__connect.errors."
RECORD_TIME = "frazil.deadletter.record-time"
"""Header with the time of the original record, in epoch milliseconds: the dead letter's own is when it was written."""
TABLE = "frazil.deadletter.table"
"""Header with the table that refused the record, where its connector has several."""
_EXCEPTION = "org.apache.kafka.connect.errors.DataException"
_FLUSH_S = 60.0
_CLOCK_MARGIN_MS = 300_000

Coordinates = tuple[str, int, int]
Refusal = tuple[str, int, int, str]
"""Coordinates of a record, and the table that refused it; empty for the only table of a connector."""


def _is_settling(error: BaseException) -> bool:
    """Whether a partition has no leader that answers for it yet, as that of a topic that was made a moment ago."""
    return isinstance(error, KafkaException) and error.args[0].code() in (
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
    )


@dataclass(frozen=True)
class DeadLetter:
    """A record with the reason why it cannot be stored. `timestamp` in epoch milliseconds.

    `origin` is the stage in Connect's words, and the class, of a record that failed before it reached the sink.
    `table` is set when its connector has several, for another one may have stored it.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    path: str
    reason: str
    origin: tuple[str, str] | None = None
    table: str = ""

    @property
    def coordinates(self) -> Coordinates:
        return self.topic, self.partition, self.offset

    @property
    def refusal(self) -> Refusal:
        return *self.coordinates, self.table

    def __str__(self) -> str:
        where = f", column {self.path}" if self.path else ""
        return f"topic {self.topic}, partition {self.partition}, offset {self.offset}{where}: {self.reason}"


@dataclass(frozen=True)
class DeadLetterQueue:
    """Where the dead letters of one connector go.

    `topic` is None when each source topic has its own, `<topic>-dlq`. `context_headers` adds
    `__connect.errors.*` (iceberg-sink.md 1.2).
    """

    client: tuple[tuple[str, str], ...] = field(repr=False)
    connector: str
    connector_class: str
    topic: str | None
    context_headers: bool

    def topic_for(self, source: str) -> str:
        return self.topic or f"{source}-dlq"

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Produce and flush; returns when all are acknowledged by all in-sync replicas.

        Raises ServiceUnavailable when one is not, ConfigError when the topic refuses its size; nothing may be committed
        past them then.
        """
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failures.append(error)

        producer = Producer(
            {**dict(self.client), "acks": "all", "enable.idempotence": True, "message.max.bytes": 64 << 20}
        )
        deadline = time.monotonic() + _FLUSH_S
        for letter in letters:
            while not failures:
                try:
                    producer.produce(
                        self.topic_for(letter.topic),
                        value=letter.value,
                        key=letter.key,
                        headers=[*letter.headers, *(self._context(letter) if self.context_headers else ())],
                        on_delivery=delivered,
                    )
                    break
                except BufferError:
                    if time.monotonic() > deadline:
                        raise _unacknowledged(len(producer), len(letters), "timeout") from None
                    producer.poll(0.1)
                except KafkaException as error:
                    failures.append(error.args[0])
            producer.poll(0)
        unsent = producer.flush(max(deadline - time.monotonic(), 1.0)) if not failures else len(producer)
        for failure in failures:
            if failure.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                raise ConfigError(
                    f"a dead letter is too large for its topic ({failure.str()}); nothing was committed. Raise "
                    "max.message.bytes of the dead-letter topic to that of the source topic, then restart the connector"
                )
        if failures or unsent:
            raise _unacknowledged(len(failures) + unsent, len(letters), failures[0].str() if failures else "timeout")

    def _context(self, letter: DeadLetter) -> Iterable[tuple[str, bytes]]:
        stage, class_name = self.origin(letter)
        values = {
            "topic": letter.topic,
            "partition": str(letter.partition),
            "offset": str(letter.offset),
            "connector.name": self.connector,
            "task.id": "0",
            "stage": stage,
            "class.name": class_name,
            "exception.class.name": _EXCEPTION,
            "exception.message": str(letter),
            "exception.stacktrace": f"{_EXCEPTION}: {letter}",
        }
        own = {RECORD_TIME: str(letter.timestamp)} | ({TABLE: letter.table} if letter.table else {})
        context = {PREFIX + name: value for name, value in values.items()} | own
        return [(name, value.encode()) for name, value in context.items()]

    def origin(self, letter: DeadLetter) -> tuple[str, str]:
        """The stage of the failure, in Connect's words, and the class that failed."""
        if letter.origin is not None:
            return letter.origin
        if letter.path:
            return "TASK_PUT", self.connector_class
        return "VALUE_CONVERTER", "org.apache.kafka.connect.json.JsonConverter"

    def written_since(self, sources: Iterable[str], since_ms: int) -> dict[Refusal, list[Coordinates]]:
        """What this connector has written since a time: where the dead letters of a record, and of a table, are.

        A worker that was killed after it wrote dead letters, and before it committed, reads their records again.
        """
        found: dict[Refusal, list[Coordinates]] = {}
        if not self.context_headers:
            return found
        consumer = Consumer({**dict(self.client), "group.id": f"frazil-{self.connector}", "enable.auto.commit": False})
        try:
            for topic in {self.topic_for(source) for source in sources}:
                for refusal, position in self._scan(consumer, topic, since_ms - _CLOCK_MARGIN_MS):
                    found.setdefault(refusal, []).append(position)
        except KafkaException as error:
            raise ServiceUnavailable(f"the dead letters of {self.connector} cannot be read: {error}") from error
        finally:
            consumer.close()
        return found

    @retry(retry=retry_if_exception(_is_settling), stop=stop_after_delay(10), wait=wait_fixed(0.2), reraise=True)
    def _scan(self, consumer: Consumer, topic: str, since_ms: int) -> list[tuple[Refusal, Coordinates]]:
        metadata = consumer.list_topics(topic, timeout=10).topics[topic]
        if metadata.error is not None:
            if metadata.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return []
            raise KafkaException(metadata.error)
        starts = consumer.offsets_for_times(
            [TopicPartition(topic, partition, max(since_ms, 0)) for partition in metadata.partitions], timeout=10
        )
        remaining: dict[int, int] = {}
        for start in starts:
            if start.error is not None:
                raise KafkaException(start.error)
            _, end = consumer.get_watermark_offsets(start, timeout=10)
            if 0 <= start.offset < end:
                remaining[start.partition] = end
        consumer.assign([start for start in starts if start.partition in remaining])
        found: list[tuple[Refusal, Coordinates]] = []
        deadline = time.monotonic() + _FLUSH_S
        while remaining and time.monotonic() < deadline:
            for message in consumer.consume(1000, timeout=1):
                if message.error() is not None:
                    raise KafkaException(message.error())
                refusal = self._refusal(dict(headers_of(message)))
                if refusal is not None:
                    found.append((refusal, (topic, message.partition() or 0, message.offset() or 0)))
            for position in consumer.position([TopicPartition(topic, partition) for partition in remaining]):
                if position.offset >= remaining[position.partition]:
                    del remaining[position.partition]
        if remaining:
            raise ServiceUnavailable(f"the dead letters in topic {topic} cannot be read within {_FLUSH_S:.0f} s")
        return found

    def _refusal(self, headers: Mapping[str, Any]) -> Refusal | None:
        def text(name: str, prefix: str = PREFIX) -> str:
            return (headers.get(prefix + name) or b"").decode(errors="replace")

        if text("connector.name") != self.connector or not all(text(n).isdecimal() for n in ("partition", "offset")):
            return None
        return text("topic"), int(text("partition")), int(text("offset")), text(TABLE, prefix="")


def _unacknowledged(count: int, total: int, reason: str) -> ServiceUnavailable:
    return ServiceUnavailable(
        f"{count} of {total} dead letters were not acknowledged ({reason}); nothing was committed, the batch will be "
        "read again"
    )
