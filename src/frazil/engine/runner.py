"""One connector as one Structured Streaming query."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from frazil.clients.credentials import with_credentials
from frazil.clients.kafka import admin as kafka
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.iceberg.position import positions
from frazil.connectors.iceberg.sink import IcebergSink
from frazil.connectors.iceberg.table.commit import Runs
from frazil.engine import failures
from frazil.engine.busy import BEFORE_S, PATIENCE, is_idle
from frazil.engine.checkpoint import Checkpoint
from frazil.engine.dead_letters import dead_letter_queue
from frazil.engine.maintenance import MaintenanceSchedule, Tables
from frazil.engine.runner_api import STOP_S, RunnerStatus
from frazil.engine.source import source_options, task_source, topics_of
from frazil.engine.tasks import run_works
from frazil.environment.settings import Settings
from frazil.errors import (
    Fenced,
    FrazilError,
    ServiceUnavailable,
    TransientError,
)
from frazil.logs.mapper import mapper_for
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.report import BatchReport

logger = logging.getLogger(__name__)

_TRIGGER = "500 milliseconds"
_END_S = 2.0
"""Seconds for the end of a query."""


class StreamingRunner:
    """Runs one Iceberg sink connector; see `runner_api.Runner`."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        name: str,
        config: Mapping[str, str],
        observe: Callable[[BatchReport], None],
        busy: threading.Lock,
        maintenance: MaintenanceSchedule,
        runs: Runs,
    ) -> None:
        """All runners of a connector share the lock `busy`, which a running batch holds.

        Raises ConfigError for a configuration that cannot run.
        """
        self._spark = spark
        self._settings = settings
        self._bootstrap = settings.bootstrap_servers.overridden(config)
        self._config = iceberg_sink_config({**config, "name": name})
        self._class = config.get("connector.class", "")
        self._observe = observe
        self._maintenance = maintenance
        self._runs = runs
        self._checkpoint = Checkpoint(settings.home / "worker" / "checkpoints" / _file_name(name))
        self._query: StreamingQuery | None = None
        self._begin: Offsets = {}
        self._groups: list[str] = []
        self._busy = busy
        self._stopping = threading.Event()
        self._failure: tuple[FrazilError, BaseException] | None = None

    def start(self) -> None:
        """Return when the query runs; raises FrazilError when it cannot."""
        self._stopping.clear()
        self._failure = None
        if not is_idle(self._busy, BEFORE_S):
            raise ServiceUnavailable(
                f"the batch that connector {self._config.name} ran before has not ended after {BEFORE_S:.0f} s; the "
                "connector starts when it has. Look at the store and at the catalog, which it waits for."
            )
        config = self._config
        topics = topics_of(config, self._bootstrap)
        properties = with_credentials(config.catalog_properties, self._settings)
        chain = config.transforms
        self._sink = IcebergSink(
            replace(config, catalog_properties=properties),
            self._bootstrap,
            dead_letter_queue(config, self._bootstrap, self._class, topics),
            lambda schema: mapper_for(schema, redact=config.redact),
            task_source(config, self._bootstrap, headers=chain is not None and chain.reads_headers),
            lambda works: run_works(self._spark, works),
            max_tasks=self._spark.sparkContext.defaultParallelism,
            runs=self._runs,
        )
        self._begin = self._sink.start(topics)
        self._groups = positions.mirrors(self._bootstrap, config)
        self._mirror(self._sink.stored)  # a worker that was killed may have left the group behind the tables
        self._checkpoint.reset()
        source = source_options(config, self._bootstrap, topics, self._begin)
        self._query = (
            self._spark.readStream.format("kafka")
            .options(**source)
            .load()
            .writeStream.foreachBatch(self._process)
            .option("checkpointLocation", f"file://{self._checkpoint.folder}")
            .trigger(processingTime=_TRIGGER)
            .start()
        )
        if config.maintenance is not None:
            self._maintenance.add(config.name, Tables(self._sink.branches, properties, config.maintenance))

    def stop(self, timeout: float = STOP_S) -> None:
        """End the query within `timeout` seconds, and let the running batch finish if it can; idempotent.

        A batch that does not finish in time is cancelled. Whether it is committed or not, its records are not stored
        twice: the next query of this connector waits for it, and takes its position from the table.
        """
        self._stopping.set()
        self._maintenance.remove(self._config.name)
        query = self._query
        deadline = time.monotonic() + timeout
        if not is_idle(self._busy, timeout * PATIENCE) and query is not None:
            logger.warning("connector %s: the running batch is given up, its records are read again", self._config.name)
            self._spark.sparkContext.cancelJobGroup(str(query.runId))
            is_idle(self._busy, deadline - time.monotonic() - _END_S)
        if query is not None and query.isActive:
            query.stop()
        self._checkpoint.remove()

    def status(self) -> RunnerStatus:
        """RUNNING, or FAILED with trace, once started."""
        if self._query is None:
            return RunnerStatus("UNASSIGNED")
        if self._failure is None and not self._query.isActive and not self._stopping.is_set():
            cause: BaseException = self._query.exception() or RuntimeError("the query ended without an error")
            self._failure = failures.classify(cause), cause
        if self._failure is None:
            return RunnerStatus("RUNNING")
        failure, cause = self._failure
        return RunnerStatus(
            "FAILED",
            failures.trace(failure, cause),
            transient=isinstance(failure, TransientError),
            fenced=isinstance(failure, Fenced),
        )

    def _process(self, _: DataFrame, batch_id: int) -> None:
        """The function for `foreachBatch`; what it raises ends the query.

        The rows of the batch are left alone: its tasks fetch the records between the batch's offsets by themselves. A
        batch that is not processed because the connector stops is read again: the next start takes its position
        from the table, never from the checkpoint.
        """
        with self._busy:
            if self._stopping.is_set():
                return
            try:
                end = self._checkpoint.end_of(batch_id)
                self._sink.process(self._begin, end, self._committed)
                self._begin = end
            except Exception as error:
                self._failure = failures.classify(error), error
                logger.debug("connector %s: batch %d failed", self._config.name, batch_id, exc_info=error)
                raise RuntimeError(type(error).__name__) from None

    def _committed(self, report: BatchReport) -> None:
        self._observe(report)
        if report.read:
            level = logging.WARNING if report.dead_letters else logging.INFO
            logger.log(level, "%s", report.line(list(self._sink.branches())))
        self._mirror(report.end_offsets)

    def _mirror(self, end: Mapping[TopicPartition, int]) -> None:
        """Offsets to the consumer group, so that lag tools work; the table is the truth, so failing is no harm."""
        for group in self._groups:
            try:
                kafka.set_group_offsets(self._bootstrap, group, end)
            except FrazilError as error:
                logger.warning("connector %s: offsets were not copied to %s: %s", self._config.name, group, error)


def _file_name(connector: str) -> str:
    """A folder name for any connector name, in letters that need no escape in a path or a URI."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", connector)[:40]
    return f"{readable}-{hashlib.sha256(connector.encode()).hexdigest()[:12]}"
