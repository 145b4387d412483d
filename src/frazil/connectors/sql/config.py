"""Configuration of a connector with a statement: the keys of the Iceberg sink, and those of the statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, check_iceberg_sink, typed_config
from frazil.connectors.iceberg.config.keys import ICEBERG_KEYS
from frazil.connectors.keys.sink_definition import sink_definition
from frazil.connectors.sql.columns import parse_columns
from frazil.connectors.sql.statement import Statement, StatementError, parse_statement
from frazil.declare.definition import ConfigDef, Key, Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.pipeline.types import Struct

SQL = "frazil.sql"
SCHEMA = "frazil.sql.schema"
_OF_TOPIC = "frazil.sql.schema.*"

SQL_KEYS = (
    Key(
        SQL,
        "STRING",
        "A SELECT over the topics, in Spark's SQL, whose rows are stored; before it there may be statements CREATE "
        "TEMPORARY VIEW name AS SELECT, each with a semicolon.",
        importance="HIGH",
        width="LONG",
    ),
    Key(
        SCHEMA,
        "STRING",
        "Columns of the records of each topic for the statement, as in CREATE TABLE: id BIGINT NOT NULL, page STRING. "
        "A record that does not fit them is a bad record; members that no column is for are left out.",
        default="",
        importance="HIGH",
        width="LONG",
    ),
    Key(
        _OF_TOPIC,
        "STRING",
        "Columns of the records of one topic, in place of those of frazil.sql.schema.",
        default=None,
    ),
)
_NOT_HERE = {
    "topics.regex": "a statement names its topics, which topics lists",
    "iceberg.tables.route-field": "the rows of a statement go to one table",
    "iceberg.tables.dynamic-enabled": "the rows of a statement go to one table",
    "iceberg.tables.cdc-field": "the rows of a statement are appended, or replace others by key with "
    "iceberg.tables.upsert-mode-enabled",
}


@dataclass(frozen=True)
class StatementConfig:
    """A checked statement, and the columns of each of its topics."""

    statement: Statement
    columns: Mapping[str, Struct]


def sql_definition(config: Mapping[str, str | None]) -> ConfigDef:
    """All keys that count for `config`."""
    return sink_definition(config, (*SQL_KEYS, *ICEBERG_KEYS))


def parse_sql(config: Mapping[str, str | None]) -> Parsed:
    """Parse and check a configuration; errors and warnings are in the result, nothing is raised."""
    parsed = sql_definition(config).parse(config)
    check_iceberg_sink(parsed)
    for name, reason in _NOT_HERE.items():
        if parsed.values.get(name):
            parsed.fail(name, invalid_value(name, parsed.config.get(name), f"Not for a connector with {SQL}: {reason}"))
    if len(parsed.items("iceberg.tables")) > 1:
        parsed.fail("iceberg.tables", f"iceberg.tables names several tables: {_NOT_HERE['iceberg.tables.route-field']}")
    _check_columns(parsed)
    text = parsed.text(SQL)
    if not parsed.errors.get(SQL) and not has_placeholder(text) and parsed.items("topics"):
        try:
            parse_statement(text, parsed.items("topics"))
        except StatementError as error:
            parsed.fail(SQL, invalid_value(SQL, text, str(error)))
    return parsed


def _check_columns(parsed: Parsed) -> None:
    topics, own = parsed.items("topics"), parsed.members(_OF_TOPIC)
    for name, text in ((SCHEMA, parsed.text(SCHEMA)), *((f"{SCHEMA}.{topic}", text) for topic, text in own.items())):
        if not text.strip() or has_placeholder(text):
            continue
        try:
            parse_columns(text)
        except ValueError as error:
            parsed.fail(name, invalid_value(name, text, str(error)))
    for topic in own.keys() - set(topics):
        parsed.fail(f"{SCHEMA}.{topic}", f"{SCHEMA}.{topic} is for a topic that topics does not name")
    if not parsed.text(SCHEMA).strip():
        without = [topic for topic in topics if topic not in own]
        if without:
            parsed.fail(SCHEMA, invalid_value(SCHEMA, "", f"The columns of {', '.join(without)} are not given"))


def sql_config(config: Mapping[str, str]) -> tuple[IcebergSinkConfig, StatementConfig]:
    """The typed configuration; raises ConfigError with all errors in Connect's text when there are any."""
    parsed = parse_sql(config)
    sink = typed_config(config, parsed)
    own = parsed.members(_OF_TOPIC)
    columns = {topic: parse_columns(own.get(topic, parsed.text(SCHEMA))) for topic in sink.topics}
    return sink, StatementConfig(parse_statement(parsed.text(SQL), sink.topics), columns)
