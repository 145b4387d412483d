"""The statement of a connector over a span of its topics, as one batch: its rows, and that they are there, are one
commit. The position of the connector stays as it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import Range
from frazil.connectors.backfill import RECORDS_PER_TASK, Span
from frazil.connectors.iceberg.batch import Batch
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position import start_position
from frazil.connectors.iceberg.sink_tables import SinkTables
from frazil.connectors.iceberg.table.commit import Floor, TableBranch
from frazil.connectors.iceberg.tools.describe import committers
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.reference import ReferenceTables
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.write import WriteOfNone, discovered, result_of_none
from frazil.errors import BadRecord, NotFound, TerminalError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.letters.letter import BETWEEN
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import TaskResult
from frazil.pipeline.source import Source, divided
from frazil.pipeline.task_spec import TaskSpec


@dataclass(frozen=True)
class StatementBackfill:
    """A span of the topics of a connector with a statement."""

    own: StatementConfig
    config: IcebergSinkConfig
    bootstrap: str
    catalog: Catalog
    span: Span

    @property
    def position(self) -> str:
        """Name under which the table keeps that it has the rows: that of the connector, its statement and the span."""
        return f"{self.config.name}{self.span.name_of(self.own.digest)}"

    @property
    def topics(self) -> list[str]:
        """Topics of the span."""
        return sorted({topic for topic, _ in self.span.end})

    def standing(self) -> tuple[bool, list[str]]:
        """Tell whether the table has the rows, and why rows may be there twice or be replaced if they are stored."""
        name = self.config.tables[0]
        target = TableBranch(self.catalog, name, self.config.branch_of(name))
        try:
            table = target.load()
        except NotFound:
            return False, []
        return self._standing(target, table)

    def _standing(self, target: TableBranch, table: Table) -> tuple[bool, list[str]]:
        now = KafkaIdentity(
            kafka_client.cluster_id(self.bootstrap), kafka_topics.topic_ids(self.bootstrap, self.topics)
        )
        floor = target.floor(table, self.position)
        start_position.check_identity(target.name, floor.identity, now)
        if self.span.is_before(floor.offsets):
            return True, []
        if self.config.row_changes is None:
            return False, list(self._stored(target, table, now))
        if target.floor(table, self.config.name).offsets:
            return False, [f"Rows of {self.config.name} with the same ids are replaced by those of these records"]
        return False, []

    def _stored(self, target: TableBranch, table: Table, now: KafkaIdentity) -> Iterator[str]:
        for name in committers(table):
            if name == self.position or name.partition(BETWEEN)[0] != self.config.name:
                continue
            floor, first = target.floor(table, name), target.beginning(table, name)
            known = [key for key in self.span.end if floor.identity.topic_ids.get(key[0]) == now.topic_ids[key[0]]]
            span = Span(self.span.begin, {key: self.span.end[key] for key in known})
            yield from span.common(first, floor.offsets, f"stored by {name} already")

    def _identity(self, floors: Mapping[str, Floor]) -> KafkaIdentity:
        return start_position.identity(self.bootstrap, self.topics, floors)

    def run(self, executor: Executor, source: Source, dead_letters: DeadLetterQueue | None) -> BatchReport:
        """Store the rows. Raises BadRecord or TerminalError where none are; and as a batch of the connector does."""
        own, config = self.own, replace(self.config, name=self.position)
        joined = ReferenceTables(self.catalog, own.statement.tables, own.folder)
        runs = StatementRuns(own, scanned_topics(config, own), executor, joined.read)
        tables = SinkTables(config, self.catalog, None, executor)
        floors = tables.floors()
        tables.identity = identity = self._identity(floors)
        letters = LetterBook(dead_letters, self.bootstrap, config.name)
        letters.start(self.topics, 0, self.span.begin)

        def read(spec: TaskSpec, one_task: bool) -> TaskResult:
            ranges = spec.ranges()
            least = -(-sum(map(len, ranges)) // RECORDS_PER_TASK)
            shares = divided(ranges, 1 if one_task else max(executor.parallelism, least))
            result = (_grouped if own.statement.state else StatementRuns.run)(runs, spec, source, shares)
            start_position.check_topics(self.bootstrap, identity.topic_ids)
            found = result.tables[spec.tables[0].name]
            found.last_timestamps = {}  # older than those of the connector, whose snapshots say up to when they are
            if found.dead and not letters.tolerant:
                raise BadRecord(
                    f"a record cannot be stored: {min(found.dead, key=lambda letter: letter.coordinates)}. Nothing "
                    "was stored. With errors.tolerance=all it becomes a dead letter"
                )
            return result

        batch = Batch(config, identity, letters, tables, self.span.begin, self.span.end, read)
        batch.store()
        return batch.report()


def _grouped(runs: StatementRuns, spec: TaskSpec, source: Source, shares: Sequence[Sequence[Range]]) -> TaskResult:
    """Compute a statement with state over all of the records at once."""
    (table,) = spec.tables
    if table.writer is None:
        return discovered(table.name, runs.columns)
    scanned, results = runs.compute(lambda names: WriteOfNone(spec, names[0]), source, shares)
    result = result_of_none(table.name, scanned, results)
    if result.tables[table.name].overflow:
        raise TerminalError(
            "too many of the records would be dead letters for one batch. Nothing was stored. Correct the columns of "
            "frazil.sql.schema, or choose a shorter span"
        )
    return result
