"""Tables, columns and form of values that a Debezium connector for PostgreSQL captures, by its configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.connectors.debezium_keys import is_postgres
from frazil.declare.converters import JSON_CONVERTER, NULLS_TAKE_DEFAULTS
from frazil.declare.definition import invalid_value
from frazil.errors import ConfigError
from frazil.text.java_regex import compile_java
from frazil.text.lists import listed

if TYPE_CHECKING:
    import psycopg

_NEEDED = {
    "snapshot.mode": ("", "no_data", "the rows are taken here, and Debezium may not take them again"),
    "plugin.name": ("decoderbufs", "pgoutput", "the slot is made for it"),
    "key.converter": ("", JSON_CONVERTER, "types of columns come from the schemas of records"),
    "value.converter": ("", JSON_CONVERTER, "types of columns come from the schemas of records"),
    "key.converter.schemas.enable": ("true", "true", "types of columns come from the schemas of records"),
    "value.converter.schemas.enable": ("true", "true", "types of columns come from the schemas of records"),
    NULLS_TAKE_DEFAULTS: ("true", "false", "nulls are taken as nulls here"),
}
"""Keys that have to have one value, with their defaults and the reason."""
_FOREIGN = (
    "transforms",
    "converters",
    "message.key.columns",
    "column.mask.",
    "column.truncate.",
    "snapshot.select.statement.overrides",
    "field.name.adjustment.mode",
    "topic.naming.strategy",
    "topic.delimiter",
    "publish.via.partition.root",
)
"""Keys, and beginnings of keys, that change what records bring."""
_INERT = ("", "none", "false")
_CHOICES = {
    "decimal.handling.mode": ("precise", "string", "double"),
    "time.precision.mode": ("adaptive", "adaptive_time_microseconds", "connect"),
    "binary.handling.mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "interval.handling.mode": ("numeric", "string"),
}
"""Keys about the form of values; the first of their values is the default."""
_LISTS = tuple(f"{what}.{which}.list" for what in ("schema", "table", "column") for which in ("include", "exclude"))
_MONEY = "money.fraction.digits"
_SYSTEM = "pg_catalog,information_schema,pg_toast.*"

_TABLES = """
SELECT c.oid, n.nspname, c.relname, pg_relation_size(c.oid) / current_setting('block_size')::int, c.reltuples
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND %s IN (0, c.oid) ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
SELECT a.attname, COALESCE(e.typname || '[]', b.typname, t.typname), COALESCE(e.typtype, t.typtype)::text,
       CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END,
       COALESCE(array_position(i.indkey::int2[], a.attnum), -1)
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
LEFT JOIN pg_type b ON b.oid = t.typbasetype
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""


@dataclass(frozen=True)
class SourceColumn:
    """A column: `type` is its type's name in `pg_type`, the one behind a domain, that of an array's elements with [].

    `kind` is their `typtype`, `modifier` the column's `atttypmod`. `key`: its place in the primary key, negative when
    it is not in it.
    """

    name: str
    type: str
    kind: str
    modifier: int
    key: int


@dataclass(frozen=True)
class SourceTable:
    """A table with the columns that records have; `blocks` and `rows` are about what it has now."""

    oid: int
    schema: str
    name: str
    blocks: int
    rows: int
    columns: tuple[SourceColumn, ...]

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def key(self) -> tuple[SourceColumn, ...]:
        """The columns of the primary key, in its order."""
        return tuple(sorted((each for each in self.columns if each.key >= 0), key=lambda each: each.key))


@dataclass(frozen=True)
class Capture:
    """A connector's rules; `modes` has the keys about the form of values."""

    prefix: str
    slot: str
    publication: str
    autocreate: str
    modes: Mapping[str, str]
    money_digits: int
    _lists: Mapping[str, str]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Capture:
        """Read a configuration. Raises ConfigError for one whose rows cannot be taken with exactly its types."""
        if not is_postgres(config):
            raise ConfigError(
                f"{config.get('connector.class', 'this')} is not Debezium's connector for PostgreSQL. Nothing was done"
            )
        text = {key: value.strip() for key, value in config.items()}
        problems = [
            invalid_value(key, text.get(key, default), f"Write {wanted}: {reason}")
            for key, (default, wanted, reason) in _NEEDED.items()
            if text.get(key, default) != wanted
        ]
        problems += [
            f"{key} changes what records bring, and rows taken here would differ; remove it"
            for key, value in text.items()
            if key.startswith(_FOREIGN) and value not in _INERT
        ]
        modes = {key: text.get(key, "") or choices[0] for key, choices in _CHOICES.items()}
        problems += [
            invalid_value(key, modes[key], f"Write one of {', '.join(choices)}")
            for key, choices in _CHOICES.items()
            if modes[key] not in choices
        ]
        for key in _LISTS:
            try:
                _matches(text.get(key, ""), "")
            except re.error as error:
                problems.append(invalid_value(key, text[key], str(error)))
        if not (text.get(_MONEY) or "0").isdecimal():
            problems.append(invalid_value(_MONEY, text[_MONEY], "Not a number"))
        if not text.get("topic.prefix"):
            problems.append('Missing required configuration "topic.prefix" which has no default value.')
        if problems:
            raise ConfigError("; ".join(problems) + ". Nothing was done")
        return cls(
            text["topic.prefix"],
            text.get("slot.name") or "debezium",
            text.get("publication.name") or "dbz_publication",
            text.get("publication.autocreate.mode") or "all_tables",
            modes,
            int(text.get(_MONEY) or 2),
            text,
        )

    def topic(self, table: SourceTable) -> str:
        """The topic of a table's changes."""
        return f"{self.prefix}.{table.schema}.{table.name}"

    def tables(self, connection: psycopg.Connection[Any]) -> list[SourceTable]:
        """The captured tables. Raises ConfigError when there are none."""
        found = list(self._tables(connection, 0))
        if not found:
            raise ConfigError("the connector captures no table that the database has: see table.include.list")
        return found

    def table(self, connection: psycopg.Connection[Any], oid: int) -> SourceTable | None:
        """A captured table as it is now; None when it is gone."""
        return next(self._tables(connection, oid), None)

    def _tables(self, connection: psycopg.Connection[Any], oid: int) -> Iterator[SourceTable]:
        for number, schema, name, blocks, rows in connection.execute(_TABLES, [oid]).fetchall():
            chosen = self._chosen("schema", schema) and self._chosen("table", f"{schema}.{name}")
            if chosen and not _matches(_SYSTEM, schema):
                columns = self._columns(connection.execute(_COLUMNS, [number]).fetchall(), f"{schema}.{name}")
                yield SourceTable(number, schema, name, blocks, max(int(rows), 0), columns)

    def _columns(self, rows: Iterable[Sequence[Any]], table: str) -> tuple[SourceColumn, ...]:
        columns = [SourceColumn(*row) for row in rows]
        chosen = tuple(each for each in columns if self._chosen("column", f"{table}.{each.name}"))
        if lacking := [each.name for each in columns if each.key >= 0 and each not in chosen]:
            raise ConfigError(
                f"{table}: {', '.join(lacking)} of its primary key is not among the columns that are captured; see "
                "column.include.list and column.exclude.list. Nothing was done"
            )
        return chosen

    def _chosen(self, what: str, name: str) -> bool:
        include, exclude = (self._lists.get(f"{what}.{which}.list", "") for which in ("include", "exclude"))
        return _matches(include, name) if include else not (exclude and _matches(exclude, name))


def _matches(expressions: str, name: str) -> bool:
    """Whether one of the expressions, between commas, matches the whole name, in any case."""
    return any(compile_java(f"(?i){one}").matches(name) for one in listed(expressions))
