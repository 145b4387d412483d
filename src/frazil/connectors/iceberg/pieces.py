"""Division of a batch that cannot be committed as a whole: each piece is named by the offsets where it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets, TopicPartition


def divide(begin: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], parts: int) -> list[Offsets]:
    """Divide a range evenly, at least a record a part, partition after partition; return the end of each part.

    `begin` has every partition of `end`. The last part ends at `end`.
    """
    sizes = {key: max(offset - begin[key], 0) for key, offset in end.items()}
    step = max(-(-sum(sizes.values()) // parts), 1)
    ends: list[Offsets] = []
    for taken in range(step, sum(sizes.values()), step):
        here, left = {}, taken
        for key, size in sizes.items():
            here[key] = begin[key] + min(size, left)
            left -= min(size, left)
        ends.append(here)
    return [*ends, dict(end)]


def before(bad: Sequence[DeadLetter], ceiling: Offsets) -> Offsets:
    """Positions of the first bad record in each partition; other partitions keep theirs."""
    result = dict(ceiling)
    for letter in bad:
        key = (letter.topic, letter.partition)
        result[key] = min(result[key], letter.offset)
    return result
