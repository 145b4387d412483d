from __future__ import annotations

import json
import math
import unicodedata
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.sql.value_text import json_text, json_value, printable, printable_lines, text_of, unique_names

WHEN = datetime(2025, 1, 15, 10, 30, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**63, 2**63),
        (WHEN, "2025-01-15T10:30:00.123456+00:00"),
        (datetime(2025, 1, 15), "2025-01-15T00:00:00"),
        (date(2025, 1, 15), "2025-01-15"),
        (Decimal("1.50"), "1.50"),
        (b"\x00\xff", "00ff"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        ({"a": {1: [WHEN, None]}}, {"a": {"1": ["2025-01-15T10:30:00.123456+00:00", None]}}),
    ],
)
def test_values_as_json(value: Any, expected: Any) -> None:
    assert json_value(value) == expected


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert printable(text).isprintable()


def test_nested_values_as_text() -> None:
    assert text_of({"a": [1, None]}) == '{"a": [1, null]}'
    assert text_of(True) == "true"
    assert text_of("ø") == "ø"


def test_names_that_occur_again_get_a_number() -> None:
    assert unique_names(("a", "a", "a_2")) == ["a", "a_2", "a_2_2"]


def test_lines_and_tabs_stay_and_nothing_steers_the_terminal() -> None:
    assert printable_lines("a\tb\n\x1b]0;title\x07\r\x9b31m\u202eé") == "a\tb\n\\x1b]0;title\\x07\\r\\x9b31m\\u202eé"
    assert printable("a\nb") == "a\\nb"


@given(st.text(st.characters(codec="utf-8")))
def test_json_text_is_the_same_value_without_control_characters(text: str) -> None:
    written = json_text({text: [text, 1]})
    assert json.loads(written) == {text: [text, 1]}
    assert not any(unicodedata.category(character) == "Cc" for character in written)


def test_json_text_keeps_readable_characters() -> None:
    assert json_text("é\x9b\u202e\x7f") == '"é\\u009b\\u202e\\u007f"'
    with pytest.raises(ValueError, match="JSON"):
        json_text(math.nan)
