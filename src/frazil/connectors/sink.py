"""The contract of a sink: what an engine, the REST API and the command line ask of whatever stores records.

A sink is made from a checked configuration and does nothing until it is asked. Its task is what runs: it is made anew
at each start of the connector, and used from one thread at a time.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from frazil.connectors.breakers import Breakers
from frazil.connectors.keys.framework import SinkConfig
from frazil.connectors.keys.maintenance import MaintenanceConfig
from frazil.connectors.positions import Changes
from frazil.errors import ConfigError, UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.report import BatchReport

if TYPE_CHECKING:
    from confluent_kafka import Message

    from frazil.connectors.checks.result import RangeCheck
    from frazil.pipeline.letters.letter import Letter
    from frazil.pipeline.letters.log import Queue

_BURST_RECORDS = 100_000
"""So many waiting records are stored before the commit interval is over."""


@dataclass(frozen=True)
class Runs:
    """Ids of the runs of one worker process after the other: of the one that commits now, and of those before it."""

    current: str
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SinkContext:
    """What runs a sink: where its tasks run, the breakers of stores, and the runs of the worker, if one runs it."""

    executor: Executor
    breakers: Breakers = field(default_factory=Breakers)
    runs: Runs | None = None


@dataclass(frozen=True)
class MaintainedTables:
    """How the tables of a connector are reached; `branches` gives their names with the branch that it commits to."""

    branches: Callable[[], Mapping[str, str]]
    catalog_properties: Mapping[str, str]
    config: MaintenanceConfig


@dataclass(frozen=True)
class Due:
    """What a batch is to read: up to below `ends`. Of the partitions in `more` records behind them are due as well.

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
        """What to read now, given the offsets behind the last records and the time in epoch milliseconds.

        Raises a TransientError when the connector has to start again, as with other partitions.
        """

    @abstractmethod
    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        """Store the records from the position to below the ends that are due; `committed` gets what is durable.

        Returns when the position is stored behind the records. Raises BadRecord after everything before the bad record
        is stored, PositionLost, Fenced, or a TransientError: then the connector starts again from its stored position.
        """

    def maintained(self) -> MaintainedTables | None:
        """The tables that the worker has to look after; None when there are none."""
        return None


class Sink(ABC):
    """A sink as its configuration describes it."""

    @property
    @abstractmethod
    def config(self) -> SinkConfig:
        """The checked configuration."""

    @abstractmethod
    def start(self, context: SinkContext, topics: Sequence[str]) -> SinkTask:
        """Check what the sink writes to, and take the stored position.

        Raises PositionLost, NotFound, ConfigError or ServiceUnavailable; nothing was read then.
        """

    @abstractmethod
    def alter(self, changes: Changes | None) -> list[str]:
        """Move the position of a connector that does not run, or forget it with None; returns remarks for the user."""

    def sample(self, records: Sequence[Message], most_rows: int) -> Any:
        """Judge records without writing anything. Raises UsageError where the sink has no such judgement."""
        raise UsageError(f"--sample is for sinks of tables; leave it out to check the configuration of {self.name}")

    def verify(self, begin: int | None, end: int | None, partition: int | None) -> Iterable[RangeCheck]:
        """Compare the topics with what is stored of them. Raises UsageError where the sink cannot."""
        raise UsageError(f"what {self.name} stores cannot be compared with its topics")

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        """What stores dead letters of the queues after all. Raises ConfigError where the sink cannot."""
        raise ConfigError(
            f"dead letters of {self.name} cannot be replayed, for it is no sink of tables; nothing was done"
        )

    @property
    def name(self) -> str:
        """The connector's name."""
        return self.config.name


class Replayer(Protocol):
    """Stores dead letters of one connector."""

    def replay(self, letters: Sequence[Letter]) -> Sequence[Any]:
        """Store letters that can be stored by now; an outcome for each."""


class CommitInterval:
    """When records are due for a sink without open objects: after an interval, or when many wait.

    Example: with an interval of 10 s and at most 500,000 records, 2,000 waiting records are due 10 s after the batch
    before; 150,000 at once; of 1,200,000 at once the first 500,000, of each partition its share.
    """

    def __init__(self, interval_ms: int, max_records: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s = interval_ms / 1000
        self._max_records = max_records
        self._clock = clock
        self._last: float | None = None

    def due(self, position: Offsets, ends: Offsets, now_ms: int) -> Due:
        """What is due of the records between; its ends are of all partitions, those without new records too."""
        waiting = {key: end - position.get(key, 0) for key, end in ends.items()}
        total = sum(waiting.values())
        most = self._max_records
        if not total or (total < min(_BURST_RECORDS, most) and not self._is_over()):
            return Due()
        if total <= most:
            return Due(dict(ends), at_ms=now_ms)
        shares = {key: position.get(key, 0) + -(-behind * most // total) for key, behind in waiting.items()}
        return Due(shares, frozenset(key for key, end in ends.items() if shares[key] < end), now_ms)

    def began(self) -> None:
        """Note that a batch begins."""
        self._last = self._clock()

    def _is_over(self) -> bool:
        return self._last is None or self._clock() - self._last >= self._interval_s
