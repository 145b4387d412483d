"""The connector classes of the Iceberg sink, of both generations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connectors.iceberg.config.iceberg_sink import CATALOG, iceberg_sink_definition, parse_iceberg_sink
from frazil.connectors.iceberg.config.row_changes import changes_unnamed_rows
from frazil.connectors.plugin import ConnectorPlugin
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.iceberg.sink import IcebergSink


def _open(config: Mapping[str, str], settings: Settings, cluster: Bootstrap) -> IcebergSink:
    from frazil.connectors.iceberg.sink import IcebergSink

    return IcebergSink(config, settings, cluster)


def with_catalog(config: Mapping[str, str], settings: Settings) -> Mapping[str, str]:
    """The configuration with the worker's catalog and store where it names no catalog; its own properties win."""
    named = any(config.get(f"{CATALOG}.{name}", "").strip() for name in ("uri", "catalog-impl"))
    if named or config.get(f"{CATALOG}.type", "rest").strip() != "rest" or not settings.has_catalog:
        return config
    return {f"{CATALOG}.{name}": text for name, text in settings.catalog_properties().items()} | dict(config)


def read_again(config: Mapping[str, str]) -> str:
    """The fate of stored records that are read once more."""
    changes = config.get("iceberg.tables.cdc-field", "").strip()
    if changes or config.get("iceberg.tables.upsert-mode-enabled", "").strip().lower() == "true":
        return "they would take the place of the rows with their keys"
    return f"rows of them that are in {config.get('iceberg.tables', 'the tables')} would be there twice"


PLUGINS = tuple(
    ConnectorPlugin(
        f"{package}.IcebergSinkConnector",
        iceberg_sink_definition,
        parse_iceberg_sink,
        _open,
        complete=with_catalog,
        asks_store=lambda config: changes_unnamed_rows(parse_iceberg_sink(config)),
        read_again=read_again,
        holds_position=True,
    )
    for package in ("org.apache.iceberg.connect", "io.tabular.iceberg.connect")
)
