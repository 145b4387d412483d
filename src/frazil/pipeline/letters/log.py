"""Reads dead-letter topics, and writes the markers that close dead letters.

A dead letter is open until a later record of its partition, a marker, names its offset. A marker also tells a floor:
below it all are closed, so that a look need not read from the beginning of the topic.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

from confluent_kafka import KafkaError, Message

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.peek import shares
from frazil.clients.kafka.producer import PolledProducer
from frazil.clients.kafka.ranges import place_of, read_ranges
from frazil.clients.kafka.security import secured
from frazil.errors import NotFound, ServiceUnavailable, TerminalError
from frazil.pipeline.letters.letter import CLOSED, CLOSED_AT, FLOOR, STATE, Letter, State, closing, read_letter
from frazil.pipeline.letters.ranges import Ranges
from frazil.pipeline.offsets import Offsets, TopicPartition

Advance = Callable[[int, int], None]
"""Callback with how many records of how many were read."""

_STALLED_S = 60.0
_RANGES_PER_MARKER = 500
_FIRST_LOOK, _LOOKS_FURTHER = 1000, 10
"""Messages of each partition that are looked at for a floor first, and how many times as far the next look goes."""


@dataclass
class Queue:
    """A dead-letter topic as it was when it was looked at; `closed` grows with what is closed since.

    `begin`, `end`, `closed` and `floor` are by partition; `end` is the offset of the next record, and below `floor` no
    dead letter is open. `older` messages lie before what was looked at.
    """

    topic: str
    topic_id: str
    begin: dict[int, int]
    end: Mapping[int, int]
    closed: dict[int, Ranges] = field(default_factory=dict)
    older: int = 0
    floor: dict[int, int] = field(default_factory=dict)
    seen: dict[int, Ranges] = field(default_factory=dict)
    """Offsets of the dead letters from `begin` on."""

    def is_open(self, partition: int, offset: int) -> bool:
        """Whether the dead letter is open: no marker names it."""
        return offset >= self.floor.get(partition, 0) and offset not in self.closed.get(partition, Ranges())

    def first_open(self, partition: int) -> int:
        """Offset of the first open dead letter of a partition, else of the next record; only after a whole look."""
        closed, floor = self.closed.get(partition, Ranges()), self.floor.get(partition, 0)
        for first, last in self.seen.get(partition, Ranges()).pairs():
            at = closed.first_beyond(max(first, floor))
            if at <= last:
                return at
        return self.end[partition]


class LetterLog:
    """The dead-letter topics of one cluster."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def look(
        self, topics: Sequence[str], advance: Advance = lambda done, total: None, newest: int | None = None
    ) -> list[Queue]:
        """The topics with their closed dead letters; reads all of them once, or so many of the newest messages.

        Raises NotFound for a topic that does not exist, or ServiceUnavailable.
        """
        if not topics:
            return []
        ids = kafka_topics.topic_ids(self._bootstrap, topics)
        starts = begins = kafka_offsets.begin_offsets(self._bootstrap, topics)
        ends = kafka_offsets.end_offsets(self._bootstrap, topics)
        if newest is not None:
            share = shares({key: end - begins[key] for key, end in ends.items()}, newest)
            starts = {key: end - share.get(key, 0) for key, end in ends.items()}
        queues = [
            Queue(
                topic,
                ids[topic],
                {partition: offset for (name, partition), offset in starts.items() if name == topic},
                {partition: offset for (name, partition), offset in ends.items() if name == topic},
            )
            for topic in topics
        ]
        self._look_back(queues, advance)
        for queue in queues:
            left_out = {p: start - begins[queue.topic, p] for p, start in queue.begin.items() if p not in queue.floor}
            queue.older = sum(left_out.values())
        return queues

    def _look_back(self, queues: Sequence[Queue], advance: Advance) -> None:
        """Read what closes dead letters, the newest messages first, down to the beginning or a floor."""
        by_topic = {queue.topic: queue for queue in queues}
        tops = {(queue.topic, partition): end for queue in queues for partition, end in queue.end.items()}
        seen: dict[TopicPartition, array[int]] = {key: array("q") for key in tops}
        closed: dict[TopicPartition, list[tuple[int, int]]] = {key: [] for key in tops}
        far, done = _FIRST_LOOK, 0
        while tops := {key: top for key, top in tops.items() if top > by_topic[key[0]].begin[key[1]]}:
            begins = {key: by_topic[key[0]].begin[key[1]] for key in tops}
            starts = {key: max(begins[key], top - far) for key, top in tops.items()}
            total = done + sum(top - begins[key] for key, top in tops.items())
            for messages in self._read(starts, tops):
                for message in messages:
                    topic, partition, offset = place_of(message)
                    key = topic, partition
                    found = closing(message)
                    if found is None:
                        seen[key].append(offset)
                        continue
                    closed[key] += found.closed.pairs()
                    queue = by_topic[topic]
                    if found.floor > queue.begin[partition]:
                        queue.begin[partition] = queue.floor[partition] = found.floor
                done += len(messages)
                advance(min(done, total), total)
            tops, far = starts, far * _LOOKS_FURTHER
        for (topic, partition), pairs in closed.items():
            by_topic[topic].closed[partition] = Ranges(pairs)
        for (topic, partition), offsets in seen.items():
            by_topic[topic].seen[partition] = Ranges.of(offsets)

    def letters(
        self, queues: Sequence[Queue], since_ms: int | None = None, advance: Advance = lambda done, total: None
    ) -> Iterator[Letter]:
        """The open dead letters, those of one partition in the order of their offsets.

        `since_ms` (epoch milliseconds) leaves out what lies before the first that is as new. Raises
        ServiceUnavailable.
        """
        by_topic = {queue.topic: queue for queue in queues}
        for message in self._messages(queues, since_ms, advance):
            letter = read_letter(message)
            if letter is not None and by_topic[letter.topic].is_open(letter.partition, letter.offset):
                yield letter

    def chosen(self, queues: Sequence[Queue], wanted: Mapping[TopicPartition, Ranges]) -> Iterator[Letter]:
        """The open dead letters among those that are wanted; reads what lies between the first and the last of them.

        Raises ServiceUnavailable.
        """
        by_topic = {queue.topic: queue for queue in queues}
        ends = {(queue.topic, partition): end for queue in queues for partition, end in queue.end.items()}
        spans = {key: ranges.pairs() for key, ranges in wanted.items() if ranges and key in ends}
        begin = {key: pairs[0][0] for key, pairs in spans.items()}
        end = {key: min(pairs[-1][1] + 1, ends[key]) for key, pairs in spans.items()}
        for message in chain.from_iterable(read_ranges(self._bootstrap, begin, end)):
            letter = read_letter(message)
            if letter is None or letter.offset not in wanted[letter.topic, letter.partition]:
                continue
            if by_topic[letter.topic].is_open(letter.partition, letter.offset):
                yield letter

    def letter(self, topic: str, partition: int, offset: int) -> Letter:
        """Read one dead letter, open or closed. Raises NotFound or ServiceUnavailable."""
        low = kafka_offsets.begin_offsets(self._bootstrap, [topic]).get((topic, partition), 0)
        high = kafka_offsets.end_offsets(self._bootstrap, [topic]).get((topic, partition), 0)
        if not low <= offset < high:
            has = f"offsets {low} to {high - 1}" if high > low else "no record"
            raise NotFound(f"{topic}, partition {partition} has {has}: there is no dead letter {offset}")
        key = topic, partition
        found = [message for part in read_ranges(self._bootstrap, {key: offset}, {key: offset + 1}) for message in part]
        letter = read_letter(found[0]) if found else None
        if letter is None:
            raise NotFound(f"offset {offset} of {topic}, partition {partition} is no dead letter but a marker")
        return letter

    def close(self, queues: Sequence[Queue], letters: Mapping[tuple[str, int], Ranges], state: State) -> None:
        """Write the markers of dead letters, given by topic and partition; returns when all are durable.

        Raises ServiceUnavailable or TerminalError when one may not be; the same call may be repeated.
        """
        told = []
        for (topic, partition), offsets in letters.items():
            pairs = offsets.pairs()
            for start in range(0, len(pairs), _RANGES_PER_MARKER):
                part = Ranges(pairs[start : start + _RANGES_PER_MARKER])
                told.append(((topic, partition), {CLOSED: str(part)}))
        self._mark(told, state)
        for queue in queues:
            for (topic, partition), offsets in letters.items():
                if topic == queue.topic:
                    queue.closed[partition] = queue.closed.get(partition, Ranges()) | offsets
        # After the others: below a floor nobody looks for them.
        floors = []
        for queue in queues:
            for partition, begin in queue.begin.items():
                floor = queue.first_open(partition)
                if not queue.older and floor - max(begin, queue.floor.get(partition, 0)) > _FIRST_LOOK:
                    floors.append(((queue.topic, partition), {FLOOR: str(floor)}))
                    queue.floor[partition] = floor
        self._mark(floors, state)

    def _mark(self, markers: Sequence[tuple[TopicPartition, Mapping[str, str]]], state: State) -> None:
        """Write markers; raises as `close` does."""
        if not markers:
            return
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
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with PolledProducer(client) as producer:
            for (topic, partition), told in markers:
                headers = [(name, text.encode()) for name, text in {STATE: state, **told, CLOSED_AT: now}.items()]
                producer.produce(topic, partition=partition, headers=headers)
            if producer.wait(_STALLED_S) or failures:
                raise _unmarked(failures[0] if failures else None, state, self._bootstrap)

    def _messages(self, queues: Sequence[Queue], since_ms: int | None, advance: Advance) -> Iterator[Message]:
        """Yield messages from the begin, or a time on, to the end that the queues had when they were looked at."""
        ends = {(queue.topic, partition): end for queue in queues for partition, end in queue.end.items()}
        starts = {(queue.topic, partition): begin for queue in queues for partition, begin in queue.begin.items()}
        if since_ms is not None:
            since = kafka_offsets.offsets_since(self._bootstrap, [queue.topic for queue in queues], since_ms)
            starts = {key: max(begin, since[key]) for key, begin in starts.items() if key in since}
        sizes = {key: ends[key] - start for key, start in starts.items() if start < ends.get(key, 0)}
        total, read = sum(sizes.values()), dict.fromkeys(sizes, 0)
        for messages in self._read({key: starts[key] for key in sizes}, ends):
            yield from messages
            topic, partition, offset = place_of(messages[-1])
            read[topic, partition] = offset + 1 - starts[topic, partition]
            advance(sum(read.values()), total)

    def _read(self, starts: Offsets, ends: Offsets) -> Iterator[list[Message]]:
        try:
            yield from read_ranges(self._bootstrap, starts, ends)
        except ServiceUnavailable as error:
            raise ServiceUnavailable(f"{error}. What was done so far is done; try again for the rest.") from error


def _unmarked(failure: KafkaError | None, state: State, bootstrap: str) -> ServiceUnavailable | TerminalError:
    kind = TerminalError if failure is not None and not failure.retriable() else ServiceUnavailable
    rows = "The rows are in the tables, and are found there: nothing is stored twice. " if state == "replayed" else ""
    return kind(
        f"dead letters could not be marked as {state} at {bootstrap} ({failure.str() if failure else 'timeout'}); some "
        f"of them stay open. {rows}Repeat the command."
    )
