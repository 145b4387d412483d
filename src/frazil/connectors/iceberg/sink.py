"""The Iceberg sink on the driver: one micro-batch of Kafka records into the tables of a connector, exactly once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from frazil.clients import catalog as catalogs
from frazil.clients.kafka import admin as kafka
from frazil.connectors.iceberg.batch import BatchJob
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position import positions, takeover
from frazil.connectors.iceberg.table.commit import Batch, Runs
from frazil.connectors.iceberg.table.job import MapperFor
from frazil.connectors.iceberg.tables import Tables
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import TaskResult, combine, load_result
from frazil.pipeline.source import RunWorks, Source, check_progress, divided
from frazil.pipeline.task import Task, TaskSpec

logger = logging.getLogger(__name__)

ROWS_PER_TASK = 25_000
"""A task of a batch has more rows only when every core has one."""
_LONGEST_SILENCE_S = 60.0
"""How long records that no table is for may pass before a table notes the position."""


class IcebergSink:
    """Stores micro-batches; one instance per running connector, used from one thread."""

    def __init__(
        self,
        config: IcebergSinkConfig,
        bootstrap: str,
        dead_letters: DeadLetterQueue | None,
        mapper_for: MapperFor,
        source: Source,
        run: RunWorks,
        max_tasks: int,
        runs: Runs,
    ) -> None:
        """`run` runs the tasks of a batch, of which `max_tasks` run at once; `runs` are those of the worker.

        Raises ServiceUnavailable or ConfigError when the catalog cannot be reached.
        """
        self._config = config
        self._bootstrap = bootstrap
        self._source = source
        self._run_works = run
        self._max_tasks = max_tasks
        self._letters = LetterBook(dead_letters, bootstrap, config.name)
        catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
        self._tables = Tables(config, catalog, mapper_for, runs)
        self._committed_at = time.monotonic()
        self.stored: Offsets = {}

    def start(self, topics: list[str]) -> Offsets:
        """Check the tables and the stored positions; returns the offsets to begin with.

        Those that every table has are in `stored` then. Raises ServiceUnavailable while Kafka Connect's sink still has
        to do with the connector.
        """
        floors = self._tables.floors()
        self._tables.identity = positions.identity(self._bootstrap, topics, floors)
        takeover.check(self._bootstrap, self._config, self._tables.catalog, floors)
        start = positions.start_offsets(
            self._bootstrap,
            topics,
            self._config.connect_sink.groups,
            self._config.auto_offset_reset,
            floors,
            self._tables.identity,
        )
        if self._source.committed:
            positions.check_stable(self._bootstrap, start)
        self._admin = kafka.admin(self._bootstrap)
        self._letters.start(topics, min((f.committed_ms for f in floors.values()), default=0), start)
        self.stored = {key: start[key] for key in start if floors and all(key in f.offsets for f in floors.values())}
        return start

    def branches(self) -> dict[str, str]:
        """The tables that are known now, each with its branch; for any thread."""
        return self._tables.branches()

    def process(self, begin: Offsets, end: Offsets, committed: Callable[[BatchReport], None]) -> None:
        """Store the records of one micro-batch, which covers `begin` to `end`.

        Returns when all of it is committed. Raises BadRecord after everything before the bad record is committed,
        PositionLost, Fenced, or a TransientError after which the same batch may be processed again. `committed` gets
        what is in the tables, also of a batch that fails half-way.
        """
        check_progress(begin, end)
        self._identify({topic for topic, _ in end})
        job = BatchJob(self._config, self._tables.identity, self._letters, self._tables, begin, end, self._run)
        try:
            job.store()
            self._note_position(job, end)
        except Exception:
            if job.commits:
                committed(job.report())
            raise
        self._letters.forget(end)
        report = job.report()
        unrouted = report.skipped_by_reason.get("unrouted", 0)
        if unrouted:
            logger.warning(
                "connector %s: %d records of this batch were left out, for they match no table",
                self._config.name,
                unrouted,
            )
        committed(report)

    def _run(self, spec: TaskSpec, one_task: bool) -> TaskResult:
        ranges = spec.ranges()
        tasks = 1 if one_task else min(self._max_tasks, -(-sum(map(len, ranges)) // ROWS_PER_TASK))
        results = self._run_works([Task(spec, self._source, share) for share in divided(ranges, tasks)])
        ids = self._tables.identity.topic_ids
        positions.check_topics(self._bootstrap, {one.topic: ids[one.topic] for one in ranges}, self._admin)
        return combine(map(load_result, results))

    def _identify(self, topics: set[str]) -> None:
        """Learn the ids of topics that a pattern stands for since the start."""
        identity = self._tables.identity
        new = topics - identity.topic_ids.keys()
        if new:
            ids = kafka.topic_ids(self._bootstrap, new, self._admin)
            self._tables.identity = replace(identity, topic_ids={**identity.topic_ids, **ids})

    def _note_position(self, job: BatchJob, end: Offsets) -> None:
        """See to it that the position of a connector whose records match no table does not fall behind for ever."""
        if job.commits:
            self._committed_at = time.monotonic()
        self._tables.used(job.used)
        route = self._config.route
        if route is None or route.names_tables or time.monotonic() - self._committed_at < _LONGEST_SILENCE_S:
            return
        work = job.works[0]
        self._tables.load(work, end)
        if work.table is not None:
            batch = Batch(self._config.name, [], job.begin, end, self._tables.identity, None, complete=end)
            work.strategy.commit(work.target, work.table, work.floor, batch)
            self._committed_at = time.monotonic()
