"""What a Spark task does with its share of a micro-batch: floor, verdict, decode, write; then one summary row."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from frazil.config.transforms import TransformChain
from frazil.pipeline import infer, offsets
from frazil.pipeline.deadletter import DeadLetter
from frazil.pipeline.decode import Decoded, DecodeSpec, decoder
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.strict import ConversionError
from frazil.pipeline.transforms.chain import transformer
from frazil.pipeline.transforms.record import StageError
from frazil.pipeline.types import Type

RESULT_SCHEMA = pa.schema([("result", pa.binary())])
RESULT_DDL = "result binary"

_LETTER_BYTES = 500
"""What a dead letter takes beside key and value."""
MAX_DEAD_BYTES = 32 << 20
"""Dead letters that one task hands to the driver, one at least; the batch is divided when there are more."""


class TableWriter(Protocol):
    """Writes the rows of one task to files."""

    def add(self, table: pa.Table) -> None:
        """Take rows."""

    def close(self) -> list[Any]:
        """Descriptors of the durable files that hold the rows."""


class Writer(Protocol):
    """Makes the writer of a task; picklable."""

    def open(self) -> TableWriter:
        """A writer for the rows of one task."""


@dataclass(frozen=True)
class TaskSpec:
    """What the tasks of one run over a batch need. `topic` is set when the rows carry no topic column."""

    decode: DecodeSpec
    floor: Offsets
    ceiling: Offsets
    topic: str | None
    transforms: TransformChain | None = None


@dataclass
class TaskResult:
    """`read == stored + len(dead) + skipped`, unless `overflow`: then the batch must be divided and read again.

    `write_s` is the time in seconds that went into storing files.
    """

    read: int = 0
    skipped: int = 0
    stored: Counter[str] = field(default_factory=Counter)
    dead: list[DeadLetter] = field(default_factory=list)
    unknown: dict[infer.Path, Type] = field(default_factory=dict)
    files: list[Any] = field(default_factory=list)
    next_offsets: Offsets = field(default_factory=dict)
    last_timestamps: Offsets = field(default_factory=dict)
    overflow: bool = False
    write_s: float = 0.0


@dataclass(frozen=True)
class Task:
    """The function for `mapInArrow`: batches of Kafka rows in, one pickled TaskResult out."""

    spec: TaskSpec
    writer: Writer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        result = run(batches, self.spec, self.writer)
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(result)], pa.binary())], schema=RESULT_SCHEMA)


def load_result(data: bytes) -> TaskResult:
    """The result of one of our own tasks."""
    result = pickle.loads(data)  # noqa: S301 - written by Task in a worker that this driver started
    assert isinstance(result, TaskResult)  # noqa: S101
    return result


def run(batches: Iterable[pa.RecordBatch], spec: TaskSpec, writer: Writer) -> TaskResult:
    """Process all rows of a task."""
    result = TaskResult()
    records = decoder(spec.decode)
    transforms = transformer(spec.transforms) if spec.transforms is not None else None
    files = writer.open()
    dead_bytes = 0
    for batch in batches:
        rows = _select(batch, spec, result)
        if rows is None or result.overflow:
            continue
        if transforms is None:
            decoded = records.decode(rows.column("value").to_pylist())
        else:
            decoded = transforms.decode(rows, records)
        dead_bytes += _account(rows, decoded, result)
        result.overflow = dead_bytes > MAX_DEAD_BYTES and len(result.dead) > 1
        if decoded.table.num_rows:
            started = time.monotonic()
            files.add(decoded.table)
            result.write_s += time.monotonic() - started
    if not result.overflow:
        started = time.monotonic()
        result.files = files.close()
        result.write_s += time.monotonic() - started
    return result


def _select(batch: pa.RecordBatch, spec: TaskSpec, result: TaskResult) -> pa.RecordBatch | None:
    """The rows between floor and ceiling; positions of all rows below the ceiling are noted."""
    if not batch.num_rows:
        return None
    if spec.topic is not None:
        batch = batch.append_column("topic", pa.repeat(pa.scalar(spec.topic), batch.num_rows))
    topics, partitions, positions = batch.column("topic"), batch.column("partition"), batch.column("offset")
    mask = offsets.within(topics, partitions, positions, spec.floor, spec.ceiling)
    rows = batch if mask is None else batch.filter(mask)
    if not rows.num_rows:
        return None
    topics, partitions, positions = rows.column("topic"), rows.column("partition"), rows.column("offset")
    result.read += rows.num_rows
    result.next_offsets = offsets.merge(result.next_offsets, offsets.next_offsets(topics, partitions, positions))
    stamps = rows.column("timestamp").cast(pa.timestamp("ms")).cast(pa.int64())
    latest = {k: v - 1 for k, v in offsets.next_offsets(topics, partitions, stamps).items()}
    result.last_timestamps = offsets.merge(result.last_timestamps, latest)
    return rows


def _account(rows: pa.RecordBatch, decoded: Decoded, result: TaskResult) -> int:
    """Book every row as stored, dead or skipped; returns the size of the new dead letters in bytes."""
    dead = [_dead_letter(rows, index, error) for index, error in decoded.rejected]
    result.dead += dead
    result.skipped += len(decoded.skipped)
    if decoded.unknown:
        result.unknown = infer.merge_all([result.unknown, decoded.unknown])
    topics = rows.column("topic")
    if pc.all(pc.equal(topics, topics[0])).as_py():
        result.stored[topics[0].as_py()] += decoded.table.num_rows
    else:
        gone = {index for index, _ in decoded.rejected} | set(decoded.skipped)
        result.stored.update(topic for index, topic in enumerate(topics.to_pylist()) if index not in gone)
    return sum(_LETTER_BYTES + len(letter.value or b"") + len(letter.key or b"") for letter in dead)


def _dead_letter(rows: pa.RecordBatch, index: int, error: ConversionError) -> DeadLetter:
    def value(name: str) -> Any:
        return rows.column(name)[index].as_py() if name in rows.schema.names else None

    return DeadLetter(
        topic=value("topic"),
        partition=value("partition"),
        offset=value("offset"),
        timestamp=rows.column("timestamp")[index].cast(pa.timestamp("ms")).value,
        key=value("key"),
        value=value("value"),
        headers=_headers(value("headers")),
        path=error.path,
        reason=error.reason,
        origin=error.origin if isinstance(error, StageError) else None,
    )


class _Header(msgspec.Struct):
    key: str
    value: bytes | None = None


def _headers(text: str | None) -> tuple[tuple[str, bytes | None], ...]:
    """From the JSON text of Spark's header array, whose values are Base64."""
    headers = msgspec.json.decode(text, type=list[_Header]) if text else ()
    return tuple((header.key, header.value) for header in headers)
