"""Positions in topics: the floor below which a table has everything, and what a task has read."""

import json
from collections.abc import Mapping

from frazil.errors import ConfigError

TopicPartition = tuple[str, int]
Offsets = dict[TopicPartition, int]
"""The next offset to read, by topic and partition."""


def to_json(offsets: Mapping[TopicPartition, int]) -> str:
    """Write offsets as `{"topic":{"0":42}}`, as Spark's Kafka source does; sorted, so equal offsets are equal text."""
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(nested, separators=(",", ":"))


def from_json(text: str) -> Offsets:
    """Read what `to_json` wrote. Raises ConfigError for anything else."""
    try:
        return {(t, int(p)): int(o) for t, partitions in json.loads(text).items() for p, o in partitions.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"stored offsets cannot be read: {text[:200]!r}") from error


def merge(*several: Mapping[TopicPartition, int]) -> Offsets:
    """Take the highest position of each partition, also of those that only one side knows."""
    result: Offsets = {}
    for offsets in several:
        for key, offset in offsets.items():
            result[key] = max(offset, result.get(key, offset))
    return result
