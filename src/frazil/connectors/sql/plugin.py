"""The connector class of the SQL sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connectors.iceberg.config.row_changes import changes_unnamed_rows
from frazil.connectors.iceberg.plugin import read_again, with_catalog
from frazil.connectors.plugin import STORED_AGAIN, ConnectorPlugin
from frazil.connectors.sql.config import check_by_worker, found_keys, parse_sql, sql_definition, to_objects
from frazil.connectors.sql.topic_config import to_topic
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.sink import Sink


def _open(config: Mapping[str, str], settings: Settings, cluster: Bootstrap) -> Sink:
    if to_topic(config):
        from frazil.connectors.sql.topic_sink import SqlTopicSink

        return SqlTopicSink(config, settings, cluster)
    if to_objects(config):
        from frazil.connectors.sql.object_sink import SqlObjectSink

        return SqlObjectSink(config, settings, cluster)
    from frazil.connectors.sql.sink import SqlSink

    return SqlSink(config, settings, cluster)


def _to_table(config: Mapping[str, str | None]) -> bool:
    return not (to_topic(config) or to_objects(config))


PLUGINS = (
    ConnectorPlugin(
        "frazil.SqlConnector",
        sql_definition,
        parse_sql,
        _open,
        complete=lambda config, settings: with_catalog(config, settings) if _to_table(config) else config,
        check=check_by_worker,
        find=found_keys,
        asks_store=lambda config: _to_table(config) and changes_unnamed_rows(parse_sql(config)),
        read_again=lambda config: read_again(config) if _to_table(config) else STORED_AGAIN,
        holds_position=True,
        aliases=("SqlSink",),
    ),
)
