"""The records of one Kafka partition on their way into objects."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from frazil.connectors.objects.clock import Clock
from frazil.connectors.objects.compatibility import changes
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.formats.delta import TableColumns
from frazil.connectors.objects.held import HeldRows
from frazil.connectors.objects.open_object import Finished, OpenObject, by_code
from frazil.connectors.objects.partitioners import Folders, Partitioner
from frazil.connectors.objects.prepare import NullValueError, Preparer
from frazil.connectors.objects.provenance import with_metadata
from frazil.connectors.objects.records import Records, Schema
from frazil.connectors.objects.results import PartitionResult
from frazil.connectors.objects.rotation import Arrivals, Numbers, Rotation, Segment
from frazil.pipeline.bookings import MAX_DEAD_BYTES, dead_letter, letter_bytes
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.json_schema import InvalidRecord
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import TopicPartition
from frazil.pipeline.poison import PoisonPills, StepName, step
from frazil.pipeline.results import NewColumns, SkipReason
from frazil.pipeline.rows import Rows

_DEAD_ALREADY = "the record has a dead letter already"
"""Reason not to store a record that a changed schema lets pass now: it would be in two places."""


class Taker(Protocol):
    """Takes objects that are complete; see `uploads.Uploads`."""

    def add(self, finished: Finished) -> None: ...


class PartitionRun:
    """Takes rows in order of their offsets, and stores objects as they are complete.

    Objects with a record that no file can take are begun again without it, from the first record of the open ones on,
    exactly as a run would that begins there.
    """

    def __init__(
        self,
        key: TopicPartition,
        config: ObjectSinkConfig,
        taker: Taker,
        pills: PoisonPills,
        begin: int,
        end: int,
        clock: Clock | None = None,
        refused: Mapping[int, str] | None = None,
        written: frozenset[int] = frozenset(),
        columns: TableColumns | None = None,
        schema: Schema | None = None,
        *,
        closes: bool = False,
    ) -> None:
        """Rows from `begin` to below `end` count; `written` are offsets whose dead letters are written already.

        `schema` is that of rows which were computed, several of them of one record. What is open at the end is stored
        if the run `closes` there.
        """
        self.key = key
        self._config = config
        self._taker = taker
        self._pills = pills
        self._step: StepName = "convert" if config.transforms is None else "transform"
        self._begin, self._end = begin, end
        self._clock = clock
        self._refused = dict(refused or {})
        self._written = written
        self._columns = columns
        self._closes = closes
        self._preparer = Preparer(config, schema)
        self._computed = schema is not None
        self._folders = Folders()
        self._partitioner = Partitioner(config, self._folders, self._preparer.schemas)
        self._rotation = Rotation(config.rotation, changes(config.compatibility, self._preparer.schemas))
        self._open: dict[int, OpenObject] = {}
        self._first_open: int | None = None
        self._open_since = 0
        self._open_counts: Counter[str] = Counter()
        self._open_newest = 0
        self._last = begin - 1
        """Offset of the last record that went to an object."""
        self._skips: list[tuple[SkipReason, Numbers]] = []
        self._dead: list[int] = []
        self._invalid: list[int] = []
        self._dead_bytes = 0
        self._ended_at: int | None = None
        self._held = HeldRows() if OpenObject.may_refuse(config) and schema is None else None
        self._again: Iterator[Rows] | None = None
        """Rows that are to be taken again, where a refused record is left out."""
        self._result = PartitionResult(begin)

    @property
    def memory_bytes(self) -> int:
        """Bytes that open objects hold in memory."""
        return sum(each.memory_bytes for each in self._open.values())

    def largest_to_disk(self) -> None:
        """Move the largest open object to a temporary file."""
        max(self._open.values(), key=lambda each: each.memory_bytes).to_disk()

    def take(self, rows: Rows) -> None:
        """Take rows of this Kafka partition."""
        whole = rows.between(self._begin, self._end)
        if not len(whole) or self._ended_at is not None:
            return
        if self._held is not None:
            self._held.add(whole)
        self._take_parts([whole])
        if self._held is not None:
            self._held.forget(self._first_open)

    def _take_parts(self, parts: Iterable[Rows]) -> None:
        left = iter(parts)
        while self._ended_at is None and (part := next(left, None)) is not None:
            self._take(part)
            if self._again is not None:
                left, self._again = self._again, None

    def _go_back(self, begin: int) -> None:
        """Give up the open objects, and what was found since their first record."""
        self.close()
        self._settle(begin)
        letters = self._result.letters
        while letters and letters[-1].offset >= begin:
            self._dead_bytes -= letter_bytes(letters.pop())
        self._result.bad, self._result.overflow = None, False
        self._rotation.start()
        self._first_open, self._open_counts, self._open_newest, self._last = None, Counter(), 0, begin - 1

    def _take(self, whole: Rows) -> None:
        rows, found = self._pills.divide(whole)
        pills: dict[int, ConversionError] = {int(whole.offsets[index]): pill for index, pill in found}
        if not len(rows):
            self._ended_at = self._bound(whole, pills)
            return
        with step(self._step):
            prepared = self._preparer.prepare(rows, self._refused)
        records = prepared.records
        needed = self._clock is not None and (self._clock.wallclock or self._clock.told)
        clock = self._clock.times(records.offsets) if self._clock is not None and needed else None
        with step("route"):
            divided = self._partitioner.divide(records, clock)
        failed = pills | dict(prepared.failed) | {int(records.offsets[index]): error for index, error in divided.failed}
        if self._config.metadata and clock is not None:
            with step("convert"):
                records, told = with_metadata(records, clock)
            failed |= {int(records.offsets[index]): error for index, error in told}
        for offset in self._written & set(records.offsets.tolist()) if self._written else ():
            failed.setdefault(offset, ConversionError("", _DEAD_ALREADY))
        codes, times = divided.codes, divided.times
        mask = codes >= 0
        if failed:
            mask &= ~np.isin(records.offsets, list(failed))
        limit = self._bound(whole, failed)
        if limit is not None:
            mask &= records.offsets < limit
        if not mask.all():
            records, codes = records.where(mask), codes[mask]
            times = None if times is None else times[mask]
        self._skip("transform", prepared.dropped, limit)
        self._skip("tombstone", prepared.tombstones, limit)
        self._divide(
            records,
            Arrivals(
                codes,
                times,
                records.sizes,
                records.schemas,
                records.tombstones if records.texts.null_count else None,
                self._clock.cuts(records.offsets, self._last) if self._clock is not None else (),
                records.offsets if self._computed else None,
            ),
        )
        if limit is not None and self._ended_at is None and self._again is None:
            self._ended_at = limit

    def _skip(self, reason: SkipReason, offsets: Sequence[int], limit: int | None) -> None:
        if offsets:
            found = np.array(offsets, np.int64)
            self._skips.append((reason, found if limit is None else found[found < limit]))

    def _bound(self, rows: Rows, failed: Mapping[int, ConversionError]) -> int | None:
        """Book dead letters; where the run ends, if it does: at a bad record, or where there are too many of them."""
        places = {offset: index for index, offset in enumerate(rows.offsets.tolist())} if failed else {}
        for offset in sorted(failed):
            error = failed[offset]
            if self._config.errors_tolerance == "none" or isinstance(error, NullValueError):
                self._result.bad = dead_letter(rows, places[offset], error)
                return offset
            if offset not in self._written:
                letter: DeadLetter = dead_letter(rows, places[offset], error)
                size = letter_bytes(letter)
                if self._result.letters and self._dead_bytes + size > MAX_DEAD_BYTES:
                    self._result.overflow = True
                    return offset
                self._dead_bytes += size
                self._result.letters.append(letter)
            self._dead.append(offset)
            if isinstance(error, InvalidRecord):
                self._invalid.append(offset)
        return None

    def _divide(self, records: Records, arrivals: Arrivals) -> None:
        for segment in self._rotation.split(arrivals):
            if segment.end > segment.begin:
                self._add(records, arrivals, segment)
            if segment.closes and not self._store():
                return

    def _add(self, records: Records, arrivals: Arrivals, segment: Segment) -> None:
        if self._first_open is None:
            self._first_open = int(records.offsets[segment.begin])
            times = arrivals.times if arrivals.times is not None else records.stamps
            self._open_since = int(times[segment.begin])
        for code, indexes in by_code(arrivals.codes, segment.begin, segment.end):
            found = self._open.get(code)
            if found is None:
                number = -1 if records.schemas is None else int(records.schemas[indexes[0]])
                schema = self._preparer.schemas[number] if number >= 0 else None
                found = self._open[code] = OpenObject(
                    self._config, self._folders.names[code], schema, self._columns, self._preparer.schemas
                )
            with step("write"):
                found.add(records, indexes)
        if records.topics is None:
            self._open_counts[records.topic] += segment.end - segment.begin
        else:
            self._open_counts.update(records.topics[segment.begin : segment.end])
        self._open_newest = max(self._open_newest, int(np.max(records.stamps[segment.begin : segment.end])))
        self._last = int(records.offsets[segment.end - 1])

    def _store(self) -> bool:
        """Store the open objects; False when one of them cannot have all its records, and nothing was stored.

        They are begun again then; by a run of its own where their rows are not held, or the table lacks a column.
        """
        finished: list[Finished] = []
        refused: dict[int, ConversionError] = {}
        for each in self._open.values():
            with step("write"):
                more, failed = each.finish()
            finished += more
            refused |= failed
        unknown = NewColumns()
        for each in self._open.values():
            unknown.add(each.unknown)
        if refused or unknown:
            for one in finished:
                one.body.close()
            reasons = {offset: str(error) for offset, error in refused.items()}
            first = self._first_open
            if not unknown and first is not None and self._held is not None and self._held.reach(first):
                self._refused |= reasons
                self._again = self._held.parts(first, 2 * self._open_counts.total())
                self._go_back(first)
            else:
                self._result.unknown, self._result.refused = unknown, reasons
                self._ended_at = first
            return False
        for one in finished:
            self._result.objects.append(one.object)
            self._taker.add(one)
        self._open = {}
        self._first_open = None
        self._result.stored += self._open_counts
        self._result.newest = max(self._result.newest, self._open_newest)
        self._open_counts, self._open_newest = Counter(), 0
        return True

    def rehearse(self) -> None:
        """Do what `finish` does with the open objects, but for storing them."""
        for each in self._open.values():
            with step("write"):
                finished, _ = each.finish()
            for one in finished:
                one.body.close()

    def finish(self) -> PartitionResult:
        """The result, when all rows were taken; its objects are durable when the uploads are."""
        while self._ended_at is None and self._open and self._cut_behind() and not self._store():
            again, self._again = self._again or iter(()), None
            self._take_parts(again)
        result = self._result
        bound = self._end if self._ended_at is None else self._ended_at
        self._settle(bound if self._first_open is None else self._first_open)
        result.validation_s = self._preparer.validation_s
        if self._first_open is not None:
            result.open_count, result.open_since = self._open_counts.total(), self._open_since
        self.close()
        return result

    def _cut_behind(self) -> bool:
        return self._closes or (self._clock is not None and self._clock.cuts_behind(self._last, self._end))

    def _settle(self, position: int) -> None:
        """Count what was found below a position; what is from there on is found again."""
        result = self._result
        result.position = position
        for reason, offsets in self._skips:
            result.skipped[reason] += int((offsets < position).sum())
        result.dead[self.key[0]] += sum(offset < position for offset in self._dead)
        result.invalid += sum(offset < position for offset in self._invalid)
        self._skips, self._dead, self._invalid = [], [], []

    def close(self) -> None:
        """Give up the objects that are open."""
        for each in self._open.values():
            each.close()
        self._open = {}
