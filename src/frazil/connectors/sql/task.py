"""The Iceberg sink with the rows of a statement: the same batches, commits and positions, with the state of one that
keeps any."""

import time
from collections.abc import Callable, Sequence
from typing import cast

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.clients.kafka.ranges import Range
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.maintenance.stored_objects import Objects
from frazil.connectors.iceberg.sink_task import IcebergSinkTask
from frazil.connectors.sink import Due, SinkContext
from frazil.connectors.sql.checkpoint import Checkpoints
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.query import data_exception
from frazil.connectors.sql.reference import ReferenceTables
from frazil.connectors.sql.runs import SparkExecutor, StatementFails, StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.state_query import StateQuery
from frazil.connectors.sql.stream import Ran, StateStream, new_folder
from frazil.connectors.sql.write import WriteOfNone, discovered, result_of_none
from frazil.errors import ConfigError, PositionLost, TerminalError
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import State, TaskResult
from frazil.pipeline.source import Source, described
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
        self._own = own
        self._runs = StatementRuns(own, scanned_topics(config, own), context.executor, tables.read)
        super().__init__(config, bootstrap, catalog, topics, source, dead_letters, context)
        self._go_on(catalog)

    def _go_on(self, catalog: Catalog) -> None:
        """Take what the statement goes on with, which is nothing."""

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        self._runs.begin()
        super().step(due, committed)

    def read(self, spec: TaskSpec, shares: Sequence[Sequence[Range]], records: int) -> TaskResult:
        return self._runs.run(spec, self._source, shares)


class StatefulSinkTask(SqlSinkTask):
    """Stores the rows that a statement makes of batches and of what came before; see `SinkTask`."""

    _stream: StateStream | None = None
    _checkpoints: Checkpoints | None = None
    _closed = False

    def _go_on(self, catalog: Catalog) -> None:
        """Take the state. Raises ConfigError for that of another statement, PositionLost where it is lost."""
        self._stands: Offsets = {}
        (name,) = self._config.tables
        floor = self._floors[name]
        if floor.offsets and not (floor.state or floor.altered):
            raise PositionLost(
                f"table {name} has a position of connector {self._config.name}, and no state of its statement, as it "
                "had none before, or the table was made anew. Nothing was read. Alter the offsets of the connector to "
                "its position, to go on with an empty state; or reset them, to compute all rows anew into a new table"
            )
        if floor.state:
            self._open(catalog.load_table(name), floor.state)

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        try:
            super().step(due, committed)
        except Exception:
            self._end()
            raise
        if self._checkpoints is not None:
            self._checkpoints.tidy()

    def close(self) -> None:
        self._closed = True
        self._end()

    def _end(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def read(self, spec: TaskSpec, shares: Sequence[Sequence[Range]], records: int) -> TaskResult:
        """See `IcebergSinkTask`. A run that is not committed is computed again from the state before it."""
        (table,) = spec.tables
        if table.writer is None:
            return discovered(table.name, self._runs.columns)
        ran = self._ran(spec, shares)
        what = described([one for share in shares for one in share])
        scanned = [*ran.scanned, *self._executor.run([scan.report for scan in ran.left], what)]
        result = result_of_none(table.name, scanned, ran.results)
        own = result.tables[table.name]
        self._stands = table.bounds.ceiling
        stream, checkpoints = self._stream, self._checkpoints
        if stream is None or checkpoints is None:
            raise TerminalError("the connector was stopped")
        if not (own.lacks or own.overflow):
            manifest = checkpoints.save(stream.folder, stream.batch, self._own.digest)
            own.state = State(manifest, stream.rows, stream.size, stream.watermark_ms, ran.late)
        return result

    def _ran(self, spec: TaskSpec, shares: Sequence[Sequence[Range]]) -> Ran:
        """Compute the rows without the records that the statement fails on."""
        (table,) = spec.tables
        ranges = sorted((one for share in shares for one in share), key=lambda one: (one.key, one.begin))
        known = self._tables.known(table.name)
        while True:
            if self._stream is not None and any(
                self._stands.get(key, at) != at for key, at in table.bounds.floor.items()
            ):
                self._end()
            if self._stream is None and known.table is not None:
                self._open(known.table, known.floor.state)
            stream = self._stream
            if self._closed or stream is None:
                self._end()  # which was begun meanwhile
                raise TerminalError("the connector was stopped")
            try:
                return stream.step(shares, self._runs.refused, lambda batch: WriteOfNone(spec, self._topic, batch))
            except Exception as error:
                self._end()
                said = data_exception(error, self._own.statement)
                if said is None:
                    raise
                self._runs.search(lambda: self._source.read(ranges), StatementFails(said, error))

    @property
    def _topic(self) -> str:
        return self._own.statement.topics[0]

    def _open(self, table: Table, state: str) -> None:
        """Start the stream with the state that a commit has."""
        checkpoints = self._checkpoints = Checkpoints(table.io, table.location(), self._config.name)
        executor = cast(SparkExecutor, self._executor)
        folder = executor.in_session(new_folder, "folder for the state")
        if state and checkpoints.restore(state, folder).digest != self._own.digest:
            raise ConfigError(
                "frazil.sql, its columns, its watermark or frazil.dedup.keys were changed, and the state that the "
                "connector has is that of the statement before. Nothing was read. Set them as they were; or reset the "
                "offsets of the connector, which drops its state with its position"
            )
        objects = Objects(table)
        objects.remove(checkpoints.strays(objects.below(checkpoints.folder), round(time.time() * 1000)))
        query, slots = cast(StateQuery, self._runs.query), self._executor.parallelism
        late = self._own.state.late_letters
        self._stream = executor.in_session(
            lambda session: StateStream(session, query, self._source, slots, folder, late_letters=late),
            "start of frazil.sql",
        )
        self._stands = {}
