"""One micro-batch into all tables of a connector: runs over its rows until every table has its share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.pieces import divide
from frazil.connectors.iceberg.table.column_limits import admit
from frazil.connectors.iceberg.table.commit import Batch, KafkaIdentity
from frazil.connectors.iceberg.table.evolve import evolve
from frazil.connectors.iceberg.table.job import abandon, discovery
from frazil.connectors.iceberg.tables import Tables
from frazil.connectors.iceberg.totals import Totals
from frazil.connectors.iceberg.work import Progress, Work
from frazil.errors import BadRecord, ConfigError
from frazil.pipeline import offsets
from frazil.pipeline.gaps import all_wanted
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import TableResult, TaskResult
from frazil.pipeline.task import Bounds, Routing, TaskSpec

Run = Callable[[TaskSpec, bool], TaskResult]
"""Runs tasks over the records of a spec, only one when the second argument says so; returns their results in one."""


@dataclass
class BatchJob:
    """Stores the rows from `begin` to `end`; made for one batch.

    Each round runs the tables that lack something, all in one pass, and commits those whose result is clean. The others
    leave nothing but a better plan for the next round: more columns, or smaller pieces.
    """

    config: IcebergSinkConfig
    identity: KafkaIdentity
    letters: LetterBook
    tables: Tables
    begin: Offsets
    end: Offsets
    run: Run

    def __post_init__(self) -> None:
        self.totals = Totals()
        self.works = self.tables.works(self.begin)
        self.rest = Progress(self.begin) if self.routed else None

    @property
    def routed(self) -> bool:
        """Whether not each table gets each record."""
        return self.config.route is not None

    @property
    def commits(self) -> int:
        """How many commits were made."""
        return sum(work.commits for work in self.works)

    @property
    def used(self) -> set[str]:
        """The tables that had records."""
        return {work.name for work in self.works if work.commits or work.refusal}

    def report(self) -> BatchReport:
        """What is safe by now."""
        return self.totals.report(self.config.name, [each.reached for each in self._all()])

    def store(self) -> None:
        """Return when everything is committed.

        Raises BadRecord after everything before the bad record is committed, and whatever keeps a table from being
        committed; the other tables have their share then, or none of it.
        """
        pieces = [self.end]
        while pieces:
            ceiling = self._capped(pieces[0])
            pending = [work for work in self.works if not work.is_done(work.cap(ceiling))]
            rest_pending = self.rest is not None and not self.rest.is_done(ceiling)
            if pending or rest_pending:
                if self._round(pending, ceiling, rest_pending=rest_pending):
                    pieces = divide(self._lowest(), self.end, 2 * len(pieces))
                continue
            for each in self._all():
                each.reached = offsets.merge(each.reached, each.cap(ceiling))
            pieces.pop(0)
        bad = [letter for each in self._all() for letter in each.bad]
        if bad:
            raise BadRecord(bad_record_message(bad, self.config.name))

    def _all(self) -> list[Progress]:
        return [*self.works, *([self.rest] if self.rest is not None else [])]

    def _capped(self, ceiling: Offsets) -> Offsets:
        """Nothing may pass a bad record that goes to no table: no table would know of it."""
        return ceiling if self.rest is None else self.rest.cap(ceiling)

    def _lowest(self) -> Offsets:
        end = self._capped(self.end)
        lows = [each.low(end) for each in self._all() if not each.is_done(each.cap(end))]
        return {key: min(low[key] for low in lows) for key in end}

    def _each(self, works: Sequence[Work], do: Callable[[Work], None]) -> None:
        """Do something for each table, some at the same time. Raises the first error when all are through."""
        if len(works) < 2:
            for work in works:
                do(work)
            return
        with ThreadPoolExecutor(min(self.config.commit_threads, len(works))) as threads:
            done = [threads.submit(do, work) for work in works]
        for future in done:
            future.result()

    def _round(self, pending: Sequence[Work], ceiling: Offsets, *, rest_pending: bool) -> bool:
        """One run over the rows; True when it found too many dead letters for one piece."""
        self._each(pending, lambda work: self.tables.load(work, self.begin))
        pending = [work for work in pending if not work.is_done(work.cap(ceiling))]
        if not pending and not rest_pending:
            return False
        spec = self._spec(pending, ceiling, rest_pending=rest_pending)
        one_task = any(work.before is not None for work in pending)  # which needs to see the changes in their order
        result = self.run(spec, one_task)
        if rest_pending and not self._finish_rest(result, ceiling):
            for work in pending:
                abandon(work.table, result.tables[work.name].files)
            return result.rest.overflow and not (self.rest and self.rest.bad)
        verdicts = {work.name: self._judge(work, result.tables[work.name]) for work in pending}
        for work in pending:
            if verdicts[work.name] != "clean":
                abandon(work.table, result.tables[work.name].files)
        self._finish([work for work in pending if verdicts[work.name] == "clean"], result.tables, ceiling)
        return "divide" in verdicts.values()

    def _spec(self, pending: Sequence[Work], ceiling: Offsets, *, rest_pending: bool) -> TaskSpec:
        tables = tuple(work.spec(work.cap(ceiling)) for work in pending)
        routing = None
        if self.config.route is not None:
            rest = Bounds(self.rest.low(ceiling), ceiling) if self.rest is not None and rest_pending else None
            known = frozenset(work.name for work in self.works)
            discover = discovery(self.config) if self.config.auto_create else None
            routing = Routing(self.config.route, rest, known, discover)
        return TaskSpec(tables, self.config.transforms, routing, self.config.schemas_enable)

    def _finish_rest(self, result: TaskResult, ceiling: Offsets) -> bool:
        """Book the records that go to no table; False when the run cannot be used."""
        assert self.rest is not None  # noqa: S101 - it is pending
        if result.rest.dead and not self.letters.tolerant:
            self.rest.bad += result.rest.dead
            return False
        if result.rest.overflow:
            return False
        low = self.rest.low(ceiling)
        self.letters.write(result.rest.dead)
        self.letters.close_stored("", {letter.refusal for letter in result.rest.dead}, low, ceiling)
        self.totals.add(result.rest)
        self.rest.reached = offsets.merge(self.rest.reached, ceiling)
        self.works += self.tables.find(result.missing, self.begin)
        return True

    def _judge(self, work: Work, result: TableResult) -> Literal["clean", "again", "divide"]:
        """Whether the result can be committed; what the next run needs is done already, but for a division."""
        if result.dead and not self.letters.tolerant:
            work.bad += result.dead
            return "again"
        if work.table is None and not work.refusal and result.stored:
            self.tables.create(work, result.unknown, result.seen)
            return "again"
        if (result.unknown or result.absent) and self.config.evolve_schema and work.table is not None:
            schema = work.table.schema()
            admitted = admit(self.config, schema, result.unknown, result.seen)
            work.no_more_columns = admitted.refusal or work.no_more_columns
            now = evolve(work.target.catalog, work.table, admitted.fields, result.absent).schema()
            if now == schema and not admitted.refusal:
                raise ConfigError(
                    f"{work.name} cannot have columns for the unknown fields "
                    f"{', '.join(repr('.'.join(path)) for path in sorted(result.unknown))}; nothing was written. "
                    "Set iceberg.tables.evolve-schema-enabled=false, or correct the producer"
                )
            return "again"
        if result.wanted and work.table is not None:
            work.before = work.strategy.before(work.target, work.table, all_wanted(result.wanted))
            return "again"
        return "divide" if result.overflow else "clean"

    def _finish(self, works: Sequence[Work], results: Mapping[str, TableResult], ceiling: Offsets) -> None:
        """Dead letters first, then the commits that move the positions past them."""
        names_tables = self.routed or len(self.works) > 1
        for work in works:
            found = results[work.name]
            found.dead = [replace(letter, table=work.name if names_tables else "") for letter in found.dead]
        self.letters.write([letter for work in works for letter in results[work.name].dead])
        lows = {work.name: work.low(ceiling) for work in works}
        started = time.monotonic()
        try:
            self._each(works, lambda work: self._commit(work, results[work.name], work.cap(ceiling)))
        finally:
            self.totals.commit_s += time.monotonic() - started
            self.totals.write_s += max((results[work.name].write_s for work in works), default=0.0)
            for work in works:
                if work.is_done(work.cap(ceiling)):
                    self.totals.add(results[work.name])
        for work in works:
            dead = {letter.refusal for letter in results[work.name].dead}
            self.letters.close_stored(work.name if names_tables else "", dead, lows[work.name], work.cap(ceiling))

    def _commit(self, work: Work, result: TableResult, ceiling: Offsets) -> None:
        """Commit one table; a table that is to have none of the records stays as it is.

        One that was rolled back moves on with every batch, until it is where it was.
        """
        if work.table is not None and (result.read or not self.routed or work.floor.rolled_back):
            batch = Batch(
                self.config.name,
                result.files,
                self.begin,
                offsets.merge(result.next_offsets, ceiling),
                self.identity,
                valid_through(result, ceiling),
                complete=self.begin if self.routed else {},
                changes=result.changes,
            )
            work.strategy.commit(work.target, work.table, work.floor, batch)
            work.commits += 1
        work.before = None
        work.reached = offsets.merge(work.reached, ceiling)


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
        f"a record cannot be stored: {shown}. Everything before it is in the table. Set errors.tolerance=all for "
        f"{connector}: such records go to a dead-letter topic then, and the records behind them are stored. Or correct "
        "the producer and create the connector again under a new name, with consumer.override.auto.offset.reset=latest "
        "to leave out what the topic has now."
    )
