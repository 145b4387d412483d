"""What a Spark task does with its share of a micro-batch: floor, transform, route, decode, write; one row comes out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from frazil.clients.kafka.ranges import Range
from frazil.pipeline import offsets
from frazil.pipeline.changes import DELETED, ChangeSpec, change_decoder, with_places
from frazil.pipeline.convert import infer
from frazil.pipeline.convert.declared import declared
from frazil.pipeline.convert.decode import Decoded, DecodeSpec, decoder
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.gaps import Before, GapFiller
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.prepare import prepare
from frazil.pipeline.results import SkipReason, TableResult, TaskResult
from frazil.pipeline.route import Router, router
from frazil.pipeline.routes import Route
from frazil.pipeline.rows import Rows
from frazil.pipeline.source import Source, ranges_between
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.transforms.record import StageError
from frazil.pipeline.types import STRING, Field, Struct, Type
from frazil.pipeline.values import Decoder, Values

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
    as they were, which a run before this one wanted. `places`: rows have the columns of `PLACE`, as changes do.
    """

    name: str
    decode: DecodeSpec
    writer: Writer | None
    bounds: Bounds = Bounds()
    refusal: str = ""
    changes: ChangeSpec | None = None
    before: Before | None = None
    places: bool = False


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
    """What the tasks of one run over a batch need.

    Without `routing` every record goes to every table. `envelope`: records come with their schemas.
    """

    tables: tuple[TableSpec, ...]
    transforms: TransformChain | None = None
    routing: Routing | None = None
    envelope: bool = False

    def ranges(self) -> list[Range]:
        """What a run has to read."""
        bounds = [table.bounds for table in self.tables]
        if self.routing is not None and self.routing.rest is not None:
            bounds.append(self.routing.rest)
        keys = {key for each in bounds for key in each.ceiling}
        floor = {key: min(each.floor.get(key, 0) for each in bounds) for key in keys}
        return ranges_between(floor, offsets.merge(*(each.ceiling for each in bounds)))


@dataclass(frozen=True)
class Task:
    """One task of a run: ranges of Kafka in, one TaskResult out."""

    spec: TaskSpec
    source: Source
    ranges: Sequence[Range]

    def __call__(self) -> TaskResult:
        return run(self.source.read(self.ranges), self.spec)


def run(chunks: Iterable[Rows], spec: TaskSpec) -> TaskResult:
    """Process all rows of a task; those of one partition come in the order of their offsets."""
    ways = _ways(spec)
    tables = [table for way in ways for table in way.tables.values()]
    missing: dict[str, dict[infer.Path, Type]] = {}
    for rows in chunks:
        for way in ways:
            way.take(rows, missing)
        while sum(table.waiting_bytes for table in tables) > MAX_WAITING_BYTES:
            max(tables, key=lambda table: table.waiting_bytes).encode_largest()
    rest = next((way.rest.result for way in ways if way.rest is not None), TableResult())
    return TaskResult({table.name: table.close() for table in tables}, rest, missing)


class _Bookings:
    """What a table has, or no table: counts, dead letters and, for a table, rows."""

    def __init__(self) -> None:
        self.result = TableResult()
        self._dead_bytes = 0

    def refuse(self, rows: Rows, failed: Sequence[tuple[int, ConversionError]]) -> None:
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
        self._places = spec.places or spec.changes is not None
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

    def take(self, rows: Rows, values: Values) -> None:
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
        self.result.stored[rows.topic] += decoded.table.num_rows
        if self._files is not None and not self._lacks:
            started = time.monotonic()
            self._files.add(with_places(decoded, rows) if self._places else decoded.table)
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

    def take(self, chunk: Rows, missing: dict[str, dict[infer.Path, Type]]) -> None:
        """Book the rows that lie in the bounds."""
        booking = [*self.tables.values(), *([self.rest] if self.rest is not None else [])]
        if all(each.result.overflow for each in booking):
            return
        rows = self._select(chunk, [each.result for each in booking])
        if not len(rows):
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

    def _assign(self, route: Router, rows: Rows, values: Values, missing: dict[str, dict[infer.Path, Type]]) -> None:
        def topics() -> Sequence[str]:
            return [rows.topic] * len(rows) if values.topics is None else values.topics

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

    def _select(self, chunk: Rows, results: Sequence[TableResult]) -> Rows:
        """The rows between floor and ceiling; their positions are noted."""
        key = chunk.topic, chunk.partition
        rows = chunk.between(self.bounds.floor.get(key, 0), self.bounds.ceiling.get(key))
        if len(rows):
            reached, latest = {key: int(np.max(rows.offsets)) + 1}, {key: int(np.max(rows.stamps))}
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


def dead_letter(rows: Rows, index: int, error: ConversionError) -> DeadLetter:
    """The dead letter of a row."""
    return DeadLetter(
        topic=rows.topic,
        partition=rows.partition,
        offset=int(rows.offsets[index]),
        timestamp=int(rows.stamps[index]),
        key=rows.keys[index],
        value=rows.values[index],
        headers=() if rows.headers is None else rows.headers[index],
        path=error.path,
        reason=error.reason,
        origin=error.origin if isinstance(error, StageError) else None,
    )
