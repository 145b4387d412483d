"""What a Spark task does with its share of a micro-batch: floor, transform, route, decode, write; one row comes out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from frazil.config.routes import Route
from frazil.config.transforms import TransformChain
from frazil.pipeline import infer, offsets
from frazil.pipeline.changes import DELETED, ChangeSpec, change_decoder, with_places
from frazil.pipeline.deadletter import DeadLetter
from frazil.pipeline.declared import declared
from frazil.pipeline.decode import Decoded, DecodeSpec, decoder
from frazil.pipeline.gaps import Before, GapFiller
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.prepare import prepare
from frazil.pipeline.results import SkipReason, TableResult, TaskResult, dump_result
from frazil.pipeline.route import Router, router
from frazil.pipeline.strict import ConversionError
from frazil.pipeline.transforms.record import StageError
from frazil.pipeline.types import STRING, Field, Struct, Type
from frazil.pipeline.values import Decoder, Values

RESULT_SCHEMA = pa.schema([("result", pa.binary())])
RESULT_DDL = "result binary"
HEADERS = "CASE WHEN headers IS NULL THEN NULL ELSE to_json(headers) END AS headers"
"""Spark's expression for the column of headers. It is text, because Spark measures the Arrow buffers of nested columns
anew for each row, at 10 µs a record."""

LETTER_BYTES = 500
"""What a dead letter takes beside key and value."""
MAX_DEAD_BYTES = 32 << 20
"""Dead letters that one task hands to the driver, one at least; the batch is divided when there are more."""
MAX_WAITING_BYTES = 256 << 20
"""Arrow data of all tables that one task holds before it encodes the largest share."""
ANY_COLUMNS = DecodeSpec(Struct((Field("\0", STRING),)), evolve=True)
"""Finds the columns that records need for a table that does not exist: all their fields are unknown."""


class TableWriter(Protocol):
    """Writes the rows of one task to files."""

    @property
    def waiting_bytes(self) -> int:
        """Size of the rows that are not encoded yet."""

    def add(self, table: pa.Table) -> None:
        """Take rows."""

    def encode_largest(self) -> None:
        """Encode the rows of one file, so that fewer bytes wait."""

    def close(self) -> list[Any]:
        """Descriptors of the durable files that hold the rows."""


@runtime_checkable
class TellsChanges(Protocol):
    """A writer for a table whose rows change."""

    def changes(self) -> pa.Table | None:
        """What the driver has to know about the changes, after `close`; None when there were none."""


class Writer(Protocol):
    """Makes the writer of a task; picklable."""

    def open(self) -> TableWriter:
        """A writer for the rows of one task."""


@dataclass(frozen=True)
class Bounds:
    """Records from the floor to below the ceiling, by topic and partition."""

    floor: Offsets = field(default_factory=dict)
    ceiling: Offsets = field(default_factory=dict)


@dataclass(frozen=True)
class TableSpec:
    """What the tasks of one run need for one table; without `writer` its columns are only looked for.

    `refusal`: why the table cannot have any record. `changes`: how records change rows, where they do. `before`: rows
    as they were, which a run before this one wanted.
    """

    name: str
    decode: DecodeSpec
    writer: Writer | None
    bounds: Bounds = Bounds()
    refusal: str = ""
    changes: ChangeSpec | None = None
    before: Before | None = None


@dataclass(frozen=True)
class Routing:
    """Which records go to which tables. `rest` bounds those that may be booked as belonging to none, if any may.

    `known` are all tables of the batch, also those that the run does without. `discover`: the columns of others
    are looked for with this, since they are to be made.
    """

    route: Route
    rest: Bounds | None
    known: frozenset[str] = frozenset()
    discover: DecodeSpec | None = None


@dataclass(frozen=True)
class TaskSpec:
    """What the tasks of one run over a batch need. `topic` is set when the rows carry no topic column.

    Without `routing` every record goes to every table. `envelope`: records come with their schemas.
    """

    tables: tuple[TableSpec, ...]
    topic: str | None = None
    transforms: TransformChain | None = None
    routing: Routing | None = None
    envelope: bool = False


@dataclass(frozen=True)
class Task:
    """The function for `mapInArrow`: batches of Kafka rows in, one pickled TaskResult out."""

    spec: TaskSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        result = run(batches, self.spec)
        yield pa.RecordBatch.from_arrays([pa.array([dump_result(result)], pa.binary())], schema=RESULT_SCHEMA)


def run(batches: Iterable[pa.RecordBatch], spec: TaskSpec) -> TaskResult:
    """Process all rows of a task."""
    ways = _ways(spec)
    tables = [table for way in ways for table in way.tables.values()]
    missing: dict[str, dict[infer.Path, Type]] = {}
    for batch in batches:
        if not batch.num_rows:
            continue
        if spec.topic is not None:
            batch = batch.append_column("topic", pa.repeat(pa.scalar(spec.topic), batch.num_rows))
        for way in ways:
            way.take(batch, missing)
        while sum(table.waiting_bytes for table in tables) > MAX_WAITING_BYTES:
            max(tables, key=lambda table: table.waiting_bytes).encode_largest()
    rest = next((way.rest.result for way in ways if way.rest is not None), TableResult())
    return TaskResult({table.name: table.close() for table in tables}, rest, missing)


class _Bookings:
    """What a table has, or no table: counts, dead letters and, for a table, rows."""

    def __init__(self) -> None:
        self.result = TableResult()
        self._dead_bytes = 0

    def refuse(self, rows: pa.RecordBatch, failed: Sequence[tuple[int, ConversionError]]) -> None:
        """Book records as dead letters."""
        dead = [dead_letter(rows, index, error) for index, error in failed]
        self.result.read += len(dead)
        self.result.dead += dead
        self._dead_bytes += sum(LETTER_BYTES + len(x.value or b"") + len(x.key or b"") for x in dead)
        self.result.overflow = self._dead_bytes > MAX_DEAD_BYTES and len(self.result.dead) > 1

    def skip(self, reason: SkipReason, count: int) -> None:
        """Book records that give no row."""
        if count:
            self.result.read += count
            self.result.skipped[reason] += count


class _Table(_Bookings):
    """One table on its way through a task."""

    def __init__(self, spec: TableSpec) -> None:
        super().__init__()
        self.name = spec.name
        self._refusal = spec.refusal
        self._decode = spec.decode
        self._changes = spec.changes is not None
        self._records: Decoder = change_decoder(spec.decode, spec.changes) if spec.changes else decoder(spec.decode)
        self._gaps: GapFiller | None = None
        if spec.changes is not None and spec.changes.operation is not None:
            self._gaps = GapFiller(spec.changes.keys, spec.before)
        self._files = spec.writer.open() if spec.writer is not None else None

    @property
    def waiting_bytes(self) -> int:
        return self._files.waiting_bytes if self._files is not None else 0

    @property
    def _lacks(self) -> bool:
        """Whether the table must change, or be looked at, before it can have the rows."""
        return bool(self.result.unknown or self.result.absent or self.result.wanted)

    def encode_largest(self) -> None:
        if self._files is not None:
            self._files.encode_largest()

    def take(self, rows: pa.RecordBatch, values: Values) -> None:
        """Decode and write values, which are from `rows`."""
        if self.result.overflow:
            return
        decoded = _refused(values, self._refusal) if self._refusal else values.decode(self._records)
        if values.shapes is not None and self._decode.evolve and not self._refusal:
            decoded.unknown |= declared(self._decode, values.shapes)
        if self._gaps is not None and not self._refusal:
            decoded = self._gaps.fill(decoded, DELETED)
            self.result.wanted = self._gaps.wanted
        self.refuse(rows, decoded.rejected)
        self.skip("tombstone", len(decoded.skipped))
        if decoded.unknown:
            self.result.unknown = infer.merge_all([self.result.unknown, decoded.unknown])
            self.result.seen.update(decoded.seen)
        self.result.absent |= decoded.absent
        if not decoded.table.num_rows:
            return
        self.result.read += decoded.table.num_rows
        topics = rows.column("topic")
        if pc.all(pc.equal(topics, topics[0])).as_py():
            self.result.stored[topics[0].as_py()] += decoded.table.num_rows
        else:
            gone = {index for index, _ in decoded.rejected} | set(decoded.skipped)
            here = range(rows.num_rows) if values.at is None else values.at
            names = topics.to_pylist()
            self.result.stored.update(names[index] for index in here if index not in gone)
        if self._files is not None and not self._lacks:
            started = time.monotonic()
            self._files.add(with_places(decoded, rows) if self._changes else decoded.table)
            self.result.write_s += time.monotonic() - started

    def close(self) -> TableResult:
        """The result, with files that are durable; without files when the batch must be read again."""
        if self._files is not None and not self.result.overflow and not self._lacks:
            started = time.monotonic()
            self.result.files = self._files.close()
            changes = self._files.changes() if isinstance(self._files, TellsChanges) else None
            self.result.changes = [] if changes is None else [changes]
            self.result.write_s += time.monotonic() - started
        return self.result


class _Way:
    """Tables with the same bounds: their rows are cut, transformed and routed once."""

    def __init__(self, bounds: Bounds, spec: TaskSpec) -> None:
        self.bounds = bounds
        self.tables: dict[str, _Table] = {}
        self.rest: _Bookings | None = None
        self.discover: DecodeSpec | None = None
        self._known = spec.routing.known if spec.routing is not None else frozenset[str]()
        self._transforms = spec.transforms
        self._envelope = spec.envelope
        self._route = router(spec.routing.route) if spec.routing is not None else None

    def take(self, batch: pa.RecordBatch, missing: dict[str, dict[infer.Path, Type]]) -> None:
        """Book the rows of a batch that lie in the bounds."""
        booking = [*self.tables.values(), *([self.rest] if self.rest is not None else [])]
        if all(each.result.overflow for each in booking):
            return
        rows = self._select(batch, [each.result for each in booking])
        if rows is None:
            return
        prepared = prepare(rows, self._transforms, envelope=self._envelope)
        for each in booking if self._route is None else [self.rest]:
            if each is not None:
                each.skip("transform", len(prepared.dropped))
                each.refuse(rows, prepared.failed)
        if self._route is None:
            for table in self.tables.values():
                table.take(rows, prepared.values)
        else:
            self._assign(self._route, rows, prepared.values, missing)

    def _assign(
        self, route: Router, rows: pa.RecordBatch, values: Values, missing: dict[str, dict[infer.Path, Type]]
    ) -> None:
        def topics() -> Sequence[str]:
            read: list[str] = rows.column("topic").to_pylist()
            return read if values.topics is None else values.topics

        assigned = route.assign(values, topics)
        for name, indexes in assigned.tables.items():
            table = self.tables.get(name)
            if table is not None:
                table.take(rows, values.only(indexes))
            elif self.rest is not None and name not in self._known:
                found = _columns(values.only(indexes), self.discover) if self.discover else {}
                missing[name] = infer.merge_all([missing.get(name, {}), found])
        if self.rest is not None:
            self.rest.skip("unrouted", len(assigned.unrouted))
            self.rest.skip("tombstone", len(assigned.tombstones))
            self.rest.refuse(rows, [(values.position(index), error) for index, error in assigned.failed])

    def _select(self, batch: pa.RecordBatch, results: Sequence[TableResult]) -> pa.RecordBatch | None:
        """The rows between floor and ceiling; their positions are noted."""
        topics, partitions, positions = batch.column("topic"), batch.column("partition"), batch.column("offset")
        mask = offsets.within(topics, partitions, positions, self.bounds.floor, self.bounds.ceiling)
        rows = batch if mask is None else batch.filter(mask)
        if not rows.num_rows:
            return None
        topics, partitions, positions = rows.column("topic"), rows.column("partition"), rows.column("offset")
        reached = offsets.next_offsets(topics, partitions, positions)
        stamps = rows.column("timestamp").cast(pa.timestamp("ms")).cast(pa.int64())
        latest = {key: stamp - 1 for key, stamp in offsets.next_offsets(topics, partitions, stamps).items()}
        for result in results:
            result.next_offsets = offsets.merge(result.next_offsets, reached)
            result.last_timestamps = offsets.merge(result.last_timestamps, latest)
        return rows


def _ways(spec: TaskSpec) -> list[_Way]:
    ways: list[_Way] = []

    def way(bounds: Bounds) -> _Way:
        found = next((each for each in ways if each.bounds == bounds), None)
        if found is None:
            found = _Way(bounds, spec)
            ways.append(found)
        return found

    for table in spec.tables:
        way(table.bounds).tables[table.name] = _Table(table)
    if spec.routing is not None and spec.routing.rest is not None:
        other = way(spec.routing.rest)
        other.rest, other.discover = _Bookings(), spec.routing.discover
    return ways


def _columns(values: Values, discover: DecodeSpec) -> dict[infer.Path, Type]:
    """What values need of a table that does not exist."""
    unknown = values.decode(decoder(discover)).unknown
    return unknown if values.shapes is None else unknown | declared(discover, values.shapes)


def _refused(values: Values, reason: str) -> Decoded:
    """Every record with a value is refused for the same reason."""
    result = Decoded(pa.table({}))
    for index, value in enumerate(values.values):
        if value is None or value.strip(b" \t\r\n") == b"null":
            result.skipped.append(values.position(index))
        else:
            result.rejected.append((values.position(index), ConversionError("", reason)))
    return result


def dead_letter(rows: pa.RecordBatch, index: int, error: ConversionError) -> DeadLetter:
    """The dead letter of a row in the columns that Spark gives the tasks."""

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
