from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.iceberg.pieces import before, divide
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets

KEYS = [("a", 0), ("a", 1), ("b", 0)]


def size(low: Offsets, high: Offsets) -> int:
    return sum(max(high[key] - low[key], 0) for key in high)


def letter(topic: str, partition: int, offset: int) -> DeadLetter:
    return DeadLetter(topic, partition, offset, 0, None, b"", (), "", "bad")


def test_a_range_is_divided_partition_after_partition() -> None:
    begin, end = {("a", 0): 10, ("a", 1): 0}, {("a", 0): 14, ("a", 1): 4}
    assert divide(begin, end, 4) == [
        {("a", 0): 12, ("a", 1): 0},
        {("a", 0): 14, ("a", 1): 0},
        {("a", 0): 14, ("a", 1): 2},
        end,
    ]


@given(
    begin=st.fixed_dictionaries({key: st.integers(0, 50) for key in KEYS}),
    lengths=st.fixed_dictionaries({key: st.integers(-5, 50) for key in KEYS}),
    parts=st.integers(1, 200),
)
def test_pieces_cover_the_range_once_and_are_even(begin: Offsets, lengths: Offsets, parts: int) -> None:
    """A partition may be in the table beyond the end of the batch: then it is in no piece."""
    end = {key: max(begin[key] + length, 0) for key, length in lengths.items()}
    pieces = divide(begin, end, parts)
    assert pieces[-1] == end
    low = begin
    sizes = []
    for piece in pieces:
        sizes.append(size(low, piece))
        assert all(piece[key] >= low[key] for key in piece if end[key] >= begin[key])
        low = {key: max(low[key], piece[key]) for key in piece}
    assert sum(sizes) == size(begin, end)
    assert len(pieces) <= parts
    assert len(set(sizes[:-1])) <= 1
    assert sizes[-1] <= max(sizes[0], 1)


def test_repeated_division_ends_at_single_records() -> None:
    begin, end = dict.fromkeys(KEYS, 0), dict.fromkeys(KEYS, 3)
    pieces = [end]
    for _ in range(10):
        pieces = divide(begin, end, 2 * len(pieces))
    assert [size(low, high) for low, high in itertools.pairwise([begin, *pieces])] == [1] * 9


def test_before_is_the_first_bad_record_of_each_partition() -> None:
    ceiling = {("a", 0): 100, ("a", 1): 100, ("b", 0): 100}
    bad = [letter("a", 0, 50), letter("a", 0, 7), letter("b", 0, 99)]
    assert before(bad, ceiling) == {("a", 0): 7, ("a", 1): 100, ("b", 0): 99}
