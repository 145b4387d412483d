from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.query.values import json_value, printable, text_of, unique_names

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
