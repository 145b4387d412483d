"""The Iceberg sink with the rows of a statement: the same batches, commits and positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiceberg.catalog import Catalog

from frazil.clients.kafka.ranges import Range
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.sink_task import IcebergSinkTask
from frazil.connectors.sink import Due, SinkContext
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.reference import ReferenceTables
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import TaskResult
from frazil.pipeline.source import Source
from frazil.pipeline.task_spec import TaskSpec


class SqlSinkTask(IcebergSinkTask):
    """Stores the rows that a statement makes of batches; see `SinkTask`."""

    def __init__(
        self,
        own: StatementConfig,
        config: IcebergSinkConfig,
        bootstrap: str,
        catalog: Catalog,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
    ) -> None:
        """Raises UsageError without Spark, ConfigError for a statement that it refuses; and as `IcebergSinkTask`."""
        tables = ReferenceTables(catalog, own.statement.tables, own.folder)
        self._runs = StatementRuns(own, scanned_topics(config, own), context.executor, tables.read)
        super().__init__(config, bootstrap, catalog, topics, source, dead_letters, context)

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        """See `SinkTask`."""
        self._runs.begin()
        super().step(due, committed)

    def read(self, spec: TaskSpec, shares: Sequence[Sequence[Range]], records: int) -> TaskResult:
        """See `IcebergSinkTask`."""
        return self._runs.run(spec, self._source, shares)
