"""Base of all sinks with a statement, wherever its rows go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from frazil.connectors.checks.compare import Limits, Progress
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.plan import Plan
from frazil.connectors.sink import Replayer, Sink
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.errors import ConfigError, UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.log import Queue


class StatementSink(Sink):
    """Base of a sink whose rows a statement makes; `_own` is the statement."""

    _own: StatementConfig

    def _tables(self) -> Callable[[], Sequence[pa.Table]]:
        """Give what reads the tables that the statement joins; here it joins none."""
        return list[pa.Table]

    def explain(self, say: Callable[[str], None], on_spark: Callable[[], Executor]) -> Plan:
        """See `Sink`."""
        own, tables = self._own, self._tables()
        say("starting Spark")
        return StatementRuns(own.statement, scanned_topics(self.config, own), on_spark(), tables, own.state).plan

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        """See `Sink`."""
        raise UsageError(
            f"rows of {self.name} are those of its statement, which differ from its records; nothing was compared"
        )

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        """See `Sink`."""
        raise ConfigError(
            f"dead letters of {self.name} cannot be replayed: the tables that its statement joins may differ by now. "
            "They stay open. Produce each correct record to its topic again, then drop them."
        )
