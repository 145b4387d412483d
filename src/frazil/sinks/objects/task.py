"""What a Spark task does for an object sink: records of whole Kafka partitions in, durable objects out.

Objects that are still open at the end of the records are given up: their records are read again. So a task needs no
memory of the tasks before it, and what it stores is a function of the topic, the position and the clock's notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from frazil.config.object_sink import ObjectSinkConfig
from frazil.errors import TerminalError
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.task import RESULT_SCHEMA
from frazil.sinks.objects.clock import Clock
from frazil.sinks.objects.formats.delta import TableColumns
from frazil.sinks.objects.partition import PartitionRun
from frazil.sinks.objects.results import ObjectsResult, dump
from frazil.sinks.objects.uploads import Opener, Uploads

MAX_MEMORY = 128 << 20
"""Bytes of open objects that a task holds in memory."""


@dataclass(frozen=True)
class ObjectsSpec:
    """What the tasks of one run need.

    They read from `begin` to below `end`. `clocks` are those of partitions whose objects depend on a clock. `refused`
    are offsets that no file can take, with the reason, and `letters` those whose dead letters are written already.
    `columns` are those of the table that the objects are files of.
    """

    config: ObjectSinkConfig
    store: Opener
    begin: Offsets
    end: Offsets
    clocks: Mapping[TopicPartition, Clock] = field(default_factory=dict)
    refused: Mapping[TopicPartition, Mapping[int, str]] = field(default_factory=dict)
    letters: Mapping[TopicPartition, frozenset[int]] = field(default_factory=dict)
    columns: TableColumns | None = None


@dataclass(frozen=True)
class ObjectsTask:
    """The function for `mapInArrow`: batches of Kafka rows in, one pickled ObjectsResult out."""

    spec: ObjectsSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        result = run(batches, self.spec)
        yield pa.RecordBatch.from_arrays([pa.array([dump(result)], pa.binary())], schema=RESULT_SCHEMA)


def run(batches: Iterable[pa.RecordBatch], spec: ObjectsSpec) -> ObjectsResult:
    """Process all rows of a task; those of a Kafka partition are all there, and follow each other.

    Raises ServiceUnavailable or ConfigError when the store does not take an object; others may be stored then.
    """
    uploads = Uploads(spec.store.open(), tag_offsets=spec.config.store.tag_offsets)
    result = ObjectsResult()
    current: PartitionRun | None = None
    try:
        for batch in batches:
            for key, rows in by_partition(batch):
                if current is None or current.key != key:
                    if current is not None:
                        result.partitions[current.key] = current.finish()
                    if key in result.partitions:
                        raise TerminalError(
                            f"the records of {key[0]}-{key[1]} came in several parts; nothing of this batch was "
                            "acknowledged. Remove minPartitions from the options of the Kafka source"
                        )
                    current = _start(key, spec, uploads)
                current.take(rows)
                while current.memory_bytes > MAX_MEMORY:
                    current.largest_to_disk()
        if current is not None:
            result.partitions[current.key] = current.finish()
        uploads.wait()
        result.write_s = uploads.waited_s
        result.validation_s = sum(part.validation_s for part in result.partitions.values())
        result.object_s = uploads.seconds
    finally:
        uploads.close()
        if current is not None:
            current.close()
    return result


def _start(key: TopicPartition, spec: ObjectsSpec, uploads: Uploads) -> PartitionRun:
    return PartitionRun(
        key,
        spec.config,
        uploads,
        spec.begin.get(key, 0),
        spec.end[key],
        spec.clocks.get(key),
        spec.refused.get(key, {}),
        spec.letters.get(key, frozenset()),
        spec.columns,
    )


def by_partition(batch: pa.RecordBatch) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """The rows of each Kafka partition, in the order in which they stand there."""
    if not batch.num_rows:
        return
    partitions = batch.column("partition").to_numpy(zero_copy_only=False)
    topics = batch.column("topic").dictionary_encode()
    codes = topics.indices.to_numpy(zero_copy_only=False)
    changed = np.flatnonzero((partitions[1:] != partitions[:-1]) | (codes[1:] != codes[:-1])) + 1
    bounds = [0, *changed.tolist(), batch.num_rows]
    for begin, end in zip(bounds, bounds[1:], strict=False):
        key = topics.dictionary[codes[begin]].as_py(), int(partitions[begin])
        yield key, batch.slice(begin, end - begin)
