"""The connector classes of the Iceberg sink, of both generations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_definition, parse_iceberg_sink
from frazil.connectors.plugin import ConnectorPlugin
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.iceberg.sink import IcebergSink


def _open(config: Mapping[str, str], settings: Settings, cluster: Bootstrap) -> IcebergSink:
    from frazil.connectors.iceberg.sink import IcebergSink

    return IcebergSink(config, settings, cluster)


PLUGINS = tuple(
    ConnectorPlugin(f"{package}.IcebergSinkConnector", iceberg_sink_definition, parse_iceberg_sink, _open)
    for package in ("org.apache.iceberg.connect", "io.tabular.iceberg.connect")
)
