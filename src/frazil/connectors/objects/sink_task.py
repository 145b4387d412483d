"""The object sink on the driver: records of Kafka into durable objects, exactly once; see `SinkTask`."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from frazil.clients.kafka.ranges import Range
from frazil.connectors.backfill import Span
from frazil.connectors.objects import uploads
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.formats.delta import TableColumns
from frazil.connectors.objects.pace import Seen, is_due, useful_end
from frazil.connectors.objects.positions import Positions
from frazil.connectors.objects.results import ObjectsResult, PartitionResult, StoredObject
from frazil.connectors.objects.schema_file import SchemaFile
from frazil.connectors.objects.stored_positions import StoredPositions
from frazil.connectors.objects.task import ObjectsSpec, ObjectsTask
from frazil.connectors.sink import Due, SinkContext, SinkTask
from frazil.errors import BadRecord, ConfigError, PartitionsAdded
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import NewColumns
from frazil.pipeline.source import Source, dealt, described, ranges_between

logger = logging.getLogger(__name__)


class Store(uploads.Store, Protocol):
    """The bucket as the driver and the tasks see it."""

    def check(self) -> None: ...


class Table(Protocol):
    """A table whose files the objects are; see `delta.table.DeltaTarget`."""

    @property
    def columns(self) -> TableColumns: ...
    def start(self, partitions: Sequence[TopicPartition]) -> Offsets: ...
    def evolve(self, unknown: NewColumns) -> bool: ...
    def commit(self, objects: Sequence[StoredObject], reached: Mapping[TopicPartition, int]) -> None: ...


class ObjectSinkTask(SinkTask):
    """Stores objects; see `SinkTask`."""

    def __init__(
        self,
        config: ObjectSinkConfig,
        bootstrap: str,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        store: Store,
        stored: StoredPositions,
        context: SinkContext,
        schema: SchemaFile | None = None,
        table: Table | None = None,
        span: Span | None = None,
    ) -> None:
        """Take the stored positions. With `schema` the records are checked by it, with `table` the objects become files
        of it. A `span` is where the first position is, and where objects end that are open.

        Raises PositionLost, NotFound, ConfigError or ServiceUnavailable.
        """
        self._schema = schema
        self._table = table
        self._span = span
        self._config = config
        self._source = source
        self._store = store
        self._executor = context.executor
        self._breaker = context.breakers.of(config.name)
        self._breaker.call(store.check)
        self._letters = LetterBook(dead_letters, bootstrap, config.name)
        self._positions = Positions(config, bootstrap, stored)
        self._seen: dict[TopicPartition, Seen] = {}
        self._lengths: dict[TopicPartition, int] = {}
        self._positions.load(topics, None if table is None else table.start, span)
        if self._table is not None and not stored.conditional:
            raise ConfigError(
                f"the store of bucket {config.store.bucket} ignores the condition of a put (If-None-Match), without "
                f"which two writers of a Delta table overwrite each other's commits. Nothing of {config.name} was read "
                "or stored. Use a store that has conditional puts, or another format.class."
            )
        self._letters.start(topics, None, self._positions.offsets, self._positions.letters)
        self._positions.letters = self._letters.marks(self._positions.offsets)
        self._unsettled = {key: end for key, end in self._positions.ends.items() if end > self._positions.offsets[key]}
        """Ends of records that may be stored in part and are not acknowledged: they are read again as before."""
        if self._schema is not None:
            self._schema.start()

    @property
    def position(self) -> Offsets:
        """The next offset of each partition."""
        return dict(self._positions.offsets)

    def due(self, ends: Offsets, now_ms: int) -> Due:
        """See `SinkTask`: the records that may complete an object, and those of open objects before them."""
        more = ends.keys() - self._positions.offsets.keys()
        if more:
            topic = min(more)[0]
            new = "has more partitions" if any(topic == known for known, _ in self._positions.offsets) else "is new"
            raise PartitionsAdded(f"topic {topic} {new}")
        for key, clock in self._positions.clocks.items():
            clock.advance(ends[key], now_ms)
        whole = {key: self._useful(key, end) for key, end in ends.items() if self._is_due(key, end, now_ms)}
        limited = {
            key: self._useful(key, min(end, self._positions.offsets[key] + self._length(key, len(whole))))
            for key, end in whole.items()
        }
        if not limited and self._schema is not None and not self._unsettled and self._schema.has_changed():
            return Due(self.position, at_ms=now_ms)
        return Due(limited, frozenset(key for key in whole if limited[key] < whole[key]), now_ms)

    def _closes(self, key: TopicPartition, end: int) -> bool:
        return self._span is not None and self._span.end.get(key) == end

    def _useful(self, key: TopicPartition, end: int) -> int:
        if self._closes(key, end):
            return end
        return useful_end(self._config, self._positions.offsets[key], end, self._seen.get(key))

    def _is_due(self, key: TopicPartition, end: int, now_ms: int) -> bool:
        position = self._positions.offsets[key]
        if self._closes(key, end):
            return end > position
        return is_due(self._config, position, end, now_ms, self._seen.get(key), self._positions.clocks.get(key))

    def _length(self, key: TopicPartition, count: int) -> int:
        """Most records of a partition that one run reads; more when the last run completed nothing."""
        return self._lengths.setdefault(key, max(self._config.max_records_per_batch // count, 1))

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        """See `SinkTask`: stores the objects that are complete."""
        if self._schema is not None and not self._unsettled:
            self._schema.refresh()
        ends = due.ends
        if not ranges_between(self._positions.offsets, ends):
            return
        started = time.monotonic()
        self._positions.begin({topic for topic, _ in ends})
        refused: dict[TopicPartition, dict[int, str]] = {}
        parts: list[PartitionResult] = []
        newest: dict[str, int] = {}
        write_s = validation_s = 0.0
        object_s: list[float] = []
        pending = dict(ends)
        bad: list[DeadLetter] = []
        self._unsettled |= {key: max(end, self._unsettled.get(key, 0)) for key, end in ends.items()}
        while pending:
            result = self._breaker.call(partial(self._run, self._spec(pending, refused)))
            self._positions.confirm({topic for topic, _ in pending})
            write_s += result.write_s
            validation_s += result.validation_s
            object_s += result.object_s
            found = {key: result.partitions.get(key, PartitionResult(end)) for key, end in pending.items()}
            letters = [letter for part in found.values() for letter in part.letters]
            if letters:
                self._positions.check()
            self._letters.write(letters)
            if self._table is not None:
                self._evolve(self._table, [part.unknown for part in found.values()])
                stored = [one for part in found.values() for one in part.objects]
                self._table.commit(stored, {key: part.position for key, part in found.items()})
            for key, part in found.items():
                newest[key[0]] = max(newest.get(key[0], 0), part.newest)
                before = self._positions.offsets[key]
                took_ms = round(1000 * (time.monotonic() - started))
                seen = Seen(
                    pending[key],
                    part.open_count,
                    part.open_since,
                    key in due.more and pending[key] == ends[key],
                    due.at_ms,
                    took_ms,
                    self._left_out(key, part),
                )
                self._note(key, before, part, seen)
            reached = {key: part.position for key, part in found.items()}
            self._positions.letters = self._letters.marks(self._positions.offsets | reached)
            self._positions.move(reached)
            parts += found.values()
            bad += [part.bad for part in found.values() if part.bad is not None]
            for key, part in found.items():
                refused.setdefault(key, {}).update(part.refused)
            pending = {
                key: pending[key] for key, part in found.items() if part.refused or part.unknown or part.overflow
            }
        self._letters.forget(self._positions.offsets)
        checked_s = None if self._schema is None else validation_s
        report = self._report(parts, time.monotonic() - started, write_s, object_s, checked_s)
        report = replace(report, newest={topic: ms for topic, ms in newest.items() if ms})
        if report.read or report.files:
            committed(report)
        if bad:
            raise BadRecord(_bad_record_message(bad, self._config.name))

    def _run(self, spec: ObjectsSpec) -> ObjectsResult:
        """Run a task for each Kafka partition, or for several; a store that has failed is asked for little first."""
        if self._breaker.state != "closed":
            self._store.check()
        ranges = ranges_between(spec.begin, spec.end)
        return self.read(spec, ranges, dealt(ranges, self._executor.parallelism))

    def read(self, spec: ObjectsSpec, ranges: Sequence[Range], shares: Sequence[Sequence[Range]]) -> ObjectsResult:
        """Store the objects of ranges, which `shares` divides among tasks."""
        calls = [ObjectsTask(spec, self._source, share) for share in shares]
        result = ObjectsResult()
        for part in self._executor.run(calls, described(ranges), sum(map(len, ranges))):
            result.add(part)
        return result

    def _evolve(self, table: Table, parts: Iterable[NewColumns]) -> None:
        unknown = NewColumns()
        for part in parts:
            unknown.add(part)
        if unknown and not table.evolve(unknown):
            names = ", ".join(".".join(path) for path in sorted(unknown.fields))
            raise ConfigError(
                f"records of connector {self._config.name} need columns that the table cannot get: {names}. What is "
                "complete before them is stored. Change the records with a transform, or write to another table."
            )

    def _left_out(self, key: TopicPartition, part: PartitionResult) -> float:
        """The part of the records that went to no object, as the run before found it where this one completed none."""
        if part.read:
            return max(1 - part.stored.total() / part.read, 0.0)
        return self._seen[key].left_out if key in self._seen else 0.0

    def _note(self, key: TopicPartition, before: int, part: PartitionResult, seen: Seen) -> None:
        if part.position == before and seen.limited and not part.overflow:
            self._lengths[key] = 2 * self._lengths.get(key, self._config.max_records_per_batch)
        whole_run = part.bad is None and not (part.refused or part.unknown or part.overflow)
        if whole_run and (seen.end >= self._unsettled[key] or not seen.limited):
            del self._unsettled[key]
        self._seen[key] = seen

    def _spec(self, ends: Offsets, refused: Mapping[TopicPartition, Mapping[int, str]]) -> ObjectsSpec:
        written: dict[TopicPartition, set[int]] = {}
        for topic, partition, offset, _ in self._letters.written:
            written.setdefault((topic, partition), set()).add(offset)
        config = self._config
        if self._schema is not None:
            config = replace(config, json_schema=self._schema.current())
        return ObjectsSpec(
            config,
            self._store,
            {key: self._positions.offsets[key] for key in ends},
            ends,
            {
                key: replace(clock, ticks=list(clock.ticks))
                for key, clock in self._positions.clocks.items()
                if key in ends
            },
            {key: dict(found) for key, found in refused.items()},
            {key: frozenset(found) for key, found in written.items() if key in ends},
            None if self._table is None else self._table.columns,
            closing=frozenset(key for key, end in ends.items() if self._closes(key, end)),
        )

    def _report(
        self,
        parts: list[PartitionResult],
        duration_s: float,
        write_s: float,
        object_s: list[float],
        validation_s: float | None,
    ) -> BatchReport:
        stored: Counter[str] = sum((part.stored for part in parts), Counter())
        dead: Counter[str] = sum((part.dead for part in parts), Counter())
        skipped = sum((part.skipped for part in parts), Counter())
        return BatchReport(
            self._config.name,
            sum(part.read for part in parts),
            stored.total(),
            dead.total(),
            skipped.total(),
            sum(len(part.objects) for part in parts),
            sum(each.size for part in parts for each in part.objects),
            duration_s,
            write_s,
            0.0,
            dict(stored),
            dict(dead),
            dict(skipped),
            self.position,
            object_s,
            sum(part.invalid for part in parts),
            validation_s,
            (f"bucket {self._config.store.bucket}",),
            ("record", "object"),
        )


def _bad_record_message(bad: list[DeadLetter], connector: str) -> str:
    shown = "; ".join(str(letter) for letter in bad)
    return (
        f"a record cannot be stored: {shown}. The objects that are complete before it are stored, the position is "
        "behind them. For a record without a value set behavior.on.null.values to ignore or write; for another one set "
        f"errors.tolerance=all for {connector}: it goes to a dead-letter topic then. Or correct the producer, and make "
        "the connector again under a new name, with consumer.override.auto.offset.reset=latest to leave out what the "
        "topic has now."
    )
