from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo, Reference
from pyiceberg.expressions.literals import literal as iceberg_literal

from frazil.errors import QueryError
from frazil.sql.binding import bind, literal
from frazil.sql.engine import Engine
from frazil.sql.parameters import Value
from frazil.sql.statements import split
from frazil.sql.translate import translate
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog, log_names

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


def answer(sql: str, **values: Value) -> Any:
    """The one value that a statement answers on the embedded engine."""
    [result] = Engine(MetadataCatalog(LOG_TABLES), "s3://kafkawarehouse", "streaming").run(bind(sql, values)[0])
    [(value,)] = result.rows
    return value


@pytest.mark.parametrize(
    ("sql", "values", "expected"),
    [
        ("SELECT :a", {"a": "it's"}, "it's"),
        ("SELECT 'x' || :a", {"a": "\\'; DROP TABLE x; --"}, "x\\'; DROP TABLE x; --"),
        ("SELECT 7 -:a", {"a": -5}, 12),
        ("SELECT 7-:a -- :b", {"a": 5}, 2),
        ("SELECT ':a' /* :a */", {}, ":a"),
        ("SELECT :a + :a", {"a": 2}, 4),
        ("SELECT :a", {"a": Decimal("1.50")}, Decimal("1.50")),
        ("SELECT :a / 2", {"a": 3.0}, 1.5),
        ("SELECT NOT :a", {"a": True}, False),
        ("SELECT :a < DATE '2025-01-16'", {"a": date(2025, 1, 15)}, True),
        ("SELECT :a = TIMESTAMP '2025-01-15 09:30:00 UTC'", {"a": datetime(2025, 1, 15, 9, 30)}, True),
        (
            "SELECT :a = TIMESTAMP '2025-01-15 09:30:00 UTC'",
            {"a": datetime(2025, 1, 15, 10, 30, tzinfo=timezone(timedelta(hours=1)))},
            True,
        ),
    ],
)
def test_values_in_their_places(sql: str, values: dict[str, Value], expected: Any) -> None:
    assert answer(sql, **values) == expected


@given(TEXTS)
def test_any_text_is_one_value(text: str) -> None:
    assert answer("SELECT :a", a=text) == text


@given(st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_is_itself(whole: int, broken: float) -> None:
    assert answer("SELECT :a", a=whole) == whole
    assert answer("SELECT CAST(:a AS DOUBLE)", a=broken) == broken


@given(TEXTS)
def test_a_text_stays_one_token(text: str) -> None:
    [statement] = split(f"SELECT {literal(text)}")
    assert [token.text for token in statement.tokens][1:] == [text]


def test_an_early_time_keeps_the_digits_of_its_year() -> None:
    assert literal(datetime(99, 1, 2)) == "TIMESTAMP '0099-01-02 00:00:00.000000 UTC'"


def test_a_value_reaches_the_scan_as_a_filter() -> None:
    sql, used = bind("SELECT name FROM apilogs WHERE bucket = :bucket", {"bucket": "it's", "other": 1})
    [statement] = split(sql)
    [scan] = translate(statement, log_names()).scans
    assert scan.row_filter == EqualTo(term=Reference("bucket"), value=iceberg_literal("it's"))
    assert used == {"bucket"}


def test_a_parameter_without_value() -> None:
    with pytest.raises(QueryError, match="line 2: :b has no value; give it one with --param b=VALUE"):
        bind("SELECT :a,\n:b", {"a": 1})
    assert bind("SELECT json_object('k':x)", {}) == ("SELECT json_object('k':x)", set())
