"""Task of an object sink on Spark: records of whole Kafka partitions in, durable objects out.

Objects that are still open at the end of the records are given up: their records are read again. So a task needs no
memory of the tasks before it, and what it stores is a function of the topic, the position and the clock's notes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from frazil.clients.kafka.ranges import Range
from frazil.connectors.objects.clock import Clock
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.formats.delta import TableColumns
from frazil.connectors.objects.open_object import Finished
from frazil.connectors.objects.partition import PartitionRun, Taker
from frazil.connectors.objects.records import Schema
from frazil.connectors.objects.results import ObjectsResult
from frazil.connectors.objects.uploads import Store, Uploads
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.poison import PoisonPills
from frazil.pipeline.rows import Rows
from frazil.pipeline.source import Source
from frazil.pipeline.tolerating import tolerating

MAX_MEMORY = 128 << 20
"""Bytes of open objects that a task holds in memory."""


@dataclass(frozen=True)
class ObjectsSpec:
    """Specification of one run for its tasks.

    They read from `begin` to below `end`. `clocks` are those of partitions whose objects depend on a clock. `refused`
    are offsets that no file can take, with the reason, and `letters` those whose dead letters are written already.
    `columns` are those of the table that the objects are files of, `schema` is that of rows which were computed.
    Objects of the partitions in `closing` that are open at the end are stored as they are.
    """

    config: ObjectSinkConfig
    store: Store
    begin: Offsets
    end: Offsets
    clocks: Mapping[TopicPartition, Clock] = field(default_factory=dict)
    refused: Mapping[TopicPartition, Mapping[int, str]] = field(default_factory=dict)
    letters: Mapping[TopicPartition, frozenset[int]] = field(default_factory=dict)
    columns: TableColumns | None = None
    schema: Schema | None = None
    closing: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True)
class ObjectsTask:
    """Task of a run: ranges of whole Kafka partitions in, one ObjectsResult out."""

    spec: ObjectsSpec
    source: Source
    ranges: Sequence[Range]

    def __call__(self) -> ObjectsResult:
        read = partial(self.source.read, self.ranges)
        return tolerating(read, partial(_run, self.spec), partial(_rehearse, self.spec))


def run(chunks: Iterable[Rows], spec: ObjectsSpec) -> ObjectsResult:
    """Process all rows of a task; those of a Kafka partition are all there, and follow each other.

    Raises ServiceUnavailable or ConfigError when the store does not take an object; others may be stored then.
    """
    kept = list(chunks)
    return tolerating(lambda: (rows for rows in kept), partial(_run, spec), partial(_rehearse, spec))


def _rehearse(spec: ObjectsSpec, rows: Rows, pills: PoisonPills) -> None:
    """Do what a task does with a chunk, but for storing objects; raises Unforeseen."""
    rehearsed = _start((rows.topic, rows.partition), spec, _Nowhere(), pills)
    try:
        rehearsed.take(rows)
        rehearsed.rehearse()
    finally:
        rehearsed.close()


class _Nowhere:
    """Takes objects, and stores none."""

    def add(self, finished: Finished) -> None:
        finished.body.close()


def _run(spec: ObjectsSpec, chunks: Iterable[Rows], pills: PoisonPills) -> ObjectsResult:
    """Process all rows of a task. Raises Unforeseen, and as `run` does."""
    uploads = Uploads(spec.store, tag_offsets=spec.config.store.tag_offsets)
    result = ObjectsResult()
    current: PartitionRun | None = None
    try:
        for rows in chunks:
            key = rows.topic, rows.partition
            if current is None or current.key != key:
                if current is not None:
                    result.partitions[current.key] = current.finish()
                current = _start(key, spec, uploads, pills)
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


def _start(key: TopicPartition, spec: ObjectsSpec, taker: Taker, pills: PoisonPills) -> PartitionRun:
    return PartitionRun(
        key,
        spec.config,
        taker,
        pills,
        spec.begin.get(key, 0),
        spec.end[key],
        spec.clocks.get(key),
        spec.refused.get(key, {}),
        spec.letters.get(key, frozenset()),
        spec.columns,
        spec.schema,
        closes=key in spec.closing,
    )
