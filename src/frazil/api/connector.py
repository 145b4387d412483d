"""A connector in the program that asks for one: checked, tried, run, compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.connectors import connector as opened
from frazil.connectors.documents import document_of, read_documents
from frazil.connectors.registry import parsed_with
from frazil.declare.secrets import hide_secrets
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, TerminalError, UsageError
from frazil.pipeline.offsets import Offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from frazil.connectors.checks.result import RangeCheck
    from frazil.connectors.sample import Sample
    from frazil.connectors.sink import Outcome
    from frazil.connectors.typed_records import TypedRecords
    from frazil.engine.drain import Drained
    from frazil.pipeline.report import BatchReport, Totals
    from frazil.pipeline.task_spec import Bounds


@dataclass(frozen=True)
class Check:
    """Result of a check of a configuration: with `errors` no worker runs it, `warnings` change nothing."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether the connector can run."""
        return not self.errors


class Connector:
    """Connector by itself: no worker has to run, and none knows of it.

    Every method but `check` raises ConfigError for a configuration with errors, and ServiceUnavailable when Kafka, the
    catalog or the store do not answer.
    """

    def __init__(self, name: str, config: Mapping[str, str], settings: Settings) -> None:
        self.name = name
        self.config = {**config, "name": name}
        self._settings = settings
        self._providers = settings.providers()

    def __repr__(self) -> str:
        return f"<connector {self.name} of class {self.config.get('connector.class', '(none)')}>"

    @cached_property
    def _opened(self) -> opened.Connector:
        return self._open()

    def _open(self) -> opened.Connector:
        return opened.open_connector(self.name, self.config, self._settings, self._providers)

    def check(self) -> Check:
        """Check the configuration; nothing is asked of any service. Raises ConfigError for an unknown class."""
        parsed = parsed_with(self.config, self._settings)
        errors = tuple(hide_secrets(text, self.config) for text in parsed.error_texts())
        return Check(errors, (*parsed.warnings, *self._providers.unknown(self.config)))

    def sample(self, count: int = 200, rows: int = 3) -> Sample:
        """Judge the newest records of the topics, and show some rows of each table; nothing is written.

        Raises UsageError for a sink that has no tables.
        """
        from frazil.engine.on_demand import spark_on_demand

        with self._opened.hiding() as sink, spark_on_demand(self._settings, self.name) as on_spark:
            return sink.sample(count, rows, lambda step: None, on_spark)

    def lag(self) -> Offsets:
        """Records that are not stored yet, by topic and partition, of the topics that are named."""
        return opened.Standing.of(self.name, self.config, self._settings.bootstrap_servers, self._providers).lag()

    def drain(
        self,
        spark: SparkSession | None = None,
        observe: Callable[[BatchReport], None] = lambda report: None,
        through: Callable[[DataFrame], DataFrame] | None = None,
    ) -> Drained:
        """Store what the topics have now, and return; what comes meanwhile is left for the next call.

        The tasks run in this process, or on the executors of a Spark session. `observe` gets a report of each batch
        that is stored. The positions are those that a worker has, so a worker goes on where this ends; both at once are
        not allowed. Raises BadRecord, PositionLost or Fenced as a running connector fails with.
        """
        from frazil.engine.drain import drain
        from frazil.pipeline.executor import InlineExecutor

        connector = self._opened
        if through is not None:
            connector = self._open()
            with connector.hiding() as sink:
                sink.through(through)
        if spark is None:
            return drain(connector, InlineExecutor(), observe)
        from frazil.engine.jobs import SparkJobs

        with closing(SparkJobs(spark)) as jobs:
            return drain(connector, jobs.of(self.name), observe)

    def dataframe(
        self, spark: SparkSession, topic: str = "", since: datetime | None = None, until: datetime | None = None
    ) -> DataFrame:
        """Make a frame of the records of a topic that came between two times, as the statement of a SQL connector
        sees them: converted, transformed, with the columns of frazil.sql.schema and `_topic`, `_offset` and so on.

        The offsets are found now; the records are read each time that the frame is computed. Bad records are left out
        with errors.tolerance=all, else the frame fails. Nothing is written, no position moves. Without a `topic` it is
        the only one, or all those of a pattern. Raises UsageError for a connector without a statement.
        """
        from frazil.connectors.sql.frame import records_frame

        return records_frame(spark, self.records(topic, since, until))

    def records(
        self,
        topic: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        within: Bounds | None = None,
    ) -> TypedRecords:
        """Find what `dataframe` makes a frame of, and what it raises; only those `within` some offsets."""
        begin, end = (None if time is None else round(time.timestamp() * 1000) for time in (since, until))
        with self._opened.hiding() as sink:
            return sink.records(topic, begin, end, within)

    def backfill(
        self,
        spark: SparkSession,
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        table: str = "",
        again: bool = False,
    ) -> BatchReport | Totals | None:
        """Store the rows of the statement over the records between two times, as one batch beside the position.

        With `table` the rows of an Iceberg table stand for the records of the topic.

        Returns None where they are there already. Raises UsageError for a connector without a statement, and
        where the table has rows of some of these records by other ways, unless `again`; and as `drain` does.
        """
        from frazil.engine.jobs import SparkJobs

        begin, end = (None if time is None else round(time.timestamp() * 1000) for time in (since, until))
        with self._opened.hiding() as sink:
            found = sink.backfill(begin, end, table)
            if found.done or not found.records:
                return None
            if found.remarks and not again:
                raise UsageError(f"{'. '.join(found.remarks)}. Nothing was stored; with again=True they are")
            with closing(SparkJobs(spark)) as jobs:
                return found.run(jobs.of(self.name))

    def store(self, frame: DataFrame, batch: int) -> BatchReport | None:
        """Store a batch of a stream of your own in the table, for `writeStream.foreachBatch`; None where it is there.

        A batch is one commit, which says that it is there: one that Spark computes again is not stored again. Raises
        UsageError elsewhere than in foreachBatch, and for rows that do not go to a table of a SQL connector.
        """
        from frazil.engine.failures import classify
        from frazil.engine.jobs import SparkJobs

        try:
            with self._opened.hiding() as sink, closing(SparkJobs(frame.sparkSession)) as jobs:
                try:
                    return sink.store_batch(frame, batch, jobs.of(self.name))
                except Exception as error:
                    found = classify(error)
                    if type(found) is TerminalError and found is not error:
                        raise  # nothing of ours has foreseen it
                    raise found from None
        except FrazilError as error:
            raise error.with_traceback(None) from None  # Spark prints it several times, with all frames

    def verify(
        self, partition: int | None = None, begin: int | None = None, end: int | None = None
    ) -> list[RangeCheck]:
        """Compare the topics with what is stored of them; each result tells whether it is `complete`.

        Only a partition, or offsets from `begin` to below `end`, where that is given. Raises NotComparable for what
        cannot be compared.
        """
        from frazil.connectors.checks.compare import Limits

        with self._opened.hiding() as sink:
            return sink.verify(Limits(partition, begin, end), lambda what, done, total: None)

    def replay(self, dry_run: bool = False) -> list[Outcome]:
        """Store open dead letters of this connector that its tables take by now; with `dry_run` only tell."""
        from frazil.connectors.dead_letters import queue_of
        from frazil.connectors.replay import replay_all
        from frazil.pipeline.letters.log import LetterLog

        connector = self._opened
        queue = queue_of(connector.sink.config, connector.cluster, self.config["connector.class"])
        topics = sorted({queue.topic_for(topic) for topic in connector.topics()}) if queue is not None else []
        log = LetterLog(connector.cluster)
        queues = log.look(topics, lambda done, total: None)
        letters = (one for one in log.letters(queues, None, lambda done, total: None) if one.connector == self.name)
        return list(replay_all(self._settings, lambda name: self.config, log, queues, letters, dry_run=dry_run))


def open_connector(
    source: str | Path | Mapping[str, object], name: str = "", *, env: Mapping[str, str] | None = None
) -> Connector:
    """Open a connector from its JSON or YAML file, or from keys and values, as they are sent to a worker.

    `name` counts where the configuration has none; a file's own name is taken then. `env` takes the place of the
    process' environment and `.env`, which say where Kafka, store and catalog are. Raises UsageError for what is no
    connector's configuration.
    """
    if isinstance(source, Mapping):
        found = document_of(dict(source), "the configuration", fallback=name)
    else:
        found, *others = read_documents([str(source)], fallback=lambda file: name or file.stem)
        if others:
            raise UsageError(f"{source} has several connectors, and only one can be opened; nothing was done")
    return Connector(found.name, found.config, Settings.load(env))
