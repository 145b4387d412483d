"""Reads dead-letter topics, and writes the markers that close dead letters.

A dead letter is open until a later record of its partition, a marker, names its offset.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from frazil.clients.kafka import admin as kafka
from frazil.clients.kafka.producer import PolledProducer
from frazil.clients.kafka.security import secured
from frazil.errors import NotFound, ServiceUnavailable, TerminalError
from frazil.pipeline.letters.letter import CLOSED, CLOSED_AT, STATE, Letter, State, closed_letters, read_letter
from frazil.pipeline.letters.ranges import Ranges

Advance = Callable[[int, int], None]
"""Told how many records of how many were read."""

_MOST, _FEW = 2000, 16
_CHUNK_BYTES = 8 << 20
"""Records that are taken at a time: a few at first, then as many as have about so many bytes."""
_STALLED_S = 60.0
_RANGES_PER_MARKER = 500


@dataclass
class Queue:
    """A dead-letter topic as it was when it was looked at; `closed` grows with what is closed since.

    `begin`, `end` and `closed` are by partition; `end` is the offset of the next record.
    """

    topic: str
    topic_id: str
    begin: Mapping[int, int]
    end: Mapping[int, int]
    closed: dict[int, Ranges] = field(default_factory=dict)

    def is_open(self, partition: int, offset: int) -> bool:
        """Whether no marker names the dead letter."""
        return offset not in self.closed.get(partition, Ranges())


class LetterLog:
    """The dead-letter topics of one cluster."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def look(self, topics: Sequence[str], advance: Advance) -> list[Queue]:
        """The topics with their closed dead letters; reads all of them once.

        Raises NotFound for a topic that does not exist, or ServiceUnavailable.
        """
        if not topics:
            return []
        ids = kafka.topic_ids(self._bootstrap, topics)
        begins, ends = kafka.begin_offsets(self._bootstrap, topics), kafka.end_offsets(self._bootstrap, topics)
        queues = [
            Queue(
                topic,
                ids[topic],
                {partition: offset for (name, partition), offset in begins.items() if name == topic},
                {partition: offset for (name, partition), offset in ends.items() if name == topic},
            )
            for topic in topics
        ]
        closed = closed_letters(self._messages(queues, None, advance))
        for queue in queues:
            queue.closed = {p: ranges for (name, p), ranges in closed.items() if name == queue.topic}
        return queues

    def letters(self, queues: Sequence[Queue], since_ms: int | None, advance: Advance) -> Iterator[Letter]:
        """The open dead letters, those of one partition in the order of their offsets.

        `since_ms` (epoch milliseconds) leaves out what lies before the first that is as new. Raises
        ServiceUnavailable.
        """
        by_topic = {queue.topic: queue for queue in queues}
        for message in self._messages(queues, since_ms, advance):
            letter = read_letter(message)
            if letter is not None and by_topic[letter.topic].is_open(letter.partition, letter.offset):
                yield letter

    def letter(self, topic: str, partition: int, offset: int) -> Letter:
        """One dead letter, open or closed. Raises NotFound or ServiceUnavailable."""
        low = kafka.begin_offsets(self._bootstrap, [topic]).get((topic, partition), 0)
        high = kafka.end_offsets(self._bootstrap, [topic]).get((topic, partition), 0)
        if not low <= offset < high:
            has = f"offsets {low} to {high - 1}" if high > low else "no record"
            raise NotFound(f"{topic}, partition {partition} has {has}: there is no dead letter {offset}")
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(topic, partition, offset)])
            message = consumer.poll(kafka.TIMEOUT_S)
        if message is None:
            raise ServiceUnavailable(f"{topic}, partition {partition} does not answer for offset {offset}; try again")
        if message.error() is not None:
            raise KafkaException(message.error())
        letter = read_letter(message) if message.offset() == offset else None
        if letter is None:
            raise NotFound(f"offset {offset} of {topic}, partition {partition} is no dead letter but a marker")
        return letter

    def close(self, queues: Sequence[Queue], letters: Mapping[tuple[str, int], Ranges], state: State) -> None:
        """Write the markers of dead letters, given by topic and partition; returns when all are durable.

        Raises ServiceUnavailable or TerminalError when one may not be; the same call may be repeated.
        """
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failures.append(error)

        client = {
            **secured(self._bootstrap, "producer"),
            "acks": "all",
            "enable.idempotence": True,
            "log_level": 0,
            "on_delivery": delivered,
        }
        with PolledProducer(client) as producer:
            for (topic, partition), offsets in letters.items():
                pairs = offsets.pairs()
                for start in range(0, len(pairs), _RANGES_PER_MARKER):
                    part = Ranges(pairs[start : start + _RANGES_PER_MARKER])
                    told = {STATE: state, CLOSED: str(part), CLOSED_AT: datetime.now(UTC).isoformat(timespec="seconds")}
                    headers = [(name, text.encode()) for name, text in told.items()]
                    producer.produce(topic, partition=partition, headers=headers)
            if producer.wait(_STALLED_S) or failures:
                raise _unmarked(failures[0] if failures else None, state, self._bootstrap)
        for queue in queues:
            for (topic, partition), offsets in letters.items():
                if topic == queue.topic:
                    queue.closed[partition] = queue.closed.get(partition, Ranges()) | offsets

    def _messages(self, queues: Sequence[Queue], since_ms: int | None, advance: Advance) -> Iterator[Message]:
        """Every message from the begin, or a time on, to the end that the queues had when they were looked at."""
        with self._consumer() as consumer:
            ends = {(queue.topic, partition): end for queue in queues for partition, end in queue.end.items()}
            starts = {(queue.topic, partition): begin for queue in queues for partition, begin in queue.begin.items()}
            if since_ms is not None:
                starts = self._from_time(consumer, starts, since_ms)
            waiting = {key for key, start in starts.items() if 0 <= start < ends[key]}
            total = sum(ends[key] - starts[key] for key in waiting)
            consumer.assign([TopicPartition(*key, starts[key]) for key in waiting])
            heard = time.monotonic()
            count = _FEW
            while waiting:
                messages = consumer.consume(count, timeout=0.1)
                size = sum(len(message) for message in messages)
                count = max(1, min(_MOST, len(messages) * _CHUNK_BYTES // max(size, 1))) if messages else count
                for message in messages:
                    if message.error() is not None:
                        raise KafkaException(message.error())
                    if (message.offset() or 0) < ends[message.topic() or "", message.partition() or 0]:
                        yield message
                    heard = time.monotonic()
                positions = consumer.position([TopicPartition(*key) for key in waiting])
                reached = {(p.topic, p.partition): max(p.offset, starts[p.topic, p.partition]) for p in positions}
                waiting -= {key for key, offset in reached.items() if offset >= ends[key]}
                left = sum(ends[key] - reached[key] for key in waiting)
                advance(total - left, total)
                if time.monotonic() - heard > _STALLED_S:
                    names = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(waiting))
                    raise ServiceUnavailable(
                        f"Kafka at {self._bootstrap} has sent nothing of {names} for {_STALLED_S:.0f} s. What was done "
                        "so far is done; try again for the rest."
                    )

    def _from_time(
        self, consumer: Consumer, starts: Mapping[tuple[str, int], int], since_ms: int
    ) -> dict[tuple[str, int], int]:
        wanted = [TopicPartition(*key, max(since_ms, 0)) for key in starts]
        found = consumer.offsets_for_times(wanted, timeout=kafka.TIMEOUT_S) if wanted else []
        for partition in found:
            if partition.error is not None:
                raise KafkaException(partition.error)
        return {(p.topic, p.partition): p.offset for p in found}

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        consumer = Consumer(
            {
                **secured(self._bootstrap, "consumer"),
                "group.id": "frazil-deadletters",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.message.max.bytes": 4 << 20,
                "queued.max.messages.kbytes": 32 << 10,
                "log_level": 0,
            }
        )
        try:
            yield consumer
        except KafkaException as error:
            raise ServiceUnavailable(
                f"the dead letters at {self._bootstrap} cannot be read: {error.args[0].str()}. No dead letter was "
                "changed. Start Kafka (`start kafka`) or correct KAFKA_BOOTSTRAP_SERVERS, then try again."
            ) from error
        finally:
            consumer.close()


def _unmarked(failure: KafkaError | None, state: State, bootstrap: str) -> ServiceUnavailable | TerminalError:
    kind = TerminalError if failure is not None and not failure.retriable() else ServiceUnavailable
    rows = "The rows are in the tables, and are found there: nothing is stored twice. " if state == "replayed" else ""
    return kind(
        f"dead letters could not be marked as {state} at {bootstrap} ({failure.str() if failure else 'timeout'}); some "
        f"of them stay open. {rows}Repeat the command."
    )
