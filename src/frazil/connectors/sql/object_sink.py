"""The SQL sink for objects: the rows that a statement makes of records; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.schema_file import SchemaFile
from frazil.connectors.objects.sink import ObjectSink
from frazil.connectors.sink import SinkContext
from frazil.connectors.sql.config import sql_object_config
from frazil.connectors.sql.object_task import SqlObjectTask
from frazil.connectors.sql.statement_sink import StatementSink
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.source import Source


class SqlObjectSink(StatementSink, ObjectSink):
    """A connector whose statement makes the rows of objects, or of files of a Delta table."""

    def _parsed(self, config: Mapping[str, str]) -> ObjectSinkConfig:
        parsed, self._own = sql_object_config(config)
        return parsed

    @property
    def _target_name(self) -> str:
        """See `StatementSink`."""
        return self._config.store.bucket

    def _task(
        self,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
        schema: SchemaFile | None,
    ) -> SqlObjectTask:
        """Make the task. Raises UsageError without Spark."""
        self._tell_newer_schemas()
        stored, table = self._stored_positions(), self._table()
        return SqlObjectTask(
            self._own, self._config, self._bootstrap, topics, source, dead_letters, self._store, stored, context, table
        )

    @property
    def _reads_headers(self) -> bool:
        return "_headers" in self._own.statement.metadata or super()._reads_headers
