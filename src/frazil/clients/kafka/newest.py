"""The newest records of topics, read without a consumer group: nothing is committed."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Message

from frazil.clients.kafka.offsets import begin_offsets, end_offsets
from frazil.clients.kafka.ranges import place_of, read_ranges


def newest_records(bootstrap: str, topics: Sequence[str], count: int) -> list[Message]:
    """Read at most `count` records, from the ends of all partitions alike, by topic, partition and offset.

    Records of transactions that are open or were aborted are left out. Raises NotFound for a topic that does not exist,
    ServiceUnavailable when the broker does not answer.
    """
    begin, end = begin_offsets(bootstrap, topics), end_offsets(bootstrap, topics, committed=True)
    filled = sorted((end[key] - begin[key], key) for key in end if end[key] > begin[key])
    starts: dict[tuple[str, int], int] = {}
    left = count
    for position, (size, key) in enumerate(filled):  # what a short partition does not have, the longer ones give
        share = min(size, -(-left // (len(filled) - position)))
        if share:
            starts[key] = end[key] - share
        left -= share
    found = [record for part in read_ranges(bootstrap, starts, end, committed=True) for record in part]
    return sorted(found, key=place_of)
