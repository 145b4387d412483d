from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from frazil.sql.render import Format, records, render
from frazil.sql.result import Result

WHEN = datetime(2025, 1, 15, 10, 30, 0, 123456, tzinfo=UTC)


def rendered(result: Result, form: Format) -> str:
    out = io.StringIO()
    render(result, form, Console(file=out, width=10_000))
    return out.getvalue()


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


def test_csv_on_a_terminal_shows_control_characters_instead_of_sending_them() -> None:
    out = io.StringIO()
    result = Result(("a\x1b[2J",), [("\x1b]0;title\x07",), ({"k": "\x9b31m"},)])
    render(result, Format.CSV, Console(file=out, width=10_000, force_terminal=True))
    assert out.getvalue() == 'a\\x1b[2J\r\n\\x1b]0;title\\x07\r\n"{""k"": ""\\x9b31m""}"\r\n'
