"""The SQL sink for objects: the rows that a statement makes of records; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from frazil.connectors.checks.compare import Limits, Progress
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.schema_file import SchemaFile
from frazil.connectors.objects.sink import ObjectSink
from frazil.connectors.plan import Plan
from frazil.connectors.sink import Replayer, SinkContext
from frazil.connectors.sql.config import sql_object_config
from frazil.connectors.sql.object_task import SqlObjectTask
from frazil.connectors.sql.refusals import no_replay, no_verify
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.letters.log import Queue
from frazil.pipeline.source import Source


class SqlObjectSink(ObjectSink):
    """A connector whose statement makes the rows of objects, or of files of a Delta table."""

    def _parsed(self, config: Mapping[str, str]) -> ObjectSinkConfig:
        parsed, self._own = sql_object_config(config)
        return parsed

    def _task(
        self,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
        schema: SchemaFile | None,
    ) -> SqlObjectTask:
        """Make the task. Raises UsageError without Spark."""
        stored, table = self._stored_positions(), self._table()
        return SqlObjectTask(
            self._own, self._config, self._bootstrap, topics, source, dead_letters, self._store, stored, context, table
        )

    @property
    def _reads_headers(self) -> bool:
        return "_headers" in self._own.statement.metadata or super()._reads_headers

    def explain(self, say: Callable[[str], None], on_spark: Callable[[], Executor]) -> Plan:
        """See `Sink`."""
        say("starting Spark")
        topics = scanned_topics(self._config, self._own)
        return StatementRuns(self._own.statement, topics, on_spark(), list[pa.Table]).plan

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        """See `Sink`."""
        raise no_verify(self.name)

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        """See `Sink`."""
        raise no_replay(self.name)
