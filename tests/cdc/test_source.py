"""Tables and columns that a source connector captures, and publications that lack some of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from frazil.cdc.slot import make_slot
from frazil.cdc.source import Capture
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from tests.cdc.test_columns import capture
from tests.isolation import quiet

pytestmark = pytest.mark.stack

_TABLES = """
CREATE SCHEMA depot;
CREATE TABLE depot.parts (id int, code text, twice int GENERATED ALWAYS AS (id * 2) STORED, PRIMARY KEY (code, id));
CREATE TABLE depot.more () INHERITS (depot.parts);
CREATE TABLE depot.logs (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE depot.logs_2024 PARTITION OF depot.logs FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE UNLOGGED TABLE depot.scratch (id int PRIMARY KEY);
CREATE VIEW depot.seen AS SELECT * FROM depot.parts;
"""


@pytest.fixture(scope="module")
def database(postgres: Settings) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(**postgres.postgres_access(), autocommit=True) as connection:
        connection.execute(_TABLES)
        yield connection
        connection.execute("DROP SCHEMA depot CASCADE")


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({}, ["logs_2024", "more", "parts"]),
        ({"table.include.list": r"depot\.p.*, other.x"}, ["parts"]),
        ({"table.include.list": "DEPOT.PARTS"}, ["parts"]),
        ({"table.include.list": "parts,epot.parts"}, []),
        ({"table.exclude.list": r"depot\.(more|parts)"}, ["logs_2024"]),
        ({"schema.exclude.list": "depot"}, []),
    ],
)
def test_tables_are_those_of_the_lists(
    database: psycopg.Connection[Any], keys: dict[str, str], names: list[str]
) -> None:
    found = capture(**{"schema.include.list": "" if "schema.exclude.list" in keys else "depot", **keys})
    if names:
        assert [each.name for each in found.tables(database)] == names
        return
    try:
        assert "depot" not in {each.schema for each in found.tables(database)}
    except ConfigError as error:
        assert "captures no table" in str(error)


def test_columns_are_those_of_the_lists_and_none_is_generated(database: psycopg.Connection[Any]) -> None:
    (parts,) = capture(**{"table.include.list": "depot.parts"}).tables(database)
    assert [(each.name, each.type) for each in parts.columns] == [("id", "int4"), ("code", "text")]
    assert [each.name for each in parts.key] == ["code", "id"]
    with pytest.raises(ConfigError, match="depot.parts: code of its primary key is not among the columns"):
        capture(**{"table.include.list": "depot.parts", "column.exclude.list": ".*code"}).tables(database)


@pytest.mark.parametrize("key", ["table.include.list", "column.exclude.list"])
def test_an_expression_that_is_none_is_told(key: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid value .* for configuration {key}"):
        capture(**{key: "a("})


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("FOR TABLE depot.parts (id, code) WHERE (id > 1)", "leaves out rows or columns of depot.parts"),
        ("FOR TABLE depot.parts WITH (publish = 'insert')", "does not publish inserts, updates and deletes"),
        ("FOR TABLE depot.more", "lacks depot.parts, and publication.autocreate.mode=disabled"),
    ],
)
def test_a_publication_that_lacks_something_is_told(database: psycopg.Connection[Any], made: str, told: str) -> None:
    keys = {"table.include.list": "depot.parts", "publication.name": "depot", "slot.name": "depot"}
    found = capture(**keys, **{"publication.autocreate.mode": "disabled"})
    database.execute(f"CREATE PUBLICATION depot {made}")
    try:
        with pytest.raises(ConfigError, match=told):
            make_slot(database, found, found.tables(database), quiet)
    finally:
        database.execute("DROP PUBLICATION depot")


def test_a_publication_gets_the_tables_that_it_lacks(database: psycopg.Connection[Any]) -> None:
    keys = {"publication.name": "depot", "slot.name": "depot", "publication.autocreate.mode": "filtered"}
    try:
        for tables in ("depot.parts", "depot.parts,depot.logs_2024"):
            found: Capture = capture(**keys, **{"table.include.list": tables})
            make_slot(database, found, found.tables(database), quiet)
            listed = "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = 'depot'"
            assert {name for (name,) in database.execute(listed)} == {*tables.split(",")} | {"depot.more"}
    finally:
        database.execute("SELECT pg_drop_replication_slot('depot')")
        database.execute("DROP PUBLICATION depot")
