"""The SQL sink for objects: the rows that a statement makes of records; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace

from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.backfill import Backfill, Span, span_of
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.schema_file import SchemaFile
from frazil.connectors.objects.sink import ObjectSink
from frazil.connectors.objects.stored_positions import StoredPositions, of_partitions, positions_object
from frazil.connectors.sink import SinkContext
from frazil.connectors.source import topics_of
from frazil.connectors.sql.config import sql_object_config
from frazil.connectors.sql.object_task import SqlObjectTask
from frazil.connectors.sql.statement_sink import StatementSink
from frazil.errors import UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.letters.letter import BETWEEN
from frazil.pipeline.report import Totals
from frazil.pipeline.source import Source


class SqlObjectSink(StatementSink, ObjectSink):
    """A connector whose statement makes the rows of objects, or of files of a Delta table."""

    _span: Span | None = None

    def _parsed(self, config: Mapping[str, str]) -> ObjectSinkConfig:
        parsed, self._own = sql_object_config(config)
        return parsed

    @property
    def _target_name(self) -> str:
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
        self.look_for_newer_schemas()
        return SqlObjectTask(
            self._own,
            self._config,
            self._bootstrap,
            topics,
            source,
            dead_letters,
            self._store,
            self._stored_positions(),
            context,
            self._table(),
            self._span,
        )

    def backfill(self, since_ms: int | None, until_ms: int | None, table: str = "") -> Backfill:
        if table:
            raise UsageError(f"rows of table {table} can be stored in an Iceberg table only. Nothing was stored")
        config, bootstrap = self._config, self._bootstrap
        topics = topics_of(config, bootstrap)
        span = span_of(config, bootstrap, topics, since_ms, until_ms)
        named = self._named(span)
        done = named._is_of(topics) and span.is_before(named._reached(named._table(), span.end))  # noqa: SLF001 - of its own
        own = self._reached(self._table(), span.end)
        remarks = span.common({}, own, f"before the position of {self.name}, which has stored them")
        remarks += self._stored_by_others(span, named.name)

        def run(executor: Executor) -> Totals:
            return named.start(SinkContext(executor), topics).store(span.end)

        return Backfill(named.name, f"bucket {config.store.bucket}", span.ranges, done, remarks, run)

    def _named(self, span: Span) -> SqlObjectSink:
        """Make the sink of a span: position, consumer group and objects have names that are those of the statement
        and the span."""
        named, config = copy(self), self._config
        told = span.name_of(self._own.digest, config.store.bucket, config.layout.topics_dir)
        named._config = replace(  # noqa: SLF001 - of its own
            config,
            name=f"{config.name}{told}",
            group_id=f"{config.group_id}{told}",
            layout=replace(config.layout, mark=told),
        )
        named._span = span  # noqa: SLF001
        return named

    def _stored_by_others(self, span: Span, name: str) -> Iterator[str]:
        """Tell which other backfills of the connector have stored records of a span."""
        config = self._config
        for found in self._store.names(positions_object(config.layout, f"{self.name}{BETWEEN}").removesuffix(".json")):
            other = found.rpartition("/")[2].removesuffix(".json")
            if other == name:
                continue
            state = StoredPositions(found, self._store, other).load()
            reached = {key: place.offset for key, place in of_partitions(state.positions).items()}
            yield from span.common(of_partitions(state.since), reached, f"stored by {other} already")

    def _is_of(self, topics: Sequence[str]) -> bool:
        """Tell whether the stored position, where there is one, is of the topics as they are now."""
        ids, known = kafka_topics.topic_ids(self._bootstrap, topics), self._stored_positions().load().topics
        return all(known.get(topic, id_) == id_ for topic, id_ in ids.items())
