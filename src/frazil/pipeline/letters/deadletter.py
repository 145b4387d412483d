"""Dead letters: records that cannot be stored, kept with their original bytes and Connect's headers."""

import hmac
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.headers import headers_of
from frazil.clients.kafka.ranges import place_of, read_ranges
from frazil.clients.kafka.security import secured
from frazil.errors import ConfigError, ServiceUnavailable
from frazil.pipeline.letters.marks import Marks
from frazil.pipeline.offsets import Offsets

PREFIX = "__connect.errors."
OWN_PREFIX = "frazil.errors."
"""Prefix of the same headers where Kafka Connect's are switched off: a dead letter always tells its record."""
SEAL = "frazil.deadletter.seal"
"""Header that only the connector can make that wrote the dead letter: others may write to its topic as well."""
RECORD_TIME = "frazil.deadletter.record-time"
"""Header with the time of the original record, in epoch milliseconds: the dead letter's own is when it was written."""
TABLE = "frazil.deadletter.table"
"""Header with the table that refused the record, where its connector has several."""
_EXCEPTION = "org.apache.kafka.connect.errors.DataException"
_FLUSH_S = 60.0
_CLOCK_MARGIN_MS = 3_600_000
"""Difference between the clocks of workers, where only a time tells since when dead letters count."""

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

    `topic` is None when each source topic has its own, `<topic>-dlq`. The headers are `__connect.errors.*` with
    `context_headers`, and `frazil.errors.*` without. `secret` is what dead letters are sealed with.
    """

    bootstrap: str
    connector: str
    connector_class: str
    topic: str | None
    context_headers: bool
    secret: bytes = field(default=b"", repr=False)

    def topic_for(self, source: str) -> str:
        """The dead-letter topic of a topic."""
        return self.topic or f"{source}-dlq"

    def write(self, letters: Sequence[DeadLetter]) -> dict[Refusal, Coordinates]:
        """Produce and flush; returns when all are acknowledged by all in-sync replicas, with the place of each.

        Raises ServiceUnavailable when one is not, ConfigError when the topic refuses its size; nothing may be committed
        past them then.
        """
        failures: list[KafkaError] = []
        places: dict[Refusal, Coordinates] = {}

        def delivered(refusal: Refusal, error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)
            else:
                places[refusal] = place_of(message)

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
                        headers=[*letter.headers, *self.context(letter)],
                        on_delivery=partial(delivered, letter.refusal),
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
        return places

    def context(self, letter: DeadLetter) -> Iterable[tuple[str, bytes]]:
        """The headers that tell whose dead letter it is, of which record, and why."""
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
        own = {RECORD_TIME: str(letter.timestamp), SEAL: self._seal(letter.refusal, letter.key, letter.value)}
        own |= {TABLE: letter.table} if letter.table else {}
        prefix = PREFIX if self.context_headers else OWN_PREFIX
        context = {prefix + name: value for name, value in values.items()} | own
        return [(name, value.encode()) for name, value in context.items()]

    def _seal(self, refusal: Refusal, key: bytes | None, value: bytes | None) -> str:
        told = msgspec.msgpack.encode([self.connector, *refusal, key, value])
        return hmac.digest(self.secret, told, "sha256").hex()

    def origin(self, letter: DeadLetter) -> tuple[str, str]:
        """The stage of the failure, in Connect's words, and the class that failed."""
        return letter.origin or ("TASK_PUT", self.connector_class)

    def written(self, sources: Iterable[str]) -> dict[Refusal, list[Coordinates]]:
        """Places of all dead letters that are said to be of this connector, by record and table.

        Raises ServiceUnavailable, or ConfigError when the connector may not read the topics.
        """
        found: dict[Refusal, list[Coordinates]] = {}
        with self._searching():
            topics = self._topics(sources)
            starts = kafka_offsets.begin_offsets(self.bootstrap, topics)
            for message in self._messages(starts, kafka_offsets.end_offsets(self.bootstrap, topics)):
                headers = dict(headers_of(message))
                refusal = next(filter(None, (self._refusal(headers, prefix) for prefix in (PREFIX, OWN_PREFIX))), None)
                if refusal is not None:
                    found.setdefault(refusal, []).append(place_of(message))
        return found

    def written_for(
        self, sources: Iterable[str], begin: Offsets, marks: Marks, since_ms: int | None
    ) -> tuple[dict[Refusal, list[Coordinates]], Marks]:
        """Places of the dead letters that this connector has sealed, of records from `begin` on, and where all end.

        A worker that was killed after it wrote dead letters, and before it committed, reads their records again. They
        are at the marks or above; in topics that have no marks they were written since a time, None for not at all.
        Raises as `written` does.
        """
        found: dict[Refusal, list[Coordinates]] = {}
        with self._searching():
            topics = self._topics(sources)
            ends = kafka_offsets.end_offsets(self.bootstrap, topics)
            first = kafka_offsets.begin_offsets(self.bootstrap, topics)
            marked = {topic for topic, _ in marks}
            starts = {key: max(marks.get(key, 0), offset) for key, offset in first.items() if key[0] in marked}
            if since_ms is not None:
                after = max(since_ms - _CLOCK_MARGIN_MS, 0)
                starts |= kafka_offsets.offsets_since(self.bootstrap, topics - marked, after)
            for message in self._messages(starts, ends):
                refusal = self._sealed(message)
                if refusal is not None and refusal[2] >= begin.get(refusal[:2], 0):
                    found.setdefault(refusal, []).append(place_of(message))
        return found, dict(ends)

    @contextmanager
    def _searching(self) -> Iterator[None]:
        try:
            yield
        except ServiceUnavailable as error:
            raise ServiceUnavailable(f"the dead letters of {self.connector} cannot be read: {error}") from error

    def _topics(self, sources: Iterable[str]) -> set[str]:
        return {self.topic_for(source) for source in sources}.intersection(kafka_topics.topics(self.bootstrap))

    def _messages(self, starts: Offsets, ends: Offsets) -> Iterator[Message]:
        return chain.from_iterable(read_ranges(self.bootstrap, starts, ends))

    def _refusal(self, headers: Mapping[str, Any], prefix: str) -> Refusal | None:
        def text(name: str, prefix: str = prefix) -> str:
            return (headers.get(prefix + name) or b"").decode(errors="replace")

        if text("connector.name") != self.connector or not all(text(n).isdecimal() for n in ("partition", "offset")):
            return None
        return text("topic"), int(text("partition")), int(text("offset")), text(TABLE, prefix="")

    def _sealed(self, message: Message) -> Refusal | None:
        headers: Mapping[str, Any] = dict(headers_of(message))
        seal = headers.get(SEAL) or b""
        for prefix in (PREFIX, OWN_PREFIX) if seal else ():
            refusal = self._refusal(headers, prefix)
            if refusal is None:
                continue
            made = self._seal(refusal, bytes_of(message.key()), bytes_of(message.value()))
            if hmac.compare_digest(made.encode(), seal):
                return refusal
        return None


def bytes_of(value: object) -> bytes | None:
    """Bytes of a key, a value or a header of Kafka's client; None for null."""
    return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else None


def _unacknowledged(count: int, total: int, reason: str) -> ServiceUnavailable:
    return ServiceUnavailable(
        f"{count} of {total} dead letters were not acknowledged ({reason}); nothing was committed, the batch will be "
        "read again"
    )
