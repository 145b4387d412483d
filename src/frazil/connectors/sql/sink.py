"""The SQL sink: the rows that a statement makes of records, in an Iceberg table; see `frazil.connectors.sink.Sink`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame

from frazil.clients import catalog as catalogs
from frazil.connectors.backfill import Backfill, span_of
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position.alter import alter_positions
from frazil.connectors.iceberg.sink import IcebergSink
from frazil.connectors.positions import Changes
from frazil.connectors.sample import Sample
from frazil.connectors.sink import SinkContext
from frazil.connectors.source import task_source, topics_of
from frazil.connectors.sql.config import sql_config
from frazil.connectors.sql.reference import ReferenceTables
from frazil.connectors.sql.statement_sink import StatementSink
from frazil.connectors.sql.task import SqlSinkTask, StatefulSinkTask
from frazil.pipeline.computed import Computed
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.report import BatchReport
from frazil.pipeline.rows import Rows
from frazil.pipeline.source import Source


class SqlSink(StatementSink, IcebergSink):
    """A connector whose statement makes the rows of an Iceberg table."""

    def _parsed(self, config: Mapping[str, str]) -> IcebergSinkConfig:
        parsed, self._own = sql_config(config)
        return parsed

    def _task(
        self,
        catalog: Catalog,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
    ) -> SqlSinkTask:
        """Make the task. Raises UsageError without Spark."""
        self.look_for_newer_schemas()
        kind = StatefulSinkTask if self._own.statement.state else SqlSinkTask
        return kind(self._own, self._config, self._bootstrap, catalog, topics, source, dead_letters, context)

    def alter(self, changes: Changes | None) -> list[str]:
        has_state = self._own.statement.state
        remarks = alter_positions(self._config, self._bootstrap, changes, has_state=has_state)
        if has_state:
            remarks.append("The state of the statement is dropped with the position: its next batch begins without.")
        return remarks

    def backfill(self, since_ms: int | None, until_ms: int | None, table: str = "") -> Backfill:
        if table:
            return self._backfill_of(table)
        from frazil.connectors.sql.backfill import StatementBackfill

        config, bootstrap = self._config, self._bootstrap
        topics = topics_of(config, bootstrap)
        span = span_of(config, bootstrap, topics, since_ms, until_ms)
        found = StatementBackfill(self._own, config, bootstrap, self._catalog(), span)
        done, remarks = found.standing()

        def run(executor: Executor) -> BatchReport:
            named = replace(config, name=found.position)
            letters = dead_letter_queue(named, bootstrap, self._class, topics, config.catalog_properties)
            return found.run(executor, task_source(config, bootstrap, headers=self._reads_headers), letters)

        return Backfill(found.position, config.tables[0], span.ranges, done, remarks, run)

    def _backfill_of(self, table: str) -> Backfill:
        from frazil.connectors.sql.table_backfill import TableBackfill

        found = TableBackfill.find(self._own, self._config, self._bootstrap, self._catalog(), table)
        done, remarks = found.standing()

        def run(executor: Executor) -> BatchReport:
            return found.run(executor, found.source, None)

        ranges = [replace(one, topic=table) for one in found.span.ranges]
        return Backfill(found.position, self._config.tables[0], ranges, done, remarks, run)

    def store_batch(self, frame: DataFrame, number: int, executor: Executor) -> BatchReport | None:
        from frazil.connectors.sql.frame_store import store_batch

        return store_batch(frame, number, self._config, self._catalog(), executor)

    @property
    def _target_name(self) -> str:
        return self._config.tables[0]

    def _judge(self, rows: Sequence[Rows], computed: Computed, most_rows: int) -> Sample:
        """See `StatementSink`."""
        from frazil.connectors.iceberg.tools.sample import judge

        return judge(self._config, rows, most_rows, computed)

    def _tables(self) -> Callable[[], Sequence[pa.Table]]:
        names = self._own.statement.tables
        return ReferenceTables(self._catalog(), names, self._own.folder).read if names else super()._tables()

    def _catalog(self) -> Catalog:
        return catalogs.connect(self._config.catalog_properties, self._config.catalog_name)
