from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.keys import Keys, columns_of


def table(*columns: list[Any] | pa.Array) -> pa.Table:
    return pa.table(
        [pa.array(c) if isinstance(c, list) else c for c in columns], names=list(map(str, range(len(columns))))
    )


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1, 2], pa.int32()),
        pa.array([2**62, -1, 0], pa.int64()),
        pa.array(["a", "", "ü" * 40]),
        pa.array([b"\0", b"", b"ab"]),
        pa.array([True, False]),
        pa.array([Decimal("1.10"), Decimal("-3.00")], pa.decimal128(9, 2)),
        pa.array([dt.date(2026, 1, 1), dt.date(1969, 1, 1)]),
        pa.array([1, 2], pa.timestamp("us", tz="UTC")),
        pa.array([b"0" * 16, b"1" * 16], pa.binary(16)),
        pa.array([1, 2], pa.time64("us")),
    ],
    ids=lambda values: str(values.type),
)
def test_keys_of_every_type_are_found(values: pa.Array) -> None:
    keys = pickle.loads(pickle.dumps(Keys(table(values))))  # noqa: S301 - of this process
    found = keys.find(table(pa.concat_arrays([values.slice(1), pa.nulls(1, values.type), values.slice(0, 1)])))
    assert found.tolist() == [*keys.codes[1:], -1, keys.codes[0]]


def test_text_is_found_whatever_its_arrow_type() -> None:
    keys = Keys(table(["a", "b"]))
    assert (keys.find(table(pa.array(["b", "x"], pa.large_string()))) >= 0).tolist() == [True, False]


def test_columns_may_be_nested() -> None:
    rows = pa.table({"a": [{"b": 1, "c": 2}, {"b": 3, "c": 4}], "d": ["x", "y"]})
    assert columns_of(rows, [("a", "c"), ("d",)]).to_pylist() == [{"0": 2, "1": "x"}, {"0": 4, "1": "y"}]


rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "b"]), st.booleans()), max_size=30)


@given(rows, rows)
def test_as_python_compares_tuples(mine: list[tuple[int, str, bool]], theirs: list[tuple[int, str, bool]]) -> None:
    def columns(of: list[tuple[int, str, bool]]) -> pa.Table:
        return table(
            pa.array([r[0] for r in of], pa.int64()),
            pa.array([r[1] for r in of], pa.string()),
            pa.array([r[2] for r in of], pa.bool_()),
        )

    keys = Keys(columns(mine))
    for i, one in enumerate(mine):
        for j, other in enumerate(mine):
            assert (keys.codes[i] == keys.codes[j]) == (one == other)
    codes = keys.find(columns(theirs))
    by_code = dict(zip(keys.codes.tolist(), mine, strict=True))
    assert [by_code.get(code) for code in codes.tolist()] == [row if row in mine else None for row in theirs]
