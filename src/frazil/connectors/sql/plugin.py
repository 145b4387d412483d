"""The connector class of the SQL sink. Its parser is imported when a configuration has this class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connectors.iceberg.config.row_changes import changes_unnamed_rows
from frazil.connectors.iceberg.plugin import read_again, with_catalog
from frazil.connectors.objects.plugin import gathered
from frazil.connectors.plugin import STORED_AGAIN, ConnectorPlugin
from frazil.connectors.sql.topic_config import to_objects, to_topic
from frazil.declare.definition import ConfigDef, Parsed
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.sink import Sink


def _definition(config: Mapping[str, str | None]) -> ConfigDef:
    from frazil.connectors.sql.config import sql_definition

    return sql_definition(config)


def _parse(config: Mapping[str, str | None]) -> Parsed:
    from frazil.connectors.sql.config import parse_sql

    return parse_sql(config)


def _check(parsed: Parsed, settings: Settings) -> None:
    from frazil.connectors.sql.config import check_by_worker

    check_by_worker(parsed, settings)


def _find(config: Mapping[str, str], cluster: Bootstrap) -> Mapping[str, str]:
    from frazil.connectors.sql.config import found_keys

    return found_keys(config, cluster)


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
        _definition,
        _parse,
        _open,
        complete=lambda config, settings: with_catalog(config, settings) if _to_table(config) else config,
        check=_check,
        find=_find,
        asks_store=lambda config: _to_table(config) and changes_unnamed_rows(_parse(config)),
        read_again=lambda config: read_again(config) if _to_table(config) else STORED_AGAIN,
        holds_position=True,
        gathers=lambda config: gathered(_parse(config)) if to_objects(config) else 0,
        aliases=("SqlSink",),
    ),
)
