from __future__ import annotations

import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.expressions.parser import parse as iceberg_expression
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
)
from sqlglot import exp, parse_one

from frazil.logs.tables import API_SCHEMA
from frazil.query.pushdown import needed_columns, row_filter, row_limit

TYPES = Schema(
    NestedField(1, "i", IntegerType()),
    NestedField(2, "l", LongType()),
    NestedField(3, "b", BooleanType()),
    NestedField(4, "d", DateType()),
    NestedField(5, "t", TimestampType()),
    NestedField(6, "x", DoubleType()),
    NestedField(7, "s", StringType()),
)


def parsed(sql: str) -> tuple[exp.Expr, exp.Table]:
    tree = parse_one(sql, read="trino")
    table = tree.find(exp.Table)
    assert table is not None
    return tree, table


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT count(*) FROM apilogs", ()),
        ("SELECT name FROM apilogs", ("name",)),
        ("SELECT 1 FROM apilogs WHERE BUCKET = 'a' ORDER BY time", ("time", "bucket")),
        ("SELECT a.name FROM apilogs a JOIN apilogs b USING (bucket)", ("name", "bucket")),
        ('SELECT "callInfo".tx FROM apilogs', ("callInfo.tx",)),
        (
            'SELECT a."callInfo".tx, "callInfo"."requestHeader"[\'A\'] FROM apilogs a',
            ("callInfo.tx", "callInfo.requestHeader"),
        ),
        ('SELECT "callInfo" FROM apilogs WHERE "callInfo".tx > 1', ("callInfo",)),
        ('SELECT x.tx FROM (SELECT "callInfo" AS x FROM apilogs)', ("callInfo",)),
        ('SELECT "callInfo".nosuch FROM apilogs', ("callInfo",)),
        ("SELECT t.time FROM apilogs t", ("time",)),
    ],
)
def test_only_columns_that_are_named_are_read(sql: str, columns: tuple[str, ...]) -> None:
    assert needed_columns(parsed(sql)[0], API_SCHEMA) == columns


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM apilogs",
        "SELECT a.* FROM apilogs a",
        "SELECT count(DISTINCT *) FROM apilogs",
        "SELECT a FROM apilogs AS x (a, b, c)",
        "SELECT name FROM apilogs NATURAL JOIN auditlogs",
        "SELECT columns('a.*') FROM apilogs",
    ],
)
def test_all_columns_where_they_are_not_named(sql: str) -> None:
    assert needed_columns(parsed(sql)[0], API_SCHEMA) == tuple(field.name for field in API_SCHEMA.fields)


@pytest.mark.parametrize(
    ("condition", "pushed"),
    [
        ("i = 1", "i = 1"),
        ("1 < I", "i > 1"),
        ("q.l <= -5", "l <= -5"),
        ("b = true", "b = true"),
        ("s = 'a b'", "s = 'a b'"),
        ("s IS NULL", "s is null"),
        ("s IS NOT NULL", "s is not null"),
        ("d >= DATE '2025-01-15'", "d >= '2025-01-15'"),
        ("t < TIMESTAMP '2025-01-15 10:00:00.5'", "t < '2025-01-15T10:00:00.500000'"),
        ("s = 'a' AND x > 1.5", "s = 'a'"),
        ("(s = 'a' AND upper(s) = 'A') OR i = 1", "s = 'a' or i = 1"),
        ("i IN (1, 2)", "i in (1, 2)"),
        ("i BETWEEN 1 AND 3", "i >= 1 and i <= 3"),
    ],
)
def test_comparisons_with_literals_are_pushed(condition: str, pushed: str) -> None:
    found = row_filter(parsed(f"SELECT 1 FROM q WHERE {condition}")[1], TYPES)  # noqa: S608
    assert found == iceberg_expression(pushed)


@pytest.mark.parametrize(
    "condition",
    [
        "i = 1.5",
        "i = '1'",
        "i = 99999999999",
        "l > 99999999999999999999",
        "x = 1",
        "s = 1",
        "s = i",
        "s <> 'a'",
        "NOT s = 'a'",
        "s LIKE 'a%'",
        "s = 'a' OR x > 1",
        "i IN (1, l)",
        "i IN (SELECT 1)",
        "i NOT IN (1, 2)",
        "s IN ('a', NULL)",
        "d = DATE '2025-02-30'",
        "d = DATE 'yesterday'",
        "t = TIMESTAMP '2025-01-15 10:00:00 UTC'",
        "t = TIMESTAMP '2025-01-15 10:00:00 Europe/Vienna'",
        "upper(s) = 'A'",
        "other.s = 'a'",
        "i BETWEEN 1 AND l",
    ],
)
def test_what_the_engine_might_read_otherwise_is_not_pushed(condition: str) -> None:
    assert row_filter(parsed(f"SELECT 1 FROM q WHERE {condition}")[1], TYPES) == AlwaysTrue()  # noqa: S608


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM q, r WHERE s = 'a'",
        "SELECT 1 FROM q LEFT JOIN r ON true WHERE s = 'a'",
        "SELECT 1 FROM q CROSS JOIN UNNEST(ARRAY['a']) AS u (s) WHERE s = 'a'",
        "SELECT 1 FROM q AS z (s, i) WHERE s = 'a'",
        "SELECT 1 FROM q TABLESAMPLE BERNOULLI (10) WHERE s = 'a'",
        "SELECT 1 FROM q GROUP BY s HAVING s = 'a'",
    ],
)
def test_no_filter_where_a_name_could_mean_something_else(sql: str) -> None:
    assert row_filter(parsed(sql)[1], TYPES) == AlwaysTrue()


def test_no_filter_where_columns_differ_in_case_only() -> None:
    schema = Schema(NestedField(1, "s", StringType()), NestedField(2, "S", StringType()))
    assert row_filter(parsed("SELECT 1 FROM q WHERE s = 'a'")[1], schema) == AlwaysTrue()


@pytest.mark.parametrize(
    ("sql", "limit"),
    [
        ("SELECT * FROM q LIMIT 10", 10),
        ("SELECT s, q.i AS j, 1 FROM q OFFSET 5 LIMIT 10", 15),
        ("SELECT * FROM q FETCH FIRST 3 ROWS ONLY", None),
        ("SELECT * FROM q", None),
        ("SELECT * FROM q WHERE s = 'a' LIMIT 10", None),
        ("SELECT * FROM q ORDER BY s LIMIT 10", None),
        ("SELECT DISTINCT s FROM q LIMIT 10", None),
        ("SELECT s FROM q GROUP BY s LIMIT 10", None),
        ("SELECT count(*) FROM q LIMIT 10", None),
        ("SELECT row_number() OVER () FROM q LIMIT 10", None),
        ("SELECT (SELECT max(i) FROM r) FROM q LIMIT 10", None),
        ("SELECT * FROM q, r LIMIT 10", None),
        ("SELECT * FROM q TABLESAMPLE BERNOULLI (10) LIMIT 10", None),
        ("SELECT s FROM q UNION SELECT s FROM r LIMIT 10", None),
    ],
)
def test_a_limit_is_pushed_where_nothing_comes_between(sql: str, limit: int | None) -> None:
    tree = parse_one(sql, read="trino")
    table = next(table for table in tree.find_all(exp.Table) if table.name == "q")
    assert row_limit(table) == limit
