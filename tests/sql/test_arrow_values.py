from __future__ import annotations

import struct
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from frazil.sql.arrow_values import column_at, day_interval, month_interval, python_values, rows_of, shortest_real

MAPS = pa.map_(pa.string(), pa.string())


def column(values: list[object], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


def test_maps_are_dicts_and_decimals_stay() -> None:
    assert python_values(column([[("a", "b")], [], None], MAPS)) == [{"a": "b"}, {}, None]
    assert str(python_values(column([Decimal(2**70), None], pa.decimal128(38, 0)))[0]) == str(2**70)
    assert python_values(column([Decimal("1.50")], pa.decimal128(10, 2))) == [Decimal("1.50")]


def test_a_key_that_occurs_twice_loses_nothing() -> None:
    assert python_values(column([[("a", "b"), ("a", "c")], None], MAPS)) == [[("a", "b"), ("a", "c")], None]


def test_nanoseconds_are_text() -> None:
    assert python_values(column([1_700_000_000_123_456_789, None], pa.timestamp("ns"))) == [
        "2023-11-14T22:13:20.123456789",
        None,
    ]


def test_a_field_of_a_null_row_is_null() -> None:
    table = pa.table({"r": pa.array([{"x": 1}, None], pa.struct([("x", pa.int64())])), "s": ["a", "b"]})
    assert rows_of([column_at(table, "r.x"), column_at(table, "s")]) == [(1, "a"), (None, "b")]


def test_intervals_have_trinos_form() -> None:
    assert [day_interval(ms) for ms in (0, 90_061_001, -1500)] == [
        "0 00:00:00.000",
        "1 01:01:01.001",
        "-0 00:00:01.500",
    ]
    assert [month_interval(months) for months in (14, -1)] == ["1-2", "-0-1"]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_shortest_real_is_that_real(value: float) -> None:
    assert struct.unpack("f", struct.pack("f", shortest_real(value)))[0] == value
