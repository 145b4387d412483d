from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.convert.unique import rows_with_repeated_keys

MAP = pa.map_(pa.string(), pa.int64())
DEEP = pa.list_(pa.struct([("m", pa.map_(pa.string(), MAP))]))
PAIRS = st.none() | st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=3)
NESTED = st.none() | st.lists(
    st.none() | st.fixed_dictionaries({"m": st.none() | st.lists(st.tuples(st.sampled_from("xy"), PAIRS), max_size=2)}),
    max_size=2,
)


def repeats(value: Any) -> bool:
    """The rule for one row, with pairs as tuples."""
    if isinstance(value, dict):
        return any(map(repeats, value.values()))
    if not isinstance(value, list):
        return False
    keys = [item[0] for item in value if isinstance(item, tuple)]
    inner = [item[1] if isinstance(item, tuple) else item for item in value]
    return len(set(keys)) < len(keys) or any(map(repeats, inner))


@given(st.lists(st.tuples(PAIRS, NESTED), max_size=6), st.integers(0, 3))
def test_a_row_is_found_when_a_map_of_it_has_a_key_twice(values: list[tuple[Any, Any]], start: int) -> None:
    flat, deep = pa.array([f for f, _ in values], MAP), pa.array([d for _, d in values], DEEP)
    table = pa.table({"n": pa.array(range(len(values))), "flat": flat, "deep": deep})
    expected = {i for i, row in enumerate(values) if any(map(repeats, row))}
    assert rows_with_repeated_keys(table) == expected
    assert rows_with_repeated_keys(table.slice(start)) == {i - start for i in expected if i >= start}
    both = pa.concat_tables([table, table])
    assert rows_with_repeated_keys(both) == expected | {i + len(values) for i in expected}


@pytest.mark.parametrize("others", [0, 1, 61, 62, 63, 64, 200])
@pytest.mark.parametrize("times", [2, 3, 4, 5, 9, 17])
def test_a_key_many_times_among_many_others(others: int, times: int) -> None:
    rows: list[list[tuple[str, int]]] = [[(f"k{i}", i) for i in range(others)], [("last", 0)] * times, [("last", 1)]]
    assert rows_with_repeated_keys(pa.table({"m": pa.array(rows, MAP)})) == {1}


def test_without_maps_nothing_is_found() -> None:
    assert rows_with_repeated_keys(pa.table({"a": [1, 1], "b": [[1, 1], [2, 2]]})) == set()
