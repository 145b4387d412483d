"""The Iceberg sink: tables of one catalog; see `frazil.connectors.sink.Sink`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyiceberg.catalog import Catalog

from frazil.clients import catalog as catalogs
from frazil.clients.credentials import with_credentials
from frazil.connectors.checks.compare import Limits, Progress, compare
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.position.alter import alter_positions
from frazil.connectors.iceberg.sink_task import IcebergSinkTask
from frazil.connectors.positions import Changes
from frazil.connectors.sample import Sample
from frazil.connectors.sink import Concern, Replayer, Sink, SinkContext
from frazil.connectors.source import task_source, topics_of
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.letters.log import Queue
from frazil.pipeline.source import Source


class IcebergSink(Sink):
    """A connector that writes to Iceberg tables."""

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        parsed = self._parsed(config)
        self._config = replace(parsed, catalog_properties=with_credentials(parsed.catalog_properties, settings))
        self._class = config.get("connector.class", "")
        self._bootstrap = bootstrap

    def _parsed(self, config: Mapping[str, str]) -> IcebergSinkConfig:
        return iceberg_sink_config(config)

    @property
    def config(self) -> IcebergSinkConfig:
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> IcebergSinkTask:
        config = self._config
        return self._task(
            catalogs.connect(config.catalog_properties, config.catalog_name),
            topics,
            task_source(config, self._bootstrap, headers=self._reads_headers),
            dead_letter_queue(config, self._bootstrap, self._class, topics, config.catalog_properties),
            context,
        )

    def _task(
        self,
        catalog: Catalog,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
    ) -> IcebergSinkTask:
        return IcebergSinkTask(self._config, self._bootstrap, catalog, topics, source, dead_letters, context)

    def alter(self, changes: Changes | None) -> list[str]:
        return alter_positions(self._config, self._bootstrap, changes)

    def sample(
        self, count: int, most_rows: int, say: Callable[[str], None], on_spark: Callable[[], Executor]
    ) -> Sample:
        from frazil.clients.kafka.peek import newest_records
        from frazil.connectors.iceberg.tools.sample import sample

        topics = topics_of(self._config, self._bootstrap)
        say(f"reading the newest records of {', '.join(topics)}")
        records = newest_records(self._bootstrap, topics, count)
        say(f"converting {len(records):,} records")
        return sample(self._config, records, most_rows)

    def refusals(self) -> list[str]:
        """See `Sink`. The catalog is asked only where rows change whose keys no configuration names."""
        from frazil.connectors.iceberg.tools.problems import without_keys

        return without_keys(self._config)

    def problems(self) -> list[str]:
        from frazil.connectors.iceberg.tools.problems import missing_tables

        return [*missing_tables(self._config), *self.refusals()]

    def concerns(self) -> list[Concern]:
        from frazil.connectors.iceberg.tools.problems import small_files

        return small_files(self._config)

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        """See `Sink`. All is compared, without limits."""
        from frazil.connectors.iceberg.tools.verify import TableCheck, check_comparable, table_floor

        config = self._config
        check_comparable(config)
        if limits != Limits():
            raise UsageError(
                "--partition, --from and --to are not for Iceberg sinks: rows do not tell which record they are. "
                "Nothing was compared; leave them out to compare all."
            )
        return compare(
            config,
            self._bootstrap,
            self._class,
            limits,
            progress,
            position=lambda first: table_floor(config, self._bootstrap, first),
            check=lambda part: TableCheck(config, part),
        )

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        from frazil.connectors.iceberg.tools.replay import TableReplayer

        return TableReplayer(self._config, self._bootstrap, queues, dry_run=dry_run)
