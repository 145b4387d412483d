"""Configuration of a connector with a statement: the keys of the sink for its rows, and those of the statement."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from frazil.connectors.iceberg.config import iceberg_sink as iceberg
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, check_iceberg_sink
from frazil.connectors.iceberg.config.keys import ICEBERG_KEYS
from frazil.connectors.iceberg.config.row_changes import row_changes
from frazil.connectors.kept_keys import FOUND_COLUMNS
from frazil.connectors.keys.sink_config import SinkConfig, sink_fields
from frazil.connectors.keys.sink_definition import sink_definition
from frazil.connectors.objects.config import object_sink
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig, check_object_sink, object_sink_definition
from frazil.connectors.sql.columns import spark_columns
from frazil.connectors.sql.found_columns import FOUND, find_columns, given_columns
from frazil.connectors.sql.parts import NeedsState, StatementError
from frazil.connectors.sql.python_config import PYTHON_KEYS, check_modules, check_python, functions_of
from frazil.connectors.sql.row_function import PYTHON, RowFunction, load_function, load_udf
from frazil.connectors.sql.state_config import (
    DEDUP_KEYS,
    STATE_IS_HERE,
    STATE_KEYS,
    WATERMARK,
    StateConfig,
    check_state,
    is_here,
    state_config,
    state_rules,
)
from frazil.connectors.sql.statement import RECORDS, Statement, parse_statement
from frazil.connectors.sql.topic_config import (
    BUCKET,
    TOPIC,
    TOPIC_KEYS,
    TopicSinkConfig,
    check_topic,
    to_objects,
    to_topic,
    topic_config,
)
from frazil.declare.definition import ConfigDef, Key, Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from frazil.pipeline.types import Struct

SQL = "frazil.sql"
SCHEMA = "frazil.sql.schema"
_OF_TOPIC = "frazil.sql.schema.*"
_FOUND = f"{FOUND_COLUMNS}*"

SQL_KEYS = (
    Key(
        SQL,
        "STRING",
        "A SELECT over the topics, in Spark's SQL, whose rows are stored; before it there may be statements CREATE "
        "TEMPORARY VIEW name AS SELECT, each with a semicolon. All topics of topics.regex are one table, records.",
        importance="HIGH",
        width="LONG",
    ),
    Key(
        SCHEMA,
        "STRING",
        "Columns of the records of each topic for the statement, as in CREATE TABLE: id BIGINT NOT NULL, page STRING; "
        "or a JSON Schema; registry for those of the newest schema of the topic, inferred for those that its newest "
        "records show. A record that does not fit them is a bad record; members that no column is for are left out.",
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
    Key(
        _FOUND,
        "STRING",
        "Columns of one topic as they were found when the connector was created, with registry or inferred; the worker "
        "adds it, and keeps it. Without it they are found anew.",
        default=None,
    ),
    *PYTHON_KEYS,
    *STATE_KEYS,
    *TOPIC_KEYS,
)
_NOT_OF_RECORDS = "rows of a statement are no records; it may name _key, _headers and the others as columns"
_STATELESS = "no place for the state of a statement; write to an Iceberg table"
_NO_STATE, _NO_STATE_FOR_TOPICS = f"objects have {_STATELESS}", f"a topic has {_STATELESS}"
_NOT_FOR_TOPICS = {
    "iceberg.tables": f"rows go to the topic of {TOPIC}, or to a table",
    BUCKET: f"rows go to the topic of {TOPIC}, or to objects",
    WATERMARK: _NO_STATE_FOR_TOPICS,
    DEDUP_KEYS: _NO_STATE_FOR_TOPICS,
}
_NOT_FOR_OBJECTS = {
    "store.kafka.keys": _NOT_OF_RECORDS,
    "store.kafka.headers": _NOT_OF_RECORDS,
    "frazil.metadata.enable": _NOT_OF_RECORDS,
    "frazil.schema.file": "records are checked by the columns of frazil.sql.schema",
    "iceberg.tables": f"rows go to objects with {BUCKET}, or to a table",
    WATERMARK: _NO_STATE,
    DEDUP_KEYS: _NO_STATE,
}
_NOT_FOR_TABLES = {
    "iceberg.tables.route-field": "the rows of a statement go to one table",
    "iceberg.tables.dynamic-enabled": "the rows of a statement go to one table",
    "iceberg.tables.cdc-field": "the rows of a statement are appended, or replace others by key with "
    "iceberg.tables.upsert-mode-enabled",
}


@dataclass(frozen=True)
class StatementConfig:
    """A checked statement, the columns of each of its topics, and the keys about its state."""

    statement: Statement
    columns: Mapping[str, Struct]
    state: StateConfig
    python: str = ""
    function: RowFunction | None = None
    functions: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """Folder of the files that the statement may join with."""
    calls: Mapping[str, Any] = field(default_factory=dict)
    """Functions that the statement calls, by their names there."""
    found: Mapping[str, str] = field(default_factory=dict)
    """Sources of the columns that the configuration does not give, by topics."""

    def loaded(self, settings: Settings) -> StatementConfig:
        """Take the functions that it names from modules that the settings allow. Raises ConfigError."""
        allowed = settings.python_modules
        return replace(
            self,
            folder=settings.sql_files,
            function=load_function(self.python, allowed) if self.python else None,
            calls={name: load_udf(place, allowed) for name, place in self.functions.items()},
        )

    @property
    def digest(self) -> str:
        """Tells a statement, its columns and its keys about state from others."""
        columns = [f"{topic}: {spark_columns(each)}" for topic, each in self.columns.items()]
        parts = [self.statement.text, *columns, self.state.watermarks, self.state.dedup_keys, self.statement.updates]
        parts += [self.python] if self.python else []
        parts += [f"{name}={place}" for name, place in self.functions.items()]
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def sql_definition(config: Mapping[str, str | None]) -> ConfigDef:
    """All keys that count for `config`."""
    if to_topic(config):
        return sink_definition(config, SQL_KEYS)
    if to_objects(config):
        return object_sink_definition(config, SQL_KEYS)
    return sink_definition(config, (*SQL_KEYS, *ICEBERG_KEYS))


def parse_sql(config: Mapping[str, str | None]) -> Parsed:
    """Parse and check a configuration; errors and warnings are in the result, nothing is raised."""
    parsed = sql_definition(config).parse(config)
    if to_topic(config):
        refused = _NOT_FOR_TOPICS
        check_topic(parsed)
    elif to_objects(config):
        refused = _NOT_FOR_OBJECTS
        check_object_sink(parsed)
        _check_format(parsed)
    else:
        refused = _NOT_FOR_TABLES
        check_iceberg_sink(parsed)
        _check_tables(parsed)
    for name, reason in refused.items():
        if parsed.values.get(name) or (name not in parsed.values and parsed.config.get(name)):
            parsed.fail(name, invalid_value(name, parsed.config.get(name), f"Not for a connector with {SQL}: {reason}"))
    _check_columns(parsed)
    text = parsed.text(SQL)
    topics = _topics(parsed)
    if not parsed.errors.get(SQL) and not has_placeholder(text) and topics:
        try:
            check_python(parsed, has_state=_statement(parsed, topics).state)
        except StatementError as error:
            parsed.fail(SQL, invalid_value(SQL, text, str(error)))
    return parsed


def check_by_worker(parsed: Parsed, settings: Settings) -> None:
    """Check functions by the modules that the worker allows, and state by its Spark; errors go into `parsed`."""
    check_modules(parsed, settings.python_modules)
    text, master = parsed.text(SQL), settings.spark_master
    if is_here(master) or parsed.errors.get(SQL) or has_placeholder(text) or not _topics(parsed):
        return
    if _statement(parsed, _topics(parsed)).state:
        reason = f"it keeps state, and {STATE_IS_HERE} (SPARK_MASTER={master})"
        parsed.fail(SQL, invalid_value(SQL, text, reason))


def _topics(parsed: Parsed) -> Sequence[str]:
    """The tables of the statement that are topics."""
    return [RECORDS] if parsed.text("topics.regex") else list(dict.fromkeys(parsed.items("topics")))


def _check_tables(parsed: Parsed) -> None:
    if len(parsed.items("iceberg.tables")) > 1:
        reason = _NOT_FOR_TABLES["iceberg.tables.route-field"]
        parsed.fail("iceberg.tables", f"iceberg.tables names several tables: {reason}")


def _check_format(parsed: Parsed) -> None:
    name = parsed.text("format.class")
    if name.endswith("ByteArrayFormat"):
        reason = f"Not for a connector with {SQL}, whose rows have columns. Set JsonFormat, ParquetFormat or AvroFormat"
        parsed.fail("format.class", invalid_value("format.class", name, reason))


_parse = lru_cache(maxsize=16)(parse_statement)
"""Keeps the newest ones: a configuration that is checked is then read, and may be long."""


def _statement(parsed: Parsed, topics: Sequence[str]) -> Statement:
    """Check the statement. Raises StatementError."""
    rules, topic, objects = None, to_topic(parsed.config), to_objects(parsed.config)
    if not (topic or objects):
        changes = row_changes(parsed)
        ids = changes.id_columns_of(next(iter(parsed.items("iceberg.tables")), "")) if changes is not None else ()
        upserts = parsed.flag("iceberg.tables.upsert-mode-enabled")
        rules = state_rules(state_config(parsed, topics), upserts=upserts, id_columns=[".".join(path) for path in ids])
    try:
        found = _parse(parsed.text(SQL), tuple(topics), rules, frozenset(functions_of(parsed)))
    except NeedsState as error:
        raise StatementError(f"{error}: {_NO_STATE_FOR_TOPICS if topic else _NO_STATE}") from None
    if topic and found.tables:
        raise StatementError(f"it joins with table {found.tables[0]}; write to an Iceberg table, or join there")
    if objects and found.tables:
        raise StatementError(
            f"it joins with table {found.tables[0]}, whose rows may differ when records are read again, and objects "
            "that are stored stay; write to an Iceberg table"
        )
    twice = [topic for topic in found.topics if found.reads.count(topic) > 1]
    if objects and twice:
        raise StatementError(
            f"it goes through the records of {twice[0]} several times, and objects have the rows of a record side by "
            "side; use explode, or write to an Iceberg table"
        )
    return found


def _check_columns(parsed: Parsed) -> None:
    topics, own, texts = _topics(parsed), parsed.members(_OF_TOPIC), column_texts(parsed)
    found = {f"{FOUND_COLUMNS}{topic}": text for topic, text in parsed.members(_FOUND).items()}
    given = {SCHEMA: parsed.text(SCHEMA), **{f"{SCHEMA}.{topic}": text for topic, text in own.items()}, **found}
    for name, text in given.items():
        if text.strip() in ("", *FOUND) or has_placeholder(text):
            continue
        try:
            given_columns(text)
        except ValueError as error:
            parsed.fail(name, invalid_value(name, text, str(error)))
    for topic in own.keys() - set(parsed.items("topics")):
        parsed.fail(f"{SCHEMA}.{topic}", f"{SCHEMA}.{topic} is for a topic that topics does not name")
    without = [topic for topic in topics if not texts[topic].strip()]
    if without:
        parsed.fail(SCHEMA, invalid_value(SCHEMA, "", f"The columns of {', '.join(without)} are not given"))
    if not any(name.startswith((SCHEMA, FOUND_COLUMNS)) for name in parsed.errors):
        known = {topic: text for topic, text in texts.items() if not has_placeholder(text) and text not in FOUND}
        check_state(parsed, {topic: given_columns(text) for topic, text in known.items()}, topics)


def column_texts(parsed: Parsed) -> dict[str, str]:
    """Columns of each topic as they are given, or were found; where they are to be found, that is the text."""
    kept = parsed.members(_FOUND)
    return {
        topic: kept.get(topic, "").strip() or text if text in FOUND else text
        for topic, text in _given_texts(parsed).items()
    }


def _given_texts(parsed: Parsed) -> dict[str, str]:
    """Texts about the columns of each topic, as they are given."""
    own = parsed.members(_OF_TOPIC)
    return {topic: own.get(topic, parsed.text(SCHEMA)).strip() for topic in _topics(parsed)}


def found_keys(config: Mapping[str, str], cluster: Bootstrap) -> dict[str, str]:
    """Find the columns that are to be found and are not yet, as keys; none for a configuration that cannot run.

    Raises ConfigError where there are none, ServiceUnavailable.
    """
    parsed = parse_sql(config)
    wanted = {topic: text for topic, text in column_texts(parsed).items() if text in FOUND}
    if not wanted or parsed.error_texts():
        return {}
    found = find_columns(SinkConfig(**sink_fields(parsed)), wanted, cluster)
    return {f"{FOUND_COLUMNS}{topic}": text for topic, text in found.items()}


def sql_config(config: Mapping[str, str]) -> tuple[IcebergSinkConfig, StatementConfig]:
    """The typed configuration of a table; raises ConfigError with all errors in Connect's text when there are any."""
    parsed = parse_sql(config)
    return iceberg.typed_config(config, parsed), _statement_config(parsed)


def sql_topic_config(config: Mapping[str, str]) -> tuple[TopicSinkConfig, StatementConfig]:
    """The typed configuration of a topic; raises ConfigError with all errors in Connect's text when there are any."""
    parsed = parse_sql(config)
    return topic_config(parsed), _statement_config(parsed)


def sql_object_config(config: Mapping[str, str]) -> tuple[ObjectSinkConfig, StatementConfig]:
    """The typed configuration of objects; raises ConfigError with all errors in Connect's text when there are any."""
    parsed = parse_sql(config)
    return replace(object_sink.typed_config(parsed), computed=True), _statement_config(parsed)


def _statement_config(parsed: Parsed) -> StatementConfig:
    """Read what may have come from a provider, so that nobody has checked it. Raises ConfigError."""
    topics = _topics(parsed)
    try:
        statement = _statement(parsed, topics)
    except StatementError as error:
        raise ConfigError(f"{SQL}: {error}") from None
    try:
        columns = {topic: given_columns(text) for topic, text in column_texts(parsed).items()}
    except ValueError as error:
        raise ConfigError(f"{SCHEMA}: {error}") from None
    return StatementConfig(
        statement,
        columns,
        state_config(parsed, topics),
        parsed.text(PYTHON).strip(),
        functions=functions_of(parsed),
        found={topic: text for topic, text in _given_texts(parsed).items() if text in FOUND},
    )
