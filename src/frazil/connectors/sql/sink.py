"""The SQL sink: the rows that a statement makes of records, in an Iceberg table; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from frazil.clients import catalog as catalogs
from frazil.connectors.checks.compare import Limits, Progress
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.sink import IcebergSink
from frazil.connectors.sample import Sample
from frazil.connectors.sink import Replayer, SinkContext
from frazil.connectors.source import task_source
from frazil.connectors.sql.config import sql_config
from frazil.connectors.sql.task import SqlSinkTask
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.log import Queue


class SqlSink(IcebergSink):
    """A connector whose statement makes the rows of an Iceberg table."""

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        _, self._own = sql_config(config)
        super().__init__(config, settings, bootstrap)

    def _parsed(self, config: Mapping[str, str]) -> IcebergSinkConfig:
        return sql_config(config)[0]

    def start(self, context: SinkContext, topics: Sequence[str]) -> SqlSinkTask:
        """See `Sink`. Raises UsageError without Spark."""
        config = self._config
        return SqlSinkTask(
            self._own,
            config,
            self._bootstrap,
            catalogs.connect(config.catalog_properties, config.catalog_name),
            topics,
            task_source(config, self._bootstrap, headers=self._reads_headers),
            dead_letter_queue(config, self._bootstrap, self._class, topics, config.catalog_properties),
            context,
        )

    def sample(
        self, count: int, most_rows: int, say: Callable[[str], None], on_spark: Callable[[], Executor]
    ) -> Sample:
        """See `Sink`."""
        from frazil.clients.kafka.peek import newest_records
        from frazil.connectors.sql.sample import sample

        config = self._config
        say(f"reading the newest records of {', '.join(config.topics)}")
        records = newest_records(self._bootstrap, config.topics, count)
        say("starting Spark")
        executor = on_spark()
        say(f"computing the rows of {len(records):,} records")
        catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
        return sample(config, self._own, catalog, records, most_rows, executor)

    @property
    def _reads_headers(self) -> bool:
        chain = self._config.transforms
        return "_headers" in self._own.statement.metadata or (chain is not None and chain.reads_headers)

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        """See `Sink`."""
        raise UsageError(
            f"rows of {self.name} are those of its statement, which differ from its records; nothing was compared"
        )

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        """See `Sink`."""
        raise ConfigError(
            f"dead letters of {self.name} cannot be replayed: the tables that its statement joins may differ by now. "
            "They stay open. Produce each correct record to its topic again, then drop them."
        )
