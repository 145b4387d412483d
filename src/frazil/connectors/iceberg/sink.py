"""The Iceberg sink: tables of one catalog; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from frazil.clients import catalog as catalogs
from frazil.clients.credentials import with_credentials
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.position.alter import alter_positions
from frazil.connectors.iceberg.sink_task import IcebergSinkTask
from frazil.connectors.positions import Changes
from frazil.connectors.sink import Sink, SinkContext
from frazil.connectors.source import task_source
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings


class IcebergSink(Sink):
    """A connector that writes to Iceberg tables."""

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        parsed = iceberg_sink_config(config)
        self._config = replace(parsed, catalog_properties=with_credentials(parsed.catalog_properties, settings))
        self._class = config.get("connector.class", "")
        self._bootstrap = bootstrap

    @property
    def config(self) -> IcebergSinkConfig:
        """See `Sink`."""
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> IcebergSinkTask:
        """See `Sink`."""
        config = self._config
        chain = config.transforms
        return IcebergSinkTask(
            config,
            self._bootstrap,
            catalogs.connect(config.catalog_properties, config.catalog_name),
            topics,
            task_source(config, self._bootstrap, headers=chain is not None and chain.reads_headers),
            dead_letter_queue(config, self._bootstrap, self._class, topics),
            config.mapper_for,
            context,
        )

    def alter(self, changes: Changes | None) -> list[str]:
        """See `Sink`."""
        return alter_positions(self._config, self._bootstrap, changes)
