"""The Iceberg sink on the driver: batches of Kafka records into the tables of a connector, exactly once."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyiceberg.catalog import Catalog

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import Range
from frazil.connectors.iceberg.batch import Batch
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position import start_position, takeover
from frazil.connectors.iceberg.sink_tables import SinkTables
from frazil.connectors.iceberg.table.commit import Commit
from frazil.connectors.sink import CommitInterval, Due, MaintainedTables, SinkContext, SinkTask
from frazil.errors import FrazilError
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.letters.marks import lowest
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import TaskResult, combine
from frazil.pipeline.source import Source, dealt, described, divided
from frazil.pipeline.task import Task
from frazil.pipeline.task_spec import TaskSpec

logger = logging.getLogger(__name__)

ROWS_PER_TASK = 25_000
"""A task of a batch has more rows only when every core has one."""
_LONGEST_SILENCE_S = 60.0
"""Longest time for which records without a table may pass before a table notes the position."""


class IcebergSinkTask(SinkTask):
    """Stores batches in tables; see `SinkTask`."""

    def __init__(
        self,
        config: IcebergSinkConfig,
        bootstrap: str,
        catalog: Catalog,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
    ) -> None:
        """Check the tables and the stored positions.

        Raises PositionLost, NotFound, ConfigError or ServiceUnavailable: also while Kafka Connect's sink still has to
        do with the connector.
        """
        self._config = config
        self._bootstrap = bootstrap
        self._source = source
        self._executor = context.executor
        self._letters = LetterBook(dead_letters, bootstrap, config.name)
        self._tables = SinkTables(config, catalog, context.runs, context.executor)
        interval_ms = 0 if context.at_once else config.commit_interval_ms
        self._pace = CommitInterval(interval_ms, config.max_records_per_batch)
        self._committed_at = time.monotonic()
        self._floors = floors = self._tables.floors()
        self._tables.identity = start_position.identity(bootstrap, topics, floors)
        takeover.check(bootstrap, config, catalog, floors)
        self._position = start_position.start_offsets(
            bootstrap,
            topics,
            config.connect_sink.groups,
            config.auto_offset_reset,
            floors,
            self._tables.identity,
            self._tables.remembered,
        )
        if config.reads_committed:
            start_position.check_stable(bootstrap, self._position)
        since_ms = min((floor.committed_ms for floor in floors.values()), default=0)
        marks = lowest(floor.letters for floor in floors.values())
        self._letters.start(topics, since_ms, self._position, marks)
        self._groups = start_position.mirrors(bootstrap, config)
        in_all = [key for key in self._position if floors and all(key in f.offsets for f in floors.values())]
        self._mirror({key: self._position[key] for key in in_all})  # a worker that was killed may have left it behind

    @property
    def position(self) -> Offsets:
        """See `SinkTask`: of the batches that were stored, for this task; the tables have it for those to come."""
        return self._position

    def due(self, ends: Offsets, now_ms: int) -> Due:
        return self._pace.due(self._position, ends, now_ms)

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        end = due.ends
        self._pace.began()
        self._identify({topic for topic, _ in end})
        batch = Batch(self._config, self._tables.identity, self._letters, self._tables, self._position, end, self._run)
        try:
            batch.store()
            self._note_position(batch, end)
        except Exception:
            if batch.commits:
                self._stored(batch, committed)
            raise
        self._letters.forget(end)
        self._stored(batch, committed)
        self._position = end

    def maintained(self) -> MaintainedTables | None:
        policy = self._config.maintenance
        if policy is None:
            return None
        return MaintainedTables(self._tables.branches, self._config.catalog_properties, policy)

    def _run(self, spec: TaskSpec, one_task: bool) -> TaskResult:
        ranges = spec.ranges()
        records = sum(map(len, ranges))
        tasks = 1 if one_task else min(self._executor.parallelism, -(-records // ROWS_PER_TASK))
        # Repeated events are told by those before them in the partition.
        in_order = self._config.row_changes is not None and self._config.row_changes.events
        result = self.read(spec, (dealt if in_order else divided)(ranges, tasks), records)
        ids = self._tables.identity.topic_ids
        start_position.check_topics(self._bootstrap, {one.topic: ids[one.topic] for one in ranges})
        self._pace.measured(records, result.bytes_read)
        return result

    def read(self, spec: TaskSpec, shares: Sequence[Sequence[Range]], records: int) -> TaskResult:
        """Write the rows of so many records, those of ranges of Kafka, in a task for each share."""
        calls = [Task(spec, self._source, share) for share in shares]
        return combine(self._executor.run(calls, described([one for share in shares for one in share]), records))

    def _identify(self, topics: set[str]) -> None:
        """Learn the ids of topics that a pattern stands for since the start."""
        identity = self._tables.identity
        new = topics - identity.topic_ids.keys()
        if new:
            ids = kafka_topics.topic_ids(self._bootstrap, new)
            self._tables.identity = replace(identity, topic_ids={**identity.topic_ids, **ids})

    def _note_position(self, batch: Batch, end: Offsets) -> None:
        """See to it that the position of a connector whose records match no table does not fall behind for ever."""
        if batch.commits:
            self._committed_at = time.monotonic()
        self._tables.used(batch.used)
        route = self._config.route
        if route is None or route.names_tables or time.monotonic() - self._committed_at < _LONGEST_SILENCE_S:
            return
        identity = self._tables.identity
        table = batch.tables[0]
        table.load(identity)
        if table.table is not None:
            letters = self._letters.marks(end)
            table.commit(Commit(self._config.name, [], batch.begin, end, identity, None, complete=end, letters=letters))
            self._committed_at = time.monotonic()

    def _stored(self, batch: Batch, committed: Callable[[BatchReport], None]) -> None:
        report = replace(batch.report(), places=tuple(self._tables.branches()))
        unrouted = report.skipped_by_reason.get("unrouted", 0)
        if unrouted:
            logger.warning(
                "connector %s: %d records of this batch were left out, for they match no table",
                self._config.name,
                unrouted,
            )
        committed(report)
        self._mirror(report.end_offsets)

    def _mirror(self, end: Mapping[tuple[str, int], int]) -> None:
        """Copy offsets to the consumer group, so that lag tools work; the table is the truth, so failing is no harm."""
        for group in self._groups:
            try:
                kafka_groups.set_group_offsets(self._bootstrap, group, end)
            except FrazilError as error:
                logger.warning("connector %s: offsets were not copied to %s: %s", self._config.name, group, error)
