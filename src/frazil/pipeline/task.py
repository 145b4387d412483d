"""Tasks of a batch: each reads its ranges, transforms, routes, decodes and writes records, and gives one result."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from frazil.clients.kafka.ranges import Range
from frazil.pipeline import offsets
from frazil.pipeline.assign import assign
from frazil.pipeline.bookings import Bookings
from frazil.pipeline.changes import DELETED, ChangeSpec, with_places
from frazil.pipeline.convert import infer
from frazil.pipeline.convert.data_keys import bounded
from frazil.pipeline.convert.decode import Decoded, DecodeSpec
from frazil.pipeline.convert.strict import ConversionError, is_nothing
from frazil.pipeline.gaps import GapFiller
from frazil.pipeline.poison import PoisonPills, step
from frazil.pipeline.prepare import prepare
from frazil.pipeline.results import NewColumns, TableResult, TaskResult
from frazil.pipeline.route import Router, router
from frazil.pipeline.rows import Rows
from frazil.pipeline.shaped import decoded
from frazil.pipeline.source import Source
from frazil.pipeline.source_positions import ReplayFilter
from frazil.pipeline.task_spec import Bounds, Judge, TableSpec, TaskSpec, TellsChanges
from frazil.pipeline.told import untold
from frazil.pipeline.tolerating import tolerating
from frazil.pipeline.transforms.following import EMPTIES
from frazil.pipeline.transforms.keys import key_fields
from frazil.pipeline.types import Type
from frazil.pipeline.values import Values

_NO_TRUNCATES = (
    "the table was truncated in the database, and a table of changes has no row without a key. Leave this record out; "
    "frazil.cdc.mode=history ends all rows"
)
MAX_WAITING_BYTES = 256 << 20
"""Arrow data of all tables that one task holds before it encodes the largest share."""


@dataclass(frozen=True)
class Task:
    """Task of a run: ranges of Kafka in, one TaskResult out."""

    spec: TaskSpec
    source: Source
    ranges: Sequence[Range]

    def __call__(self) -> TaskResult:
        read = partial(self.source.read, self.ranges)
        return tolerating(read, partial(_run, self.spec), partial(_rehearse, self.spec))


def run(chunks: Iterable[Rows], spec: TaskSpec) -> TaskResult:
    """Process rows; those of one partition come in the order of their offsets."""
    kept = list(chunks)
    return tolerating(lambda: (rows for rows in kept), partial(_run, spec), partial(_rehearse, spec))


def _rehearse(spec: TaskSpec, rows: Rows, pills: PoisonPills) -> None:
    """Do what a task does with a chunk, but for storing files; raises Unforeseen."""
    for group in _groups(spec, pills):
        group.take(rows, {})
        for table in group.tables.values():
            table.rehearse()


def _run(spec: TaskSpec, chunks: Iterable[Rows], pills: PoisonPills) -> TaskResult:
    """Process all rows of a task; those of one partition come in the order of their offsets. Raises Unforeseen."""
    groups = _groups(spec, pills)
    tables = [table for group in groups for table in group.tables.values()]
    missing: dict[str, NewColumns] = {}
    size = 0
    for rows in chunks:
        size += rows.size
        for group in groups:
            group.take(rows, missing)
        while sum(table.waiting_bytes for table in tables) > MAX_WAITING_BYTES:
            max(tables, key=lambda table: table.waiting_bytes).encode_largest()
    rest = next((group.rest.result for group in groups if group.rest is not None), TableResult())
    return TaskResult({table.name: table.close() for table in tables}, rest, missing, size)


class _TableOutput(Bookings):
    """Decodes the records of one table in a task, and writes their rows."""

    def __init__(self, spec: TableSpec, pills: PoisonPills, task: TaskSpec) -> None:
        super().__init__()
        self.name = spec.name
        self._pills = pills
        self._refusal = spec.refusal
        self._decode = spec.decode
        self._places = spec.places or spec.changes is not None
        self._changes = spec.changes
        self._judge = spec.judge
        self._gaps: GapFiller | None = None
        self._log = spec.changes is not None and spec.changes.log
        keeps = spec.changes is not None and (spec.changes.log or spec.changes.versions)
        if spec.changes is not None and spec.changes.operation is not None and not spec.changes.log:
            self._gaps = GapFiller(spec.changes.keys, spec.before, versions=spec.changes.versions)
        self._key = spec.key
        self._ids, self._in_order = task.ids_of(spec), task.in_order
        self._records_key = task.transforms.key if task.transforms is not None and task.transforms.follows else None
        self._truncates = self._records_key is not None and task.truncates
        self._replays = ReplayFilter(spec.reached, spec.taken, each=keeps) if spec.reached is not None else None
        self._files = spec.writer.open() if spec.writer is not None else None

    @property
    def waiting_bytes(self) -> int:
        return self._files.waiting_bytes if self._files is not None else 0

    @property
    def _lacks(self) -> bool:
        """Whether the table must change, or be looked at, before it can have the rows."""
        return self.result.lacks or bool(self.result.wanted)

    def encode_largest(self) -> None:
        if self._files is not None:
            with step("write", self.name):
                self._files.encode_largest()

    def take(self, rows: Rows, values: Values, failing: Bookings | None) -> None:
        """Decode the values of `rows`, and write them; book those that are none after all on `failing`."""
        if self.result.overflow:
            return
        values, pills = sound(self._pills, rows, values, self.name)
        self.refuse(rows, pills)
        if self._ids and self._records_key is not None:
            told = untold(rows, values, self._ids, self._records_key, in_order=self._in_order)
            self.refuse(rows, told)
            values = values.without({position for position, _ in told})
        if self._replays is not None:
            before = len(values.values)
            rows, values = self._replays.fresh(rows, values)
            self.skip("replayed", before - len(values.values))
            self.result.reached, self.result.anew = self._replays.reached, self._replays.anew and not self._log
        if self._truncates:
            values = self._without_truncates(rows, values)
        if self._key is not None:
            self.result.key_fields |= key_fields(rows, self._key)
        with step("convert", self.name):
            values, refused = (values, []) if self._judge is None else _judged(self._judge, values)
            found = self._decoded(values)
            if self._judge is None:
                self.result.doubtful |= _is_doubtful(values, found, self._decode, self._changes)
        one_each = values.at is None
        if not one_each:
            found = found.whole()
        self.refuse(rows, [*refused, *found.rejected])
        if failing is not None:
            failing.refuse(rows, found.failed)
        self.skip("tombstone", len(found.skipped))
        if found.unknown:
            self.result.seen.update(found.seen)
            self.result.unknown = _merged(self.result.unknown, found, self.result.seen, self._decode)
        self.result.absent |= found.absent
        if not found.table.num_rows:
            return
        records = found.table.num_rows if one_each else len(set(found.positions))
        self.result.read += records
        self.result.stored[rows.topic] += records
        if self._files is not None and not self._lacks:
            started = time.monotonic()
            with step("write", self.name):
                self._files.add(with_places(found, rows) if self._places else found.table)
            self.result.write_s += time.monotonic() - started

    def _without_truncates(self, rows: Rows, values: Values) -> Values:
        """Note the records that empty the table, and leave them out."""
        found = [
            values.position(index)
            for index, value in enumerate(values.values)
            if value is not None and value.startswith(EMPTIES)
        ]
        if self._log:
            self.refuse(rows, [(position, ConversionError("", _NO_TRUNCATES)) for position in found])
        elif self._files is None:
            self.skip("transform", len(found))
        else:
            self.result.truncates.update(rows.offsets[found].tolist())
            self.result.read += len(found)
            self.result.stored[rows.topic] += len(found)
        return values.without(found)

    def _decoded(self, values: Values) -> Decoded:
        if self._refusal:
            return _refused(values, self._refusal)
        found = decoded(values, self._decode, self._changes)
        if self._gaps is not None:
            found = self._gaps.fill(found, DELETED)
            self.result.wanted = self._gaps.wanted
        return found

    def rehearse(self) -> None:
        """Do what `close` does, but for storing files."""
        if self._files is not None and not self._lacks:
            with step("write", self.name):
                self._files.rehearse()

    def close(self) -> TableResult:
        """Give the result, with files that are durable; without files when the batch must be read again."""
        if self._files is not None and not self.result.overflow and not self._lacks:
            started = time.monotonic()
            with step("write", self.name):
                self.result.files = self._files.close()
                changes = self._files.changes() if isinstance(self._files, TellsChanges) else None
            self.result.changes = [] if changes is None else [changes]
            self.result.write_s += time.monotonic() - started
        return self.result


class _TableGroup:
    """Tables with the same bounds: their rows are cut, transformed and routed once."""

    def __init__(self, bounds: Bounds, spec: TaskSpec, pills: PoisonPills) -> None:
        self.bounds = bounds
        self._pills = pills
        self.tables: dict[str, _TableOutput] = {}
        self.rest: Bookings | None = None
        self.discover: DecodeSpec | None = None
        self._known = spec.routing.known if spec.routing is not None else frozenset[str]()
        self._closed = spec.routing.closed if spec.routing is not None else ""
        self._transforms = spec.followed()
        self._envelope = spec.envelope
        self._computed = spec.computed
        self._route = router(spec.routing.route) if spec.routing is not None else None

    def take(self, chunk: Rows, missing: dict[str, NewColumns]) -> None:
        """Book the rows that lie in the bounds."""
        booking = [*self.tables.values(), *([self.rest] if self.rest is not None else [])]
        if all(each.result.overflow for each in booking):
            return
        rows = self._select(chunk, [each.result for each in booking])
        if not len(rows):
            return
        sound_rows, pills = self._pills.divide(rows)
        for each in booking if self._route is None else [self.rest]:
            if each is not None:
                each.refuse(rows, pills)
        rows = sound_rows
        with step("transform"):
            if self._computed is not None:
                prepared = self._computed.prepared(rows)
            else:
                prepared = prepare(rows, self._transforms, envelope=self._envelope, columns=True)
        for each in booking if self._route is None else [self.rest]:
            if each is not None:
                each.skip("transform", len(prepared.dropped))
                each.refuse(rows, prepared.failed)
        if self._route is None:
            for table in self.tables.values():
                table.take(rows, prepared.values, table)
        else:
            self._assign(self._route, rows, prepared.values, missing)

    def _assign(self, route: Router, rows: Rows, values: Values, missing: dict[str, NewColumns]) -> None:
        with step("route"):
            assigned = assign(route, rows.topic, values)
        for name, part in assigned.tables.items():
            table = self.tables.get(name)
            if table is not None:
                table.take(rows, part, self.rest)
            elif self.rest is not None and name not in self._known and self._closed:
                error = ConversionError("", f"{name!r} is not a table of this connector: {self._closed}")
                self.rest.refuse(rows, [(position, error) for position in part.positions()])
            elif self.rest is not None and name not in self._known:
                self._discover(name, rows, part, missing.setdefault(name, NewColumns()))
        if self.rest is not None:
            self.rest.skip("unrouted", assigned.unrouted)
            self.rest.skip("tombstone", assigned.tombstones)
            self.rest.refuse(rows, assigned.failed)

    def _discover(self, name: str, rows: Rows, values: Values, found: NewColumns) -> None:
        """Find the columns that a table would need for values when it is made; without its poison pills, which the
        table refuses when it is there."""
        if self.discover is None or self.rest is None:
            return
        values, _ = sound(self._pills, rows, values, name)
        with step("convert", name):
            shown = decoded(values, self.discover)
            self.rest.refuse(rows, shown.failed)
            found.doubtful |= _is_doubtful(values, shown, self.discover)
            found.seen.update(shown.seen)
            if self._transforms is not None:
                found.key_fields |= key_fields(rows, self._transforms.key)
            found.fields = _merged(found.fields, shown, found.seen, self.discover)

    def _select(self, chunk: Rows, results: Sequence[TableResult]) -> Rows:
        """Take the rows between floor and ceiling, and note their positions in the results."""
        key = chunk.topic, chunk.partition
        rows = chunk.between(self.bounds.floor.get(key, 0), self.bounds.ceiling.get(key))
        if len(rows):
            reached, latest = {key: int(np.max(rows.offsets)) + 1}, {key: int(np.max(rows.stamps))}
            for result in results:
                result.next_offsets = offsets.merge(result.next_offsets, reached)
                result.last_timestamps = offsets.merge(result.last_timestamps, latest)
        return rows


def _groups(spec: TaskSpec, pills: PoisonPills) -> list[_TableGroup]:
    groups: list[_TableGroup] = []

    def group(bounds: Bounds) -> _TableGroup:
        found = next((each for each in groups if each.bounds == bounds), None)
        if found is None:
            found = _TableGroup(bounds, spec, pills)
            groups.append(found)
        return found

    for table in spec.tables:
        group(table.bounds).tables[table.name] = _TableOutput(table, pills, spec)
    if spec.routing is not None and spec.routing.rest is not None:
        other = group(spec.routing.rest)
        other.rest, other.discover = Bookings(), spec.routing.discover
    return groups


def sound(
    pills: PoisonPills, rows: Rows, values: Values, table: str
) -> tuple[Values, list[tuple[int, ConversionError]]]:
    """Keep the values that are no poison pills of a table; give the others by their positions in `rows`."""
    found = pills.among(rows, table)
    if not found:
        return values, []
    here = set(values.positions()) & found.keys()
    return values.without(here), [(position, found[position]) for position in sorted(here)]


def _judged(judge: Judge, values: Values) -> tuple[Values, list[tuple[int, ConversionError]]]:
    """Keep the values that the columns of the judge can hold; give the others by their positions, with the reasons."""
    refused = decoded(values, judge.decode, judge.changes).whole().rejected
    return values.without({position for position, _ in refused}), refused


def _is_doubtful(values: Values, found: Decoded, spec: DecodeSpec, changes: ChangeSpec | None = None) -> bool:
    """Whether values that lack columns are refused where they have them."""
    unknown = infer.typed(found.unknown)
    if not unknown:
        return False
    struct = spec.overrides.mark(infer.widened(spec.struct, unknown))
    again = decoded(values, replace(spec, struct=struct), changes)
    return len(again.rejected) > len(found.rejected)


def _merged(
    fields: dict[infer.Path, Type], found: Decoded, seen: infer.Seen, spec: DecodeSpec
) -> dict[infer.Path, Type]:
    """Merge new columns of a chunk with those before it, so that what waits for the driver stays small."""
    merged = infer.merge_all([fields, found.unknown])
    return merged if spec.most_new_columns is None else bounded(merged, spec.most_new_columns[0], seen)


def _refused(values: Values, reason: str) -> Decoded:
    """Refuse every record with a value for the same reason."""
    read = values.one_by_one()
    values = read.values
    result = Decoded(pa.table({}), failed=list(read.failed))
    for index, value in enumerate(values.values):
        if is_nothing(value):
            result.skipped.append(values.position(index))
        else:
            result.rejected.append((values.position(index), ConversionError("", reason)))
    return result
