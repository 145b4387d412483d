"""Some records of a topic, to look at: the newest, those from an offset or a time on, and those that come."""

import time
from collections.abc import Iterator, Mapping, Sequence

from confluent_kafka import Message

from frazil.clients.kafka.offsets import Offsets, begin_offsets, end_offsets
from frazil.clients.kafka.ranges import place_of, read_ranges, stored_records

_LOOK_S = 0.5


def shares(sizes: Mapping[tuple[str, int], int], count: int) -> Offsets:
    """Divide `count` records among partitions of these sizes; what a short one does not have, the longer ones give."""
    found: Offsets = {}
    left = count
    filled = sorted((size, key) for key, size in sizes.items() if size > 0)
    for position, (size, key) in enumerate(filled):
        share = min(size, -(-left // (len(filled) - position)))
        if share:
            found[key] = share
        left -= share
    return found


def newest_starts(bootstrap: str, topics: Sequence[str], count: int, only: int | None = None) -> Offsets:
    """Offsets from which on all partitions, or `only` one, have `count` records together.

    Raises NotFound or ServiceUnavailable.
    """
    begin, found = begin_offsets(bootstrap, topics), end_offsets(bootstrap, topics, committed=True)
    end = {key: last for key, last in found.items() if only in (None, key[1])}
    share = shares({key: last - begin[key] for key, last in end.items()}, count)
    return {key: last - share.get(key, 0) for key, last in end.items()}


def newest_records(bootstrap: str, topics: Sequence[str], count: int) -> list[Message]:
    """Read at most `count` records, from the ends of all partitions alike, by topic, partition and offset.

    Records of transactions that are open or were aborted are left out. Raises NotFound for a topic that does not exist,
    ServiceUnavailable when the broker does not answer.
    """
    return sorted(stored_records(bootstrap, newest_starts(bootstrap, topics, count)), key=place_of)


def first_records(bootstrap: str, topic: str, starts: Offsets, count: int) -> list[Message]:
    """At most `count` records from `starts` on, of all partitions alike, by time.

    Records of transactions that are open or were aborted are left out. Raises NotFound or ServiceUnavailable.
    """
    end = end_offsets(bootstrap, [topic], committed=True)
    share = shares({key: end[key] - start for key, start in starts.items()}, count)
    stops = {key: starts[key] + records for key, records in share.items()}
    parts = read_ranges(bootstrap, {key: starts[key] for key in stops}, stops, committed=True)
    return in_time([record for part in parts for record in part])


def coming_records(bootstrap: str, topic: str, starts: Offsets) -> Iterator[list[Message]]:
    """The records of these partitions from `starts` on, as they come, without an end; raises as `first_records`."""
    position = dict(starts)
    while True:
        end = end_offsets(bootstrap, [topic], committed=True)
        begun = {key: start for key, start in position.items() if end[key] > start}
        if begun:
            parts = read_ranges(bootstrap, begun, end, committed=True)
            yield in_time([record for part in parts for record in part])
            position |= {key: end[key] for key in begun}
        time.sleep(_LOOK_S)


def in_time(records: list[Message]) -> list[Message]:
    """Sort records by their times; what has the same, by partition and offset."""
    return sorted(records, key=lambda record: (record.timestamp()[1], *place_of(record)))
