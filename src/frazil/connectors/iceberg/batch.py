"""Batch into all tables of a connector: runs over its rows until every table has its share."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Literal

from frazil.connectors.dead_letters import leaving_out
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.sink_table import Progress, SinkTable, count, cut, divide
from frazil.connectors.iceberg.sink_tables import SinkTables
from frazil.connectors.iceberg.table.commit import Commit
from frazil.connectors.iceberg.table.writers import abandon, discovery
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import BadRecord
from frazil.pipeline import offsets
from frazil.pipeline.gaps import all_wanted
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import NewColumns, SkipReason, State, TableResult, TaskResult
from frazil.pipeline.task_spec import Bounds, Routing, TaskSpec


@dataclass
class BatchCounts:
    """A record that goes to several tables counts once for each."""

    started: float = field(default_factory=time.monotonic)
    read: int = 0
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    dead: Counter[str] = field(default_factory=Counter)
    files: int = 0
    bytes_written: int = 0
    newest: dict[str, int] = field(default_factory=dict)
    schema_ids: dict[str, int] = field(default_factory=dict)
    state: State | None = None
    write_s: float = 0.0
    commit_s: float = 0.0

    def add(self, result: TableResult, table: str = "") -> None:
        """Count what is safe now: committed to a table, or written as dead letters."""
        if table and result.last_timestamps:
            self.newest[table] = max(self.newest.get(table, 0), *result.last_timestamps.values())
        self.read += result.read
        self.skipped.update(result.skipped)
        self.stored.update(result.stored)
        self.dead.update(letter.topic for letter in result.dead)
        self.state = result.state or self.state
        self.files += len(result.files)
        self.bytes_written += sum(file.file_size_in_bytes for file in result.files)

    def report(self, connector: str, reached: Iterable[Offsets]) -> BatchReport:
        """Report for status and metrics; `reached` are the positions of all tables."""
        several = list(reached)
        lowest = {key: min(each[key] for each in several) for key in several[0] if all(key in each for each in several)}
        return BatchReport(
            connector=connector,
            read=self.read,
            stored=self.stored.total(),
            dead_letters=self.dead.total(),
            skipped=self.skipped.total(),
            files=self.files,
            bytes_written=self.bytes_written,
            duration_s=time.monotonic() - self.started,
            write_s=self.write_s,
            commit_s=self.commit_s,
            stored_by_topic=dict(self.stored),
            dead_by_topic=dict(self.dead),
            skipped_by_reason=dict(self.skipped),
            end_offsets=lowest,
            newest=dict(self.newest),
            schema_ids=dict(self.schema_ids),
            state=self.state,
        )


Run = Callable[[TaskSpec, bool], TaskResult]
"""Runs tasks over the records of a spec, only one when the second argument says so; returns their results in one."""


@dataclass
class Batch:
    """Stores the records from `begin` to `end`; made for one batch.

    Each round runs tasks over the records of all tables that lack some, in one pass, and commits those whose result is
    clean. The others leave nothing but a better plan for the next round: more columns, rows that changes want, or
    smaller pieces. Example: 100 records for tables `a` and `b`; record 30 has a new field, and `b` takes no more than
    10 dead letters in one task but has 15, all behind record 50.

    | round | reads | `a` | `b` |
    |---|---|---|---|
    | 1 | 0 to 100 | "again": gets a column, nothing is committed | "divide": nothing is committed |
    | 2 | 0 to 50 | "clean": committed up to 50 | "clean": committed up to 50 |
    | 3 | 50 to 100 | "clean": committed up to 100 | "divide" |
    | 4, 5 | 50 to 75, 75 to 100 | has them | "clean", twice |

    A record that empties its table is a piece of its own, between those before and behind it.

    A record that may not be stored while bad records are not tolerated is a wall for its table: the rounds go on below
    it, and BadRecord is raised in the end.
    """

    config: IcebergSinkConfig
    identity: KafkaIdentity
    letters: LetterBook
    sink_tables: SinkTables
    begin: Offsets
    end: Offsets
    run: Run

    def __post_init__(self) -> None:
        self.counts = BatchCounts()
        self.tables = self.sink_tables.begin(self.begin)
        self.rest = Progress(self.begin) if self.routed else None
        self._closed = ""
        """Reason to refuse records that name tables beside those that are known by now."""
        self._cuts: set[int] = set()
        """Offsets of records that have to be a piece of their own."""

    @property
    def routed(self) -> bool:
        """Whether a route chooses the tables of each record."""
        return self.config.route is not None

    @property
    def commits(self) -> int:
        """Number of commits made."""
        return sum(table.commits for table in self.tables)

    @property
    def used(self) -> set[str]:
        """The tables that had records."""
        return {table.name for table in self.tables if table.commits or table.refusal}

    def report(self) -> BatchReport:
        """Count what is committed by now."""
        return self.counts.report(self.config.name, [each.reached for each in self._all()])

    def store(self) -> None:
        """Return when everything is committed.

        Raises BadRecord after everything before the bad record is committed, and whatever keeps a table from being
        committed; the other tables have their share then, or none of it.
        """
        pieces = [self.end]
        while pieces:
            ceiling = self._capped(pieces[0])
            pending = [table for table in self.tables if not table.is_done(table.cap(ceiling))]
            rest_pending = self.rest is not None and not self.rest.is_done(ceiling)
            if pending or rest_pending:
                if self._round(pending, ceiling, rest_pending=rest_pending):
                    pieces = divide(self._lowest(), self.end, 2 * len(pieces))
                pieces = cut(pieces, self._cuts)
                self._cuts.clear()
                continue
            for each in self._all():
                each.reached = offsets.merge(each.reached, each.cap(ceiling))
            pieces.pop(0)
        bad = [letter for each in self._all() for letter in each.bad]
        if bad:
            raise BadRecord(bad_record_message(bad, self.config.name))

    def _all(self) -> list[Progress]:
        return [*self.tables, *([self.rest] if self.rest is not None else [])]

    def _capped(self, ceiling: Offsets) -> Offsets:
        """Cap the offsets at the first bad record that goes to no table: no table would know of it."""
        return ceiling if self.rest is None else self.rest.cap(ceiling)

    def _lowest(self) -> Offsets:
        end = self._capped(self.end)
        lows = [each.low(end) for each in self._all() if not each.is_done(each.cap(end))]
        return {key: min(low[key] for low in lows) for key in end}

    def _each(self, tables: Sequence[SinkTable], do: Callable[[SinkTable], None]) -> None:
        """Do something for each table, some at the same time. Raises the first error when all are through."""
        if len(tables) < 2:
            for table in tables:
                do(table)
            return
        with ThreadPoolExecutor(min(self.config.commit_threads, len(tables))) as threads:
            done = [threads.submit(do, table) for table in tables]
        for future in done:
            future.result()

    def _round(self, pending: Sequence[SinkTable], ceiling: Offsets, *, rest_pending: bool) -> bool:
        """Run once over the rows; True when they have too many dead letters for one piece."""
        self._each(pending, lambda table: table.load(self.identity))
        pending = [table for table in pending if not table.is_done(table.cap(ceiling))]
        if not pending and not rest_pending:
            return False
        spec = self._spec(pending, ceiling, rest_pending=rest_pending)
        one_task = any(table.before is not None for table in pending)  # which needs to see the changes in their order
        result = self.run(spec, one_task)
        if rest_pending and not self._finish_rest(result, ceiling):
            for table in pending:
                abandon(table.table, result.tables[table.name].files)
            return result.rest.overflow and not (self.rest and self.rest.bad)
        verdicts = {table.name: self._judge(table, result.tables[table.name], ceiling) for table in pending}
        for table in pending:
            if verdicts[table.name] != "clean":
                abandon(table.table, result.tables[table.name].files)
        self._finish([table for table in pending if verdicts[table.name] == "clean"], result.tables, ceiling)
        return "divide" in verdicts.values()

    def _spec(self, pending: Sequence[SinkTable], ceiling: Offsets, *, rest_pending: bool) -> TaskSpec:
        tables = tuple(table.spec(table.cap(ceiling)) for table in pending)
        routing = None
        if self.config.route is not None:
            rest = Bounds(self.rest.low(ceiling), ceiling) if self.rest is not None and rest_pending else None
            known = frozenset(table.name for table in self.tables)
            discover = discovery(self.config) if self.config.auto_create else None
            routing = Routing(self.config.route, rest, known, discover, self._closed)
        in_order = len(self.end) == 1
        return TaskSpec(tables, self.config.transforms, routing, self.config.envelope, in_order=in_order)

    def _finish_rest(self, result: TaskResult, ceiling: Offsets) -> bool:
        """Book the records that go to no table; False when the run cannot be used."""
        assert self.rest is not None  # noqa: S101 - it is pending
        if result.rest.dead and not self.letters.tolerant:
            self.rest.bad += result.rest.dead
            return False
        if result.rest.overflow:
            return False
        more, self._closed = self.sink_tables.find(result.missing, self.begin)
        self.tables += more
        if self._closed:  # which the tasks did not know yet
            return False
        low = self.rest.low(ceiling)
        self.letters.write(result.rest.dead)
        self.letters.close_stored("", {letter.refusal for letter in result.rest.dead}, low, ceiling)
        self.counts.add(result.rest)
        self.rest.reached = offsets.merge(self.rest.reached, ceiling)
        return True

    def _judge(self, table: SinkTable, result: TableResult, ceiling: Offsets) -> Literal["clean", "again", "divide"]:
        """Tell whether the result can be committed; prepare the next run, but for a division."""
        if result.again:
            return "again"
        if result.truncates and count(table.low(ceiling), table.cap(ceiling)) > 1:
            self._cuts |= result.truncates
            return "again"
        if result.dead and not self.letters.tolerant:
            table.bad += result.dead
            return "again"
        if table.table is None and not table.refusal and (result.stored or result.lacks):
            table.create(NewColumns(result.unknown, result.seen, result.doubtful, result.key_fields))
            return "again"
        if result.lacks and self.config.evolve_schema and table.table is not None:
            table.evolve(result)
            return "again"
        if result.wanted and table.table is not None:
            table.find_before(all_wanted(result.wanted))
            return "again"
        return "divide" if result.overflow else "clean"

    def _finish(self, tables: Sequence[SinkTable], results: Mapping[str, TableResult], ceiling: Offsets) -> None:
        """Dead letters first, then the commits that move the positions past them."""
        names_tables = self.routed or len(self.tables) > 1
        for table in tables:
            found = results[table.name]
            found.dead = [replace(letter, table=table.name if names_tables else "") for letter in found.dead]
        self.letters.write([letter for table in tables for letter in results[table.name].dead])
        lows = {table.name: table.low(ceiling) for table in tables}
        started = time.monotonic()
        try:
            self._each(tables, lambda table: self._commit(table, results[table.name], table.cap(ceiling)))
        finally:
            self.counts.commit_s += time.monotonic() - started
            self.counts.write_s += max((results[table.name].write_s for table in tables), default=0.0)
            for table in tables:
                if table.is_done(table.cap(ceiling)):
                    self.counts.add(results[table.name], table.name)
                    if table.table is not None:
                        self.counts.schema_ids[table.name] = table.table.schema().schema_id
        for table in tables:
            dead = {letter.refusal for letter in results[table.name].dead}
            self.letters.close_stored(table.name if names_tables else "", dead, lows[table.name], table.cap(ceiling))

    def _commit(self, table: SinkTable, result: TableResult, ceiling: Offsets) -> None:
        """Commit one table; a table that is to have none of the records stays as it is.

        One that was rolled back moves on with every batch, until it is where it was.
        """
        if table.table is not None and (result.read or not self.routed or table.floor.rolled_back):
            table.commit(
                Commit(
                    self.config.name,
                    result.files,
                    self.begin,
                    offsets.merge(result.next_offsets, ceiling),
                    self.identity,
                    valid_through(result, ceiling),
                    complete=self.begin if self.routed else {},
                    changes=result.changes,
                    letters=self.letters.marks(ceiling),
                    reached=result.reached,
                    truncates=bool(result.truncates),
                    state=result.state.manifest if result.state is not None else "",
                )
            )
            if result.anew:
                table.tell_anew()
        table.done(ceiling)


def valid_through(result: TableResult, ceiling: Offsets) -> int | None:
    """The lowest of the partitions' last record times in ms; None when a partition was idle."""
    if ceiling.keys() - result.last_timestamps.keys():
        return None
    return min(result.last_timestamps.values(), default=None)


def bad_record_message(bad: Sequence[DeadLetter], connector: str) -> str:
    """The text of BadRecord."""
    first: dict[tuple[str, int], DeadLetter] = {}
    for letter in sorted(bad, key=lambda letter: letter.offset):
        first.setdefault((letter.topic, letter.partition), letter)
    shown = "; ".join(str(letter) for letter in first.values())
    return (
        f"a record cannot be stored: {shown}. The rows of the records before it are in the table. Set "
        f"errors.tolerance=all for {connector}: such records go to a dead-letter topic then, and the records behind "
        f"them are stored. {leaving_out(first.values(), connector)} Or correct the producer and create the connector "
        "again under a new name, with consumer.override.auto.offset.reset=latest to leave out what the topic has now."
    )
