from __future__ import annotations

import csv
import io
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from frazil.query.render import Format, json_value, printable, records, render, text_of
from frazil.query.result import Result

WHEN = datetime(2025, 1, 15, 10, 30, 0, 123456, tzinfo=UTC)


def rendered(result: Result, form: Format) -> str:
    out = io.StringIO()
    render(result, form, Console(file=out, width=10_000))
    return out.getvalue()


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


def test_json_is_one_array_of_objects_with_nested_values() -> None:
    text = rendered(Result(("time", "tags"), [(WHEN, {"k": "v"}), (None, None)]), Format.JSON)
    assert json.loads(text) == [
        {"time": "2025-01-15T10:30:00.123456+00:00", "tags": {"k": "v"}},
        {"time": None, "tags": None},
    ]
    assert json.loads(rendered(Result(("a",), []), Format.JSON)) == []


def test_equal_column_names_lose_no_value() -> None:
    assert records(Result(("a", "a", "a_2"), [(1, 2, 3)])) == [{"a": 1, "a_2": 2, "a_2_2": 3}]


def test_csv_is_rfc_4180() -> None:
    text = rendered(Result(("a", 'b"c'), [("x,y", 'q"r'), ("two\nlines", {"k": ["v"]}), (None, 1)]), Format.CSV)
    assert text == 'a,"b""c"\r\n"x,y","q""r"\r\n"two\nlines","{""k"": [""v""]}"\r\n,1\r\n'


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\r\0")), st.integers()), max_size=5))
def test_csv_gives_back_text_and_numbers(rows: list[tuple[str, int]]) -> None:
    text = rendered(Result(("t", "n"), rows), Format.CSV)
    assert list(csv.reader(io.StringIO(text, newline="")))[1:] == [[t, str(n)] for t, n in rows]


def test_a_table_is_cut_to_the_width_of_the_console() -> None:
    out = io.StringIO()
    result = Result(("object", "n"), [("x" * 500, 1)], 1.5)
    render(result, Format.TABLE, Console(file=out, width=40))
    assert max(map(len, out.getvalue().splitlines())) == 40
    assert "xxx…" in out.getvalue()


def test_a_narrow_table_leaves_the_footer_in_one_line() -> None:
    assert "\n(1 row in 0.25 s)\n" in rendered(Result(("n",), [(1,)], 0.25), Format.TABLE)


def test_a_table_in_a_wide_console_is_complete() -> None:
    text = rendered(Result(("object", "n"), [("x" * 500, 1), (None, 22)], 1.5), Format.TABLE)
    assert "x" * 500 in text
    assert "NULL" in text
    assert "(2 rows in 1.50 s)" in text
    assert text.splitlines()[3].endswith(" 1 ")


def test_a_value_cannot_steer_the_terminal_or_the_layout() -> None:
    text = rendered(Result(("[red]a",), [("\x1b[31m\n[bold]b\u202e",)]), Format.TABLE)
    assert "\\x1b[31m\\n[bold]b\\u202e" in text
    assert "[red]a" in text
    assert "\x1b" not in text


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert printable(text).isprintable()


def test_nested_values_as_text() -> None:
    assert text_of({"a": [1, None]}) == '{"a": [1, null]}'
    assert text_of(True) == "true"
    assert text_of("ø") == "ø"
