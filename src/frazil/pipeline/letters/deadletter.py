"""Dead letters: records that cannot be stored, kept with their original bytes and Connect's headers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.headers import headers_of
from frazil.clients.kafka.ranges import place_of, read_ranges
from frazil.clients.kafka.security import secured
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


@dataclass(frozen=True)
class DeadLetter:
    """A record with the reason why it cannot be stored. `timestamp` in epoch milliseconds.

    `origin` is the stage in Connect's words, and the class, of a record that failed before it reached the sink, or by
    an `exception` that nothing has foreseen: its class and its trace.
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
    exception: tuple[str, str] | None = None

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
    """Dead-letter topics of one connector, in the cluster as the connector sees it.

    `topic` is None when each source topic has its own, `<topic>-dlq`. `context_headers` adds the headers
    `__connect.errors.*`.
    """

    bootstrap: str
    connector: str
    connector_class: str
    topic: str | None
    context_headers: bool

    def topic_for(self, source: str) -> str:
        """The dead-letter topic of a topic."""
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
            {
                **secured(self.bootstrap, "producer"),
                "acks": "all",
                "enable.idempotence": True,
                "message.max.bytes": 64 << 20,
            }
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
        exception, trace = letter.exception or (_EXCEPTION, f"{_EXCEPTION}: {letter}")
        values = {
            "topic": letter.topic,
            "partition": str(letter.partition),
            "offset": str(letter.offset),
            "connector.name": self.connector,
            "task.id": "0",
            "stage": stage,
            "class.name": class_name,
            "exception.class.name": exception,
            "exception.message": str(letter),
            "exception.stacktrace": trace,
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
        """Places of the dead letters that this connector has written since a time, by record and table.

        A worker that was killed after it wrote dead letters, and before it committed, reads their records again.
        Raises ServiceUnavailable, or ConfigError when the connector may not read the topics.
        """
        found: dict[Refusal, list[Coordinates]] = {}
        if not self.context_headers:
            return found
        try:
            topics = {self.topic_for(source) for source in sources}.intersection(kafka_topics.topics(self.bootstrap))
            starts = kafka_offsets.offsets_since(self.bootstrap, topics, since_ms - _CLOCK_MARGIN_MS)
            for messages in read_ranges(self.bootstrap, starts, kafka_offsets.end_offsets(self.bootstrap, topics)):
                for message in messages:
                    refusal = self._refusal(dict(headers_of(message)))
                    if refusal is not None:
                        found.setdefault(refusal, []).append(place_of(message))
        except ServiceUnavailable as error:
            raise ServiceUnavailable(f"the dead letters of {self.connector} cannot be read: {error}") from error
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
