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

from tests.sql.catalogs import translated

TYPES = Schema(
    NestedField(1, "i", IntegerType()),
    NestedField(2, "l", LongType()),
    NestedField(3, "b", BooleanType()),
    NestedField(4, "d", DateType()),
    NestedField(5, "t", TimestampType()),
    NestedField(6, "x", DoubleType()),
    NestedField(7, "s", StringType()),
)


@pytest.mark.parametrize(
    ("condition", "pushed"),
    [
        ("i = 1", "i = 1"),
        ("1 < I", "i > 1"),
        ("q.l <= -5", "l <= -5"),
        ("l = 2 + 3", "l = 5"),
        ("b = true", "b = true"),
        ("s = 'a b'", "s = 'a b'"),
        ("s = upper('a') || 'b'", "s = 'Ab'"),
        ("s IS NULL", "s is null"),
        ("s IS NOT NULL", "s is not null"),
        ("d >= DATE '2025-01-15'", "d >= '2025-01-15'"),
        ("d > DATE '2025-01-15' - INTERVAL '1' MONTH", "d > '2024-12-15'"),
        ("t < TIMESTAMP '2025-01-15 10:00:00.5'", "t < '2025-01-15T10:00:00.500000'"),
        ("s = 'a' AND x > 1.5", "s = 'a'"),
        ("(s = 'a' AND upper(s) = 'A') OR i = 1", "s = 'a' or i = 1"),
        ("i IN (1, 2)", "i in (1, 2)"),
        ("s IN ('a', NULL)", "s in ('a')"),
        ("i BETWEEN 1 AND 3", "i >= 1 and i <= 3"),
        ("i BETWEEN 1 AND l", "i >= 1"),
        ("s LIKE 'a.b%c'", "s like 'a.b%'"),
    ],
)
def test_comparisons_with_constants_are_taken(condition: str, pushed: str) -> None:
    [scan] = translated(f"SELECT 1 FROM q WHERE {condition}", {"q": TYPES}).scans  # noqa: S608
    assert scan.row_filter == iceberg_expression(pushed)


@pytest.mark.parametrize(
    "condition",
    [
        "i = 1.5",
        "i = 99999999999",
        "x = 1",
        "s <> 'a'",
        "NOT s = 'a'",
        "s LIKE '%a'",
        "s LIKE 'a!_b%' ESCAPE '!'",
        "s = 'a' OR x > 1",
        "i IN (1, l)",
        "i IN (SELECT 1)",
        "i NOT IN (1, 2)",
        "t = TIMESTAMP '2025-01-15 10:00:00 UTC'",
        "upper(s) = 'A'",
        "s = s || ''",
        "i = l",
        "s = (SELECT 'a')",
        "i = CAST(random() AS integer)",
    ],
)
def test_what_the_engine_might_read_otherwise_is_not_taken(condition: str) -> None:
    [scan] = translated(f"SELECT 1 FROM q WHERE {condition}", {"q": TYPES}).scans[:1]  # noqa: S608
    assert scan.row_filter == AlwaysTrue()
