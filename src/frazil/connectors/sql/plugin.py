"""The connector class of the SQL sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connectors.iceberg.config.row_changes import changes_unnamed_rows
from frazil.connectors.iceberg.plugin import read_again, with_catalog
from frazil.connectors.plugin import ConnectorPlugin
from frazil.connectors.sql.config import parse_sql, sql_definition
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.sql.sink import SqlSink


def _open(config: Mapping[str, str], settings: Settings, cluster: Bootstrap) -> SqlSink:
    from frazil.connectors.sql.sink import SqlSink

    return SqlSink(config, settings, cluster)


PLUGINS = (
    ConnectorPlugin(
        "frazil.SqlConnector",
        sql_definition,
        parse_sql,
        _open,
        complete=with_catalog,
        asks_store=lambda config: changes_unnamed_rows(parse_sql(config)),
        read_again=read_again,
        holds_position=True,
        aliases=("SqlSink",),
    ),
)
