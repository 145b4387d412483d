"""Parts of a few records, of which each range of them is made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.sql.rehearsal import parts_of


@given(st.integers(0, 6), st.data())
def test_parts_make_up_a_range_and_are_few(levels: int, data: st.DataObject) -> None:
    leaves = 2**levels
    begin = data.draw(st.integers(0, leaves))
    end = data.draw(st.integers(begin, leaves))
    parts = list(parts_of(begin, end, leaves))
    sizes = [leaves >> (part.bit_length() - 1) for part in parts]
    firsts = [(part - (1 << (part.bit_length() - 1))) * size for part, size in zip(parts, sizes, strict=True)]
    rows = sorted(first + n for first, size in zip(firsts, sizes, strict=True) for n in range(size))
    assert rows == list(range(begin, end))
    assert len(parts) <= max(2 * levels, 1)
