from __future__ import annotations

import pytest

from frazil.text.quoting import quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", '"plain"'), ('a "b"', r'"a \"b\""'), ("c\\d", r'"c\\d"'), ('\\"', r'"\\\""'), ("", '""')],
)
def test_quotes_and_backslashes_are_escaped(text: str, expected: str) -> None:
    assert quoted(text) == expected
