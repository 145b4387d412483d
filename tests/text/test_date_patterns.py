from __future__ import annotations

import pytest

from frazil.text.date_patterns import runs


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyyMM-d", [("y", "yyyy"), ("M", "MM"), ("", "-"), ("d", "d")]),
        ("HH'h'", [("H", "HH"), ("", "h")]),
        ("''y''", [("", "'"), ("y", "y"), ("", "'")]),
        ("'o''clock'", [("", char) for char in "o'clock"]),
        ("é", [("", "é")]),
    ],
)
def test_runs_of_letters_and_literals(pattern: str, expected: list[tuple[str, str]]) -> None:
    assert list(runs(pattern)) == expected
