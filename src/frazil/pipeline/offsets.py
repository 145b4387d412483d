"""Positions in topics: the floor below which a table has everything, and what a task has read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import ConfigError

TopicPartition = tuple[str, int]
Offsets = dict[TopicPartition, int]
"""The next offset to read, by topic and partition."""


def to_json(offsets: Mapping[TopicPartition, int]) -> str:
    """`{"topic":{"0":42}}`, the shape that Spark's Kafka source uses too; sorted, so equal offsets are equal text."""
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(nested, separators=(",", ":"))


def from_json(text: str) -> Offsets:
    """Raises ConfigError for anything but the shape of `to_json`."""
    try:
        return {(t, int(p)): int(o) for t, partitions in json.loads(text).items() for p, o in partitions.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"stored offsets cannot be read: {text[:200]!r}") from error


def merge(*several: Mapping[TopicPartition, int]) -> Offsets:
    """The highest position of each partition; partitions that only one side knows are carried (K11)."""
    result: Offsets = {}
    for offsets in several:
        for key, offset in offsets.items():
            result[key] = max(offset, result.get(key, offset))
    return result


def within(
    topics: pa.Array, partitions: pa.Array, offsets: pa.Array, floor: Offsets, ceiling: Offsets
) -> pa.BooleanArray | None:
    """Which rows lie at or above the floor and below the ceiling; None when all do.

    `topics` is a string array, `partitions` and `offsets` are integer arrays of the same length, not empty.
    """
    keys = list(_distinct(topics, partitions))
    if len(keys) == 1:
        low, high = pc.min_max(offsets).values()
        if low.as_py() >= floor.get(keys[0], 0) and high.as_py() < ceiling.get(keys[0], 1 << 63):
            return None
    mask = np.zeros(len(offsets), dtype=bool)
    for topic, partition in keys:
        here = pc.and_(pc.equal(topics, topic), pc.equal(partitions, partition))
        if (topic, partition) in floor:
            here = pc.and_(here, pc.greater_equal(offsets, floor[topic, partition]))
        if (topic, partition) in ceiling:
            here = pc.and_(here, pc.less(offsets, ceiling[topic, partition]))
        mask |= here.to_numpy(zero_copy_only=False)
    return None if mask.all() else pa.array(mask)


def next_offsets(topics: pa.Array, partitions: pa.Array, offsets: pa.Array) -> Offsets:
    """One past the highest offset of each partition in the rows."""
    keys = list(_distinct(topics, partitions))
    if len(keys) == 1:
        return {keys[0]: pc.max(offsets).as_py() + 1}
    grouped = pa.table({"t": topics, "p": partitions, "o": offsets}).group_by(["t", "p"]).aggregate([("o", "max")])
    return {(row["t"], row["p"]): row["o_max"] + 1 for row in grouped.to_pylist()}


def _distinct(topics: pa.Array, partitions: pa.Array) -> Iterable[TopicPartition]:
    for topic in pc.unique(topics).to_pylist():
        here = partitions if pc.all(pc.equal(topics, topic)).as_py() else partitions.filter(pc.equal(topics, topic))
        for partition in pc.unique(here).to_pylist():
            yield topic, partition
