"""The runs of a statement over a batch: computed and written by Spark, with the records that it fails on left out."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa
from pyspark.sql import SparkSession

from frazil.clients.kafka.ranges import Range
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.query import Query, data_exception
from frazil.connectors.sql.rehearsal import Rehearse
from frazil.connectors.sql.scan import InOrder, Refused, Scan, Scanned, ScannedTopic
from frazil.connectors.sql.state_query import StateQuery
from frazil.connectors.sql.write import Write, offsets_of
from frazil.errors import UsageError
from frazil.pipeline.bookings import Bookings
from frazil.pipeline.executor import Executor
from frazil.pipeline.poison import PoisonPills, Unforeseen
from frazil.pipeline.results import TableResult, TaskResult, combine
from frazil.pipeline.rows import Rows
from frazil.pipeline.source import Source, described
from frazil.pipeline.task_spec import TaskSpec
from frazil.pipeline.tolerating import tolerating
from frazil.pipeline.types import Struct

logger = logging.getLogger(__name__)

T = TypeVar("T")
_SEARCH = "search in frazil.sql"


@runtime_checkable
class SparkExecutor(Executor, Protocol):
    """An executor that has a session of Spark."""

    def in_session(self, do: Callable[[SparkSession], T], what: str) -> T:
        """Call a function with the session, as a job that ends with those of the connector; see `Executor.run`."""


class StatementFails(Unforeseen):
    """A statement that fails on the data of a record."""

    level = logging.INFO

    def __init__(self, said: str, cause: BaseException) -> None:
        super().__init__("statement", "", cause)
        self.args = (f"the statement fails on a record: {said}",)
        logger.debug("the statement of frazil.sql fails on a record: %s", said, exc_info=cause)
        self.said = said
        self.place = "frazil.sql"
        self.kind = type(cause), said.partition("]")[0]

    def reason(self) -> str:
        return f"the statement of frazil.sql fails on it: {self.said}"


class StatementRuns:
    """Runs a statement; `begin` is called before each batch."""

    def __init__(
        self,
        own: StatementConfig,
        topics: Sequence[ScannedTopic],
        executor: Executor,
        tables: Callable[[], Sequence[pa.Table]],
    ) -> None:
        """Raises UsageError without Spark, and ConfigError for a statement that Spark refuses."""
        if not isinstance(executor, SparkExecutor):
            raise UsageError("a connector with frazil.sql runs on Spark only: give drain a session, drain(spark=…)")
        self._statement = statement = own.statement
        self._pattern = topics[0] if topics[0].number < 0 else None
        self._topics = [] if self._pattern is not None else list(topics)
        self._executor = executor
        self._read_tables = tables
        self._refused: dict[tuple[str, int, int], tuple[str, str]] = {}
        self._tables = tables()
        self.query: Query = executor.in_session(
            lambda session: (
                StateQuery.over(session, statement, topics, own.state)
                if statement.state
                else Query.of(session, statement, topics, own.function, own.calls)
            ),
            "frazil.sql",
        )
        self.plan = self._do(lambda query: query.check(self._tables), "check of frazil.sql")

    def begin(self) -> None:
        """Take the tables as they are now, for all runs over the records of a batch."""
        self._tables = self._read_tables()
        self._refused = {}

    def try_rows(self, chunks: Sequence[Rows]) -> tuple[Bookings, pa.Table]:
        """Compute the rows of records that are here; also what became of those that the statement does not see."""
        while True:
            books, batches = Bookings(), defaultdict[int, list[pa.RecordBatch]](list)
            for rows in chunks:
                topic = self._topic(rows.topic)
                batch = topic.scan(rows, PoisonPills(), self._refused, books)
                if batch is not None:
                    batches[topic.relation].append(batch)
            try:
                return books, self._judged(lambda query: query.try_rows(batches, self._tables))  # noqa: B023
            except StatementFails as error:
                self.search(lambda: (rows for rows in chunks), error)

    def run(self, spec: TaskSpec, source: Source, shares: Sequence[Sequence[Range]]) -> TaskResult:
        """Compute and write the rows of the records of some ranges, a task for each share."""
        (table,) = (each.name for each in spec.tables)
        plain = replace(spec, transforms=None, envelope=None)
        scanned, written = self.compute(lambda names: Write(plain, names), source, shares)
        result = combine(each for each, _ in written)
        own = result.tables.setdefault(table, TableResult())
        if own.dead:
            self._refused |= {letter.coordinates: (letter.path, letter.reason) for letter in own.dead}
            return TaskResult({table: TableResult(files=own.files, again=True)})
        given = sum(each.given for each in scanned)
        gave = sum(map(len, offsets_of(part for _, records in written for part in records.items()).values()))
        own.read = given  # not the rows, of which a record may have several
        own.skipped["statement"] += given - gave
        for each in scanned:
            own.add(each.result)
            result.bytes_read += each.size
        return result

    def refuse(self, refused: Refused) -> None:
        """Let records of the batch be dead letters."""
        self._refused |= refused

    @property
    def refused(self) -> Refused:
        """The records of the batch that are refused."""
        return dict(self._refused)

    @property
    def columns(self) -> Struct:
        """Columns of the rows."""
        return self.query.columns

    def search(self, read: Callable[[], Generator[Rows]], failed: StatementFails) -> None:
        """Refuse the records that the statement fails on. Raises TerminalError where it is none of them alone."""
        found = self._failing(read, failed)
        self._refused |= found
        first = min(found)
        more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
        logger.warning("topic %s, partition %d, offset %d%s: %s", *first, more, found[first][1])

    def compute(
        self,
        writing: Callable[[Sequence[str]], Callable[[pa.Table], T]],
        source: Source,
        shares: Sequence[Sequence[Range]],
        in_order: InOrder | None = None,
    ) -> tuple[list[Scanned], list[T]]:
        """Compute the rows of ranges without the records that the statement fails on; see `Query.run`.

        `writing` makes what writes them, from the names of the topics by their numbers.
        """
        ranges = sorted((one for share in shares for one in share), key=lambda one: (one.key, one.begin))
        what = described(ranges)
        own = {one.topic: self._topic(one.topic) for one in ranges}
        write = writing(self.names)
        while True:
            refused = dict(self._refused)
            scans = [scan for share in shares for scan in scans_of(own, share, source, refused, in_order)]
            try:
                scanned, left, written = self._judged(lambda query: query.run(scans, self._tables, write), what)  # noqa: B023
            except StatementFails as error:
                self.search(lambda: source.read(ranges), error)
            else:
                return [*scanned, *self._executor.run([scan.report for scan in left], what)], written

    def _failing(self, read: Callable[[], Generator[Rows]], failed: StatementFails) -> Refused:
        """Find the records that the statement fails on, by computing ever smaller parts of them.

        Raises TerminalError as `tolerating` does, when it fails on each record or on none alone.
        """
        first = [failed]

        def run(chunks: Iterable[Rows], pills: PoisonPills) -> PoisonPills:
            if first:
                raise first.pop()
            return pills

        rehearsals: list[_Rehearsal] = []
        pills = tolerating(lambda: self._rehearsed(read, rehearsals), run, partial(self._rehearse, rehearsals))
        return {at: ("", pill.reason) for at, pill in pills.of_all_tables().items()}

    def _rehearsed(self, read: Callable[[], Generator[Rows]], rehearsals: list[_Rehearsal]) -> Generator[Rows]:
        """Give chunks of records; while one is looked at, the last of the rehearsals is that of its rows."""
        with closing(read()) as chunks:
            for rows in chunks:
                rehearsals.append(_Rehearsal(rows, self._planned(rows)))
                try:
                    yield rows
                finally:
                    rehearsals.pop()

    def _rehearse(self, rehearsals: Sequence[_Rehearsal], rows: Rows, pills: PoisonPills) -> None:
        """Compute the rows of some records of a chunk, one after the other; raises StatementFails."""
        planned = next((each.rehearse for each in reversed(rehearsals) if each.has(rows)), None)
        rehearse = planned or self._planned(rows)
        rehearse(int(rows.offsets[0]), int(rows.offsets[-1]), [int(rows.offsets[index]) for index in pills.among(rows)])

    def _planned(self, rows: Rows) -> Rehearse:
        topic = self._topic(rows.topic)

        def scan(chunks: Iterable[Rows], pills: PoisonPills) -> list[pa.RecordBatch | None]:
            return [topic.scan(each, pills, self._refused, Bookings()) for each in chunks]

        (batch,) = tolerating(lambda: (each for each in [rows]), scan, lambda each, pills: scan([each], pills))
        if batch is None:
            return lambda first, last, but: None
        rehearse: Rehearse = self._do(lambda query: query.rehearsal(topic.relation, batch, self._tables), _SEARCH)
        return lambda first, last, but: self._judged(lambda query: rehearse(first, last, but))

    def _judged(self, do: Callable[[Query], T], what: str = _SEARCH) -> T:
        """Compute some rows. Raises StatementFails for what the data of a record raise."""
        try:
            return self._do(do, what)
        except Exception as error:
            said = data_exception(error, self._statement)
            if said is None:
                raise
            raise StatementFails(said, error) from error

    @property
    def names(self) -> list[str]:
        """The names of the topics by their numbers, as far as records of them were seen."""
        return [topic.name for topic in self._topics]

    def _topic(self, name: str) -> ScannedTopic:
        """Find a topic by its name; of a pattern, it may be new."""
        found = next((topic for topic in self._topics if topic.name == name), None)
        if found is not None:
            return found
        assert self._pattern is not None  # noqa: S101 - all that are named are known
        self._topics.append(replace(self._pattern, number=len(self._topics), name=name))
        return self._topics[-1]

    def _do(self, do: Callable[[Query], T], what: str) -> T:
        return self._executor.in_session(lambda session: do(self.query), what)


def scans_of(
    topics: Mapping[str, ScannedTopic],
    share: Sequence[Range],
    source: Source,
    refused: Refused,
    in_order: InOrder | None,
) -> Iterable[Scan]:
    """Make the scans of a share of the records: one for each of the topics that it has."""
    for name, topic in topics.items():
        ranges = [one for one in share if one.topic == name]
        if ranges:
            keys = {one.key for one in ranges}
            own = {at: why for at, why in refused.items() if at[:2] in keys}
            yield Scan(topic, source, ranges, own, in_order)


@dataclass(frozen=True)
class _Rehearsal:
    """The records of a chunk, and what computes the rows of parts of them."""

    rows: Rows
    rehearse: Rehearse

    def has(self, rows: Rows) -> bool:
        own = self.rows
        return (own.topic, own.partition) == (rows.topic, rows.partition) and bool(
            own.offsets[0] <= rows.offsets[0] and rows.offsets[-1] <= own.offsets[-1]
        )
