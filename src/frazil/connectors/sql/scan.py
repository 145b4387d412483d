"""Records of a topic as the typed rows that a statement reads, and what became of those that give none."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.clients.kafka.ranges import Range
from frazil.connectors.keys.sink_config import SinkConfig
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.statement import METADATA, PLACE
from frazil.pipeline import offsets
from frazil.pipeline.bookings import Bookings
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.decode import Decoded, DecodeSpec
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.envelope import Envelope
from frazil.pipeline.letters.deadletter import Coordinates
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.poison import PoisonPills, step
from frazil.pipeline.prepare import prepare
from frazil.pipeline.results import TableResult
from frazil.pipeline.rows import Int64s, Rows
from frazil.pipeline.shaped import decoded
from frazil.pipeline.source import Source
from frazil.pipeline.tolerating import tolerating
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.types import Struct
from frazil.text.instants import instant

PLACE_TYPE = pa.struct(
    [("topic", pa.int32()), ("partition", pa.int32()), ("offset", pa.int64()), ("stamp", pa.int64())]
)
_HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
_METADATA = {
    "_topic": ("STRING", pa.string()),
    "_partition": ("INT", pa.int32()),
    "_offset": ("BIGINT", pa.int64()),
    "_timestamp": ("TIMESTAMP", pa.timestamp("us", tz="UTC")),
    "_key": ("BINARY", pa.binary()),
    "_headers": ("ARRAY<STRUCT<key: STRING, value: BINARY>>", _HEADERS),
}
assert tuple(_METADATA) == METADATA  # noqa: S101 - their names are in one place


def hidden_columns(metadata: Sequence[str], *, place: bool = True) -> str:
    """Spark's DDL of the columns that a topic has beside its own."""
    placed = [f"`{PLACE}` STRUCT<topic: INT, partition: INT, offset: BIGINT, stamp: BIGINT>"] if place else []
    return ", ".join([*placed, *(f"{name} {_METADATA[name][0]}" for name in metadata)])


@dataclass(frozen=True)
class ScannedTopic:
    """A topic, number `number` of its connector, as its statement sees it: `columns`, and those of `metadata`.

    The statement gets those in `used`, all with None; records are judged by all of them.

    `relation` is the number of the table in the statement that it is, alone or with others that a pattern stands for.
    Number -1 is that of a pattern.
    """

    relation: int
    number: int
    name: str
    columns: Struct
    metadata: tuple[str, ...]
    transforms: TransformChain | None = None
    envelope: Envelope | None = None
    used: frozenset[str] | None = None

    @property
    def shown(self) -> Struct:
        """Columns that the statement gets."""
        used = self.used
        own = self.columns.fields
        return self.columns if used is None else Struct(tuple(each for each in own if each.name.lower() in used))

    def typed(self, rows: Rows) -> tuple[Decoded, Sequence[int], Sequence[tuple[int, ConversionError]]]:
        """Make typed rows of records; also positions of those that transformations drop, and that cannot be read."""
        with step("transform"):
            prepared = prepare(rows, self.transforms, envelope=self.envelope, columns=True)
        with step("convert"):
            found = decoded(prepared.values, DecodeSpec(self.columns, evolve=False, empties="lenient"))
        return found, prepared.dropped, [*prepared.failed, *found.failed, *found.rejected]

    def scan(self, rows: Rows, pills: PoisonPills, refused: Refused, books: Bookings) -> pa.RecordBatch | None:
        """Make a batch of the records that are sound, and book the others; None where there are none."""
        kept, unforeseen = pills.divide(rows)
        books.refuse(rows, unforeseen)
        sound, known = _divided(kept, refused)
        books.refuse(kept, known)
        if not len(sound):
            return None
        found, dropped, failed = self.typed(sound)
        books.skip("transform", len(dropped))
        books.skip("tombstone", len(found.skipped))
        books.refuse(sound, failed)
        return self.batch(found, sound) if found.table.num_rows else None

    def batch(self, found: Decoded, rows: Rows) -> pa.RecordBatch:
        """Put the rows beside their places in Kafka."""
        at = np.asarray(found.positions, np.int64)
        places, stamps = rows.offsets[at], rows.stamps[at]
        number, partition = (pa.repeat(pa.scalar(each, pa.int32()), len(at)) for each in (self.number, rows.partition))
        place = pa.StructArray.from_arrays(
            [number, partition, pa.array(places), pa.array(stamps)], fields=list(PLACE_TYPE)
        )
        shown = [field.name for field in self.shown.fields]
        own = [found.table.column(name).combine_chunks() for name in shown]
        names = [*shown, PLACE, *self.metadata]
        return pa.RecordBatch.from_arrays([*own, place, *(self._of(name, rows, at) for name in self.metadata)], names)

    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        hidden = [pa.field(PLACE, PLACE_TYPE), *(pa.field(name, _METADATA[name][1]) for name in self.metadata)]
        return pa.schema([*(each.with_nullable(True) for each in arrow_schema(self.shown)), *hidden])

    def _of(self, name: str, rows: Rows, at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
        type_ = _METADATA[name][1]
        match name:
            case "_topic":
                return pa.repeat(pa.scalar(rows.topic), len(at))
            case "_partition":
                return pa.repeat(pa.scalar(rows.partition, type_), len(at))
            case "_offset":
                return pa.array(rows.offsets[at], type_)
            case "_timestamp":
                stamps = rows.stamps[at]
                return pa.array(stamps * 1000, pa.int64(), mask=stamps < 0).cast(type_)
            case "_key":
                return pa.array([rows.keys[index] for index in at.tolist()], type_)
        given = rows.headers or [()] * len(rows)
        headers = [[{"key": key, "value": value} for key, value in given[index]] for index in at.tolist()]
        return pa.array(headers, type_)


def scanned_topics(config: SinkConfig, own: StatementConfig) -> list[ScannedTopic]:
    """The topics of a connector as its statement sees them; one for all that a pattern stands for."""
    statement, named = own.statement, config.topics_regex is None
    return [
        ScannedTopic(
            number,
            number if named else -1,
            topic,
            own.columns[topic],
            statement.metadata,
            config.transforms,
            config.envelope,
            statement.names,
        )
        for number, topic in enumerate(own.statement.topics)
    ]


Refused = Mapping[Coordinates, tuple[str, str]]
"""Records that are refused for what their rows, or the statement over them, have shown: column path and reason."""


@dataclass
class Scanned:
    """Report of a scan: `result` has the dead letters and what was skipped, `given` is how many rows it gave.

    `offsets` are those of all records, `stopped` where partitions were left, of a scan in order.
    """

    result: TableResult = field(default_factory=TableResult)
    given: int = 0
    size: int = 0
    offsets: dict[TopicPartition, list[Int64s]] = field(default_factory=dict)
    stopped: Offsets = field(default_factory=dict)


@dataclass(frozen=True)
class InOrder:
    """Rule for a scan whose rows are stored partition by partition.

    It gives no row of a record in `written`, which has a dead letter; unless `tolerant`, none behind a bad record.
    """

    written: Set[Coordinates]
    tolerant: bool


@dataclass(frozen=True)
class Late:
    """Rule for a scan that makes dead letters of records whose time, in a column, is before a watermark."""

    column: str
    watermark_ms: int

    def divide(self, batch: pa.RecordBatch, rows: Rows, books: Bookings) -> pa.RecordBatch | None:
        """Keep the rows that are in time, and book the records of the others."""
        times = batch.column(self.column).cast(pa.int64())
        is_late = pc.less(times, self.watermark_ms * 1000).fill_null(False)
        if not pc.any(is_late).as_py():
            return batch
        offsets_late = pc.struct_field(batch.column(PLACE), "offset").filter(is_late).to_numpy()
        since = instant(self.watermark_ms)
        error = ConversionError(self.column, f"it is late: before the watermark {since.isoformat() if since else ''}")
        books.refuse(rows, [(int(index), error) for index in np.searchsorted(rows.offsets, offsets_late)])
        left = batch.filter(pc.invert(is_late))
        return left if left.num_rows else None


@dataclass(frozen=True)
class Scan:
    """Scan of ranges of one topic; picklable."""

    topic: ScannedTopic
    source: Source
    ranges: Sequence[Range]
    refused: Refused
    in_order: InOrder | None = None
    late: Late | None = None

    def __call__(self) -> tuple[Scanned, list[pa.RecordBatch]]:
        """Read the records. Raises as `Source.read` and `tolerating` do."""

        def read() -> Generator[Rows]:
            return self.source.read(self.ranges)

        return tolerating(read, partial(_run, self), lambda rows, pills: _run(self, [rows], pills))

    def report(self) -> Scanned:
        """Report what became of the records, and forget their rows. Raises as a call does."""
        return self()[0]


def _run(scan: Scan, chunks: Iterable[Rows], pills: PoisonPills) -> tuple[Scanned, list[pa.RecordBatch]]:
    books, report, batches = Bookings(), Scanned(), []
    report.result = result = books.result
    for rows in chunks:
        key = rows.topic, rows.partition
        report.size += rows.size
        result.next_offsets = offsets.merge(result.next_offsets, {key: int(rows.offsets.max()) + 1})
        result.last_timestamps = offsets.merge(result.last_timestamps, {key: int(rows.stamps.max())})
        if scan.in_order is None:
            batch = scan.topic.scan(rows, pills, scan.refused, books)
            if scan.late is not None and batch is not None:
                batch = scan.late.divide(batch, rows, books)
        elif key in report.stopped:
            continue
        else:
            report.offsets.setdefault(key, []).append(rows.offsets)
            batch = _in_order(scan, rows, pills, report, books)
        if result.overflow:
            break
        if batch is not None:
            report.given += batch.num_rows
            batches.append(batch)
    return report, batches


def _in_order(scan: Scan, rows: Rows, pills: PoisonPills, report: Scanned, books: Bookings) -> pa.RecordBatch | None:
    assert scan.in_order is not None  # noqa: S101 - it has a rule
    key, result, before = (rows.topic, rows.partition), report.result, len(report.result.dead)
    sound = [index for index, at in enumerate(rows.offsets.tolist()) if (*key, at) not in scan.in_order.written]
    if not sound:
        return None
    batch = scan.topic.scan(rows.take(sound), pills, scan.refused, books)
    if result.overflow:
        left = {one.key: one.begin for one in scan.ranges if one.key not in report.offsets}
        report.stopped |= left | {key: int(rows.offsets[0])}
        return None
    if scan.in_order.tolerant or len(result.dead) == before:
        return batch
    bad = min(result.dead[before:], key=lambda letter: letter.offset)
    result.dead[before:] = [bad]
    report.stopped[key] = bad.offset
    return batch and batch.filter(pc.less(pc.struct_field(batch.column(PLACE), "offset"), bad.offset))


def _divided(rows: Rows, refused: Refused) -> tuple[Rows, list[tuple[int, ConversionError]]]:
    """Keep the rows that are not refused; give the others by their indexes in `rows`."""
    if not refused:
        return rows, []
    places = ((index, refused.get((rows.topic, rows.partition, at))) for index, at in enumerate(rows.offsets.tolist()))
    found = [(index, ConversionError(*why)) for index, why in places if why is not None]
    gone = [index for index, _ in found]
    return rows.where(~np.isin(np.arange(len(rows)), gone)), found
