"""Columns and fields whose names differ in case only: each has its own value, or a statement is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, NestedField, StringType, StructType

from frazil.errors import QueryError
from frazil.sql.engine import Engine
from frazil.sql.result import Result
from tests.connectors.iceberg.memory import MemoryCatalog

PAIR = StructType(
    NestedField(11, "X", LongType(), required=False),
    NestedField(12, "x", LongType(), required=False),
    NestedField(13, "y", StructType(NestedField(14, "z", LongType(), required=False)), required=False),
)
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "body", StringType(), required=False),
    NestedField(3, "Body", StringType(), required=False),
    NestedField(4, "s", PAIR, required=False),
    NestedField(5, "items", ListType(51, StructType(
        NestedField(52, "K", LongType(), required=False), NestedField(53, "k", LongType(), required=False)
    ), element_required=False), required=False),
)  # fmt: skip
FIRST = {
    "id": 1,
    "body": "small",
    "Body": "large",
    "s": {"X": 10, "x": 20, "y": {"z": 30}},
    "items": [{"K": 1, "k": 2}],
}
SECOND = {"id": 2, "body": "low", "Body": "high", "s": None, "items": [{"K": 3, "k": 4}]}

Ask = Callable[[str], Result]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    plain = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "BODY", StringType()))
    catalog = MemoryCatalog(tmp_path_factory.mktemp("twins"), {"db.t": SCHEMA, "db.plain": plain})
    table = catalog.load_table("db.t")
    table.append(
        pa.Table.from_pylist([FIRST, SECOND], schema=schema_to_pyarrow(table.schema(), include_field_ids=False))
    )
    engine = Engine(catalog, "s3://warehouse", "db")

    def asked(sql: str) -> Result:
        [result] = engine.run(sql)
        return result

    return asked


def test_star_has_each_column_under_its_own_name(ask: Ask) -> None:
    result = ask("SELECT * FROM t ORDER BY id")
    assert result.columns == ("id", "body", "Body", "s", "items")
    assert [dict(zip(result.columns, row, strict=True)) for row in result.rows] == [FIRST, SECOND]
    assert result.arrow is not None
    assert result.arrow.to_pylist() == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT body FROM t", [("small",), ("low",)]),
        ("SELECT Body FROM t", [("large",), ("high",)]),
        ('SELECT t.body, t."Body" FROM t', [("small", "large"), ("low", "high")]),
        ("SELECT id FROM t WHERE \"Body\" = 'large'", [(1,)]),
        ("SELECT id FROM t WHERE body = 'large'", []),
        ('SELECT "Body" FROM t ORDER BY "body"', [("high",), ("large",)]),
        ('SELECT "Body", count(*) FROM t GROUP BY "Body" ORDER BY 1', [("high", 1), ("large", 1)]),
        ('SELECT "Body" FROM (SELECT * FROM t)', [("large",), ("high",)]),
        ("SELECT id FROM t", [(1,), (2,)]),
        ("SELECT count(*) FROM (SELECT t.s.x, body FROM t)", [(2,)]),
        ('SELECT s.X, s."x", s.y.z FROM t', [(10, 20, 30), (None, None, None)]),
        ("SELECT s.y.z FROM t WHERE s.x = 20", [(30,)]),
        ('SELECT "items"[1].k FROM t WHERE id = 1', [(2,)]),
    ],
)
def test_a_name_means_the_one_that_is_written_so(ask: Ask, sql: str, rows: list[tuple[Any, ...]]) -> None:
    assert ask(sql).rows == rows


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT BODY FROM t", "body is ambiguous: it is body or Body; write it exactly so"),
        ("SELECT bODY FROM t JOIN plain ON t.id = plain.id", "body is ambiguous: it is body or Body or BODY"),
        ('SELECT "BODY" FROM (SELECT body, "Body" FROM t)', "column body is ambiguous"),
        ('SELECT "items"[1].kk FROM t', "there is no field of that name"),
    ],
)  # fmt: skip
def test_a_name_that_is_neither_is_refused(ask: Ask, sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        ask(sql)


def test_tables_without_such_names_are_as_before(ask: Ask) -> None:
    assert ask('SELECT plain.body, "t"."Body" FROM t LEFT JOIN plain ON plain.id = t.id').rows == [
        (None, "large"),
        (None, "high"),
    ]
