"""The contract of a sink: what an engine, the REST API and the command line ask of whatever stores records.

A sink is made from a checked configuration and does nothing until it is asked. Its task is what runs: it is made anew
at each start of the connector, and used from one thread at a time.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from frazil.connectors.breakers import Breakers
from frazil.connectors.keys.maintenance import MaintenanceConfig
from frazil.connectors.keys.sink_config import SinkConfig
from frazil.connectors.positions import Changes
from frazil.errors import NotComparable, NotReplayable, UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.report import BatchReport, Totals
from frazil.pipeline.source import check_progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from frazil.connectors.backfill import Backfill
    from frazil.connectors.checks.compare import Limits, Progress
    from frazil.connectors.checks.result import RangeCheck
    from frazil.connectors.plan import Plan
    from frazil.connectors.sample import Sample
    from frazil.connectors.typed_records import TypedRecords
    from frazil.pipeline.letters.letter import Letter
    from frazil.pipeline.letters.log import Queue
    from frazil.pipeline.task_spec import Bounds

Verdict = Literal["stored", "present", "skipped", "waits", "fails", "never"]
"""Verdict on a dead letter: stored now; in the table already; nothing to store (a transform leaves it out); its
connector has not read past the record yet and may still store it itself; still refused; of a connector that can store
none after all. The first three close it."""

WORDS: Mapping[Verdict, tuple[str, str]] = {
    "stored": ("stored", "would be stored"),
    "present": ("in the table already", "in the table already"),
    "skipped": ("left out by the connector", "would be left out by the connector"),
    "waits": ("open", "would stay open"),
    "fails": ("open", "would fail again"),
    "never": ("open", "cannot be replayed"),
}
"""Words for what became of a dead letter, and for what would become of it."""


NO_REPLAY = "They stay open. Produce each correct record to its topic again, then `deadletters drop` them."
"""Way out for dead letters that cannot be replayed."""


@dataclass(frozen=True)
class Outcome:
    """Outcome for a dead letter; `reason` says why it stays open."""

    letter: Letter
    verdict: Verdict
    reason: str = ""

    @property
    def closed(self) -> bool:
        """Whether the dead letter is closed."""
        return self.verdict not in ("waits", "fails", "never")


@dataclass(frozen=True)
class Concern:
    """Something in the store of a sink that will make trouble: what it is, what it causes, and what to do."""

    what: str
    effect: str
    cure: str


_BURST_RECORDS = 100_000
"""Number of waiting records that are stored before the commit interval is over."""
_BATCH_BYTES = 1 << 30
"""A batch reads about so many bytes, by the size that the records of the batch before had."""


@dataclass(frozen=True)
class Runs:
    """Ids of the runs of one worker process after the other: of the one that commits now, and of those before it."""

    current: str
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SinkContext:
    """Surroundings of a sink: the executor of its tasks, the breakers of stores, and the runs of the worker, if any.

    `at_once`: records do not wait for a commit interval.
    """

    executor: Executor
    breakers: Breakers = field(default_factory=Breakers)
    runs: Runs | None = None
    at_once: bool = False


@dataclass(frozen=True)
class MaintainedTables:
    """Access to the tables of a connector; `branches` gives their names with the branch that it commits to."""

    branches: Callable[[], Mapping[str, str]]
    catalog_properties: Mapping[str, str]
    config: MaintenanceConfig


@dataclass(frozen=True)
class Due:
    """Range that a batch is to read: up to below `ends`. Partitions in `more` have due records behind that as well.

    `at_ms` is when this was found, in epoch milliseconds. Without `ends` nothing is due.
    """

    ends: Offsets = field(default_factory=dict)
    more: frozenset[TopicPartition] = frozenset()
    at_ms: int = 0


class SinkTask(ABC):
    """A sink that runs: stores records up to given ends, and knows where it stands."""

    @property
    @abstractmethod
    def position(self) -> Offsets:
        """The next offset of each partition."""

    @abstractmethod
    def due(self, ends: Offsets, now_ms: int) -> Due:
        """Find the records to read now, given the ends of the partitions and the time in epoch milliseconds.

        Raises a TransientError when the connector has to start again, as with other partitions.
        """

    def find_due(self, ends: Offsets, now_ms: int) -> Due:
        """Find the records to read now, as `due` does, where the topics have what was read by now.

        Raises PositionLost or ServiceUnavailable where they do not, and as `due` does.
        """
        check_progress(self.position, ends)
        return self.due(ends, now_ms)

    @abstractmethod
    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        """Store the records from the position to below the ends that are due; `committed` gets what is durable.

        Returns when the position is stored behind the records. Raises BadRecord after everything before the bad record
        is stored, PositionLost, Fenced, or a TransientError: then the connector starts again from its stored position.
        """

    def store(self, ends: Offsets) -> Totals:
        """Store all records below the ends, step by step, and close the task. Raises as `step` does."""
        totals = Totals()

        def committed(report: BatchReport) -> None:
            nonlocal totals
            totals = totals.plus(report)

        with closing(self):
            while (due := self.due({**self.position, **ends}, round(time.time() * 1000))).ends:
                self.step(due, committed)
        return totals

    def maintained(self) -> MaintainedTables | None:
        """The tables that the worker has to look after; None when there are none."""
        return None

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """End what runs between batches, a running batch too; from any thread, idempotent."""


class Sink(ABC):
    """A sink as its configuration describes it."""

    @property
    @abstractmethod
    def config(self) -> SinkConfig:
        """The checked configuration."""

    @property
    def _reads_headers(self) -> bool:
        """Whether its tasks need headers of records, also where no record becomes a dead letter."""
        return self.config.reads_headers

    @abstractmethod
    def start(self, context: SinkContext, topics: Sequence[str]) -> SinkTask:
        """Check what the sink writes to, and take the stored position.

        Raises PositionLost, NotFound, ConfigError or ServiceUnavailable; nothing was read then.
        """

    @abstractmethod
    def alter(self, changes: Changes | None) -> list[str]:
        """Move the position of a connector that does not run, or forget it with None; returns remarks for the user."""

    def sample(
        self, count: int, most_rows: int, say: Callable[[str], None], on_spark: Callable[[], Executor]
    ) -> Sample:
        """Judge the newest `count` records of the topics, and show at most `most_rows` rows of each table.

        Nothing is written, and no consumer group is used; `say` shows a step. `on_spark` gives an executor of Spark,
        which it starts. Raises UsageError where the sink has no such judgement.
        """
        raise UsageError(f"a sample is for sinks of tables; leave it out to check the configuration of {self.name}")

    def explain(self, say: Callable[[str], None], on_spark: Callable[[], Executor]) -> Plan:
        """Plan the statement of the connector; `say` and `on_spark` are those of `sample`.

        Raises UsageError where the sink has no statement, ConfigError for one that Spark refuses.
        """
        raise UsageError(f"{self.name} has no statement; explain is for connectors of class frazil.SqlConnector")

    def backfill(self, since_ms: int | None, until_ms: int | None, table: str = "") -> Backfill:
        """Find the records between two of Kafka's times in epoch ms, whose rows can be stored beside the position.

        With `table` the rows of an Iceberg table stand for the records of the topic.

        Nothing is written. Raises UsageError where the sink cannot, NotFound, PositionLost or ServiceUnavailable.
        """
        raise UsageError(
            f"{self.name} cannot be backfilled: a backfill is for connectors of class frazil.SqlConnector whose "
            "rows are stored or sent. Nothing was done"
        )

    def records(
        self, topic: str, since_ms: int | None, until_ms: int | None, within: Bounds | None = None
    ) -> TypedRecords:
        """Find the records of a topic between two of Kafka's times in epoch ms, and `within` offsets; see
        `api.Connector.dataframe`.

        Raises UsageError where records have no columns that are known before, NotFound or ServiceUnavailable.
        """
        raise UsageError(
            f"records of {self.name} have no columns; a frame is for connectors of class frazil.SqlConnector"
        )

    def through(self, function: Callable[[DataFrame], DataFrame]) -> None:
        """Let rows of the statement go through a function of the program, in place of the one of frazil.python.

        Raises UsageError without a statement, and for one with state.
        """
        raise UsageError(
            f"{self.name} has no statement; rows of connectors of class frazil.SqlConnector can go through a function"
        )

    def store_batch(self, frame: DataFrame, number: int, executor: Executor) -> BatchReport | None:
        """Store a batch of a program's own stream of Spark, once; None where its table has it.

        Raises UsageError where the sink is none of a SQL connector with a table, and outside of foreachBatch.
        """
        raise UsageError(
            f"rows of {self.name} are not in a table of a connector of class frazil.SqlConnector, which knows which "
            "batches it has. Nothing was stored"
        )

    def obstacles(self) -> list[str]:
        """Reasons why it cannot run in this process, with these settings: files that they do not allow."""
        return []

    def refusals(self) -> list[str]:
        """Reasons why it cannot run that only its store tells; asked before a connector is created or changed.

        Raises ConfigError when the store refuses it, ServiceUnavailable.
        """
        return []

    def problems(self) -> list[str]:
        """Refusals, and all else that its store lacks now. Raises as `refusals` does."""
        return self.refusals()

    def concerns(self) -> list[Concern]:
        """Find what works now, and will make trouble. Raises as `refusals` does."""
        return []

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        """Compare the topics, up to the stored position, with what is stored of them.

        Raises NotComparable, UsageError for limits that are not for this sink, NotFound or ServiceUnavailable.
        """
        raise NotComparable(f"what {self.name} stores cannot be compared with its topics")

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        """Make what stores dead letters of the queues after all; with `dry_run` it only tells their outcomes.

        Asks no service. Raises NotReplayable where the sink cannot store them.
        """
        raise NotReplayable(
            f"dead letters of {self.name} cannot be replayed, for it is no sink of Iceberg tables. {NO_REPLAY}"
        )

    @property
    def name(self) -> str:
        """The connector's name."""
        return self.config.name


class Replayer(Protocol):
    """Stores dead letters of one connector."""

    def replay(self, letters: Sequence[Letter]) -> Sequence[Outcome]:
        """Store those of a chunk that can be stored by now; the caller then writes the markers of the closed ones.

        Raises NotFound or ConfigError when the connector cannot store any; after a TransientError the same call may be
        repeated.
        """


class CommitInterval:
    """Rule for sinks without open objects: records are due after an interval, or when many wait.

    Example: with an interval of 10 s and at most 500,000 records, 2,000 waiting records are due 10 s after the batch
    before; 150,000 at once; of 1,200,000 at once the first 500,000, of each partition its share.
    """

    def __init__(self, interval_ms: int, max_records: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s = interval_ms / 1000
        self._max_records = max_records
        self._clock = clock
        self._last: float | None = None
        self._record_bytes = 0.0

    def due(self, position: Offsets, ends: Offsets, now_ms: int) -> Due:
        """Find the due records in between; the ends are of all partitions, those without new records too."""
        waiting = {key: end - position.get(key, 0) for key, end in ends.items()}
        total = sum(waiting.values())
        most = self._most()
        if not total or (total < min(_BURST_RECORDS, most) and not self._is_over()):
            return Due()
        if total <= most:
            return Due(dict(ends), at_ms=now_ms)
        shares = {key: position.get(key, 0) + -(-behind * most // total) for key, behind in waiting.items()}
        return Due(shares, frozenset(key for key, end in ends.items() if shares[key] < end), now_ms)

    def began(self) -> None:
        """Note that a batch begins."""
        self._last = self._clock()

    def measured(self, records: int, size: int) -> None:
        """Note how many bytes the records of a batch had."""
        if records:
            self._record_bytes = size / records

    def _most(self) -> int:
        if not self._record_bytes:
            return self._max_records
        return max(1, min(self._max_records, int(_BATCH_BYTES / self._record_bytes)))

    def _is_over(self) -> bool:
        return self._last is None or self._clock() - self._last >= self._interval_s
