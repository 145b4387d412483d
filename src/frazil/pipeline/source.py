"""Source of tasks: ranges of offsets, divided on the driver, fetched from Kafka in the tasks themselves."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import Range, RangeReader, records_gone
from frazil.errors import NotFound, ServiceUnavailable
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.rows import Rows, rows_of


@dataclass(frozen=True)
class Source:
    """A Kafka cluster as the tasks see it; picklable. `consumer` are settings of a librdkafka consumer.

    With `headers` records have theirs.
    """

    consumer: Mapping[str, Any] = field(repr=False)
    headers: bool

    def read(self, ranges: Sequence[Range]) -> Generator[Rows]:
        """The records of the ranges in order, in chunks of one partition; raises as `RangeReader.read` does."""
        for messages in _reader(self.consumer).read(ranges):
            yield rows_of(messages, headers=self.headers)


_readers: dict[tuple[tuple[str, Any], ...], RangeReader] = {}
"""Readers that a Python worker keeps for its next tasks, so that they need not find the brokers again."""
_MOST_READERS = 4
_RANGES_NAMED = 6


def _reader(consumer: Mapping[str, Any]) -> RangeReader:
    """A reader with these settings; the one that was used last is the last to be closed."""
    key = tuple(sorted(consumer.items()))
    found = _readers.pop(key, None) or RangeReader(consumer)
    _readers[key] = found
    while len(_readers) > _MOST_READERS:
        _readers.pop(next(iter(_readers))).close()
    return found


def ranges_between(begin: Offsets, end: Offsets) -> list[Range]:
    """Ranges between two positions, by topic and partition.

    Partitions whose end is not behind their begin have none.
    """
    return [Range(*key, begin.get(key, 0), end[key]) for key in sorted(end) if end[key] > begin.get(key, 0)]


def described(ranges: Sequence[Range]) -> str:
    """The ranges in one line, for people."""
    shown = ", ".join(f"{one.topic}-{one.partition} {one.begin}..{one.end}" for one in ranges[:_RANGES_NAMED])
    more = len(ranges) - _RANGES_NAMED
    return shown if more <= 0 else f"{shown} and {more} more partitions"


def check_progress(begin: Offsets, end: Offsets) -> None:
    """Raise PositionLost when a partition ends before its begin, ServiceUnavailable when it is not there any more."""
    for (topic, partition), start in begin.items():
        reached = end.get((topic, partition))
        if reached is None:
            raise ServiceUnavailable(
                f"Kafka does not have what was read until now: partition {partition} of topic {topic} is gone"
            )
        if reached < start:
            raise records_gone(
                f"topic {topic}, partition {partition}, was read up to offset {start}, and ends at {reached} now"
            )


def made_again(bootstrap: str, read: Mapping[str, str]) -> list[str]:
    """Topics, given with the ids that they had when reading began, that have other ids by now.

    Raises ServiceUnavailable for one that is gone: the next start says what has become of it.
    """
    try:
        now = kafka_topics.topic_ids(bootstrap, read)
    except NotFound as error:
        raise ServiceUnavailable(f"what was just read is not there any more, and was not stored: {error}") from None
    return [topic for topic, topic_id in read.items() if now[topic] != topic_id]


def divided(ranges: Sequence[Range], tasks: int) -> list[list[Range]]:
    """The ranges for each task, which has as many offsets as the others, one at most more or less; none is empty."""
    total = sum(map(len, ranges))
    count = max(1, min(tasks, total))
    shares: list[list[Range]] = [[] for _ in range(count)]
    done = 0
    for one in ranges:
        begin = one.begin
        while begin < one.end:
            number = done * count // total
            room = -(-(number + 1) * total // count) - done
            end = min(one.end, begin + room)
            shares[number].append(Range(one.topic, one.partition, begin, end))
            done += end - begin
            begin = end
    return [share for share in shares if share]


def dealt(ranges: Sequence[Range], tasks: int) -> list[list[Range]]:
    """The ranges for each task, none of them divided: the longest first, to the task that has least."""
    shares: list[list[Range]] = [[] for _ in range(max(1, min(tasks, len(ranges))))]
    sizes = [0] * len(shares)
    for one in sorted(ranges, key=len, reverse=True):
        least = sizes.index(min(sizes))
        shares[least].append(one)
        sizes[least] += len(one)
    return [sorted(share, key=lambda one: one.key) for share in shares if share]
