from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.letters.ranges import Ranges, by_partition

OFFSETS = st.sets(st.integers(0, 60))


@given(OFFSETS)
def test_a_set_of_offsets_and_its_text(offsets: set[int]) -> None:
    ranges = Ranges.of(offsets)
    assert list(ranges) == sorted(offsets)
    assert all((n in ranges) == (n in offsets) for n in range(-1, 63))
    assert bool(ranges) == bool(offsets)
    assert Ranges.parse(str(ranges)) == ranges
    assert all(before[1] + 1 < after[0] for before, after in zip(ranges.pairs(), ranges.pairs()[1:], strict=False))


@given(OFFSETS, OFFSETS)
def test_a_union(left: set[int], right: set[int]) -> None:
    union = Ranges.of(left) | Ranges.of(right)
    assert union == Ranges.of(left | right)
    assert hash(union) == hash(Ranges.of(left | right))


@given(OFFSETS)
def test_the_first_offset_beyond_a_set(offsets: set[int]) -> None:
    ranges = Ranges.of(offsets)
    for start in range(62):
        assert ranges.first_beyond(start) == next(n for n in range(start, 63) if n not in offsets)


def test_the_text_is_short() -> None:
    assert str(Ranges.of([9, 7, 8, 5, 5])) == "5,7-9"
    assert repr(Ranges([(3, 4), (5, 9)])) == "Ranges.parse('3-9')"
    assert 5_000_000_000 in Ranges.parse("0-9999999999")


@pytest.mark.parametrize("text", ["x", "1-", "-1", "1--2", "3-2", "1,,2", "1 ", "١", "1;2", "0x1"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="range of offsets|ends before it begins"):
        Ranges.parse(text)


def test_positions_by_partition() -> None:
    found = by_partition([("a", 0, 1), ("a", 1, 7), ("a", 0, 2), ("b", 0, 1)])
    assert {key: str(ranges) for key, ranges in found.items()} == {("a", 0): "1-2", ("a", 1): "7", ("b", 0): "1"}
