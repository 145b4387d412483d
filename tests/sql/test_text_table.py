from __future__ import annotations

import io
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from frazil.sql.result import Result
from frazil.sql.text_table import Expanded, write_table

WHEN = datetime(2025, 1, 15, 10, 30, 0, 123456, tzinfo=UTC)
WIDE = Result(
    ("time", "name", "bucket", "object", "node", "status"),
    [(WHEN, "s3.GetObject", "photos", f"holidays/2025/picture-{i}.jpeg", "node-1", 200 + i) for i in range(3)],
)


def written(
    result: Result, width: int = 10_000, expanded: Expanded = Expanded.AUTO, hint: str = "--expanded", **look: bool
) -> str:
    out = io.StringIO()
    write_table(result, Console(file=out, width=width), expanded=expanded, hint=hint, **look)
    return out.getvalue()


def test_a_table_without_a_limit_is_complete() -> None:
    text = written(Result(("object", "n"), [("x" * 500, 1), (None, 22)], 1.5))
    assert "x" * 500 in text
    assert "NULL" in text
    assert "(2 rows in 1.50 s)" in text
    assert text.splitlines()[3].endswith(" 1 ")


def test_a_long_value_is_cut_to_the_width_and_shows_it() -> None:
    text = written(Result(("object", "n"), [("x" * 500, 1)], 1.5), 40, Expanded.OFF)
    assert max(map(len, text.splitlines())) == 40
    assert "xxx…" in text
    assert "no room" not in text


@pytest.mark.parametrize("width", [20, 60, 80, 100, 120])
def test_columns_without_room_are_named(width: int) -> None:
    text = written(WIDE, width)
    header = next(line for line in text.splitlines() if "time" in line).split()
    missing = [name for name in WIDE.columns if name not in header]
    assert header == list(WIDE.columns[: len(header)])
    assert (f"{len(missing)} of 6 columns have no room: {', '.join(missing)}. --expanded shows them." in text) == bool(
        missing
    )
    assert all(len(line) <= width for line in text.splitlines() if "no room" not in line)
    if width >= 60:
        assert WHEN.isoformat() in text, "a time that is cut says nothing"


def test_many_columns_without_room_are_counted() -> None:
    text = written(Result(tuple(f"column_{i}" for i in range(40)), [tuple(range(40))] * 2), 80)
    assert re.search(r"\d\d of 40 columns have no room: .* and \d+ more\. --expanded shows them\.", text)
    assert len(text) < 800


def test_a_single_row_without_room_is_shown_value_by_value() -> None:
    text = written(Result(WIDE.columns, WIDE.rows[:1]), 60)
    assert "-[ row 1 ]" in text
    assert "object | holidays/2025/picture-0.jpeg\n" in text
    assert "no room" not in text
    assert "-[ row 1 ]" not in written(Result(WIDE.columns, WIDE.rows[:1]), 60, Expanded.OFF)


def test_expanded_shows_every_value_in_full() -> None:
    result = Result(("a", "long name"), [("x" * 300, None), ("tab\there", {"k": [1]})], 0.25)
    text = written(result, 60, Expanded.ON)
    assert "a         | " + "x" * 300 + "\n" in text
    assert "long name | NULL\n" in text
    assert "a         | tab\\there\n" in text
    assert 'long name | {"k": [1]}\n' in text
    assert text.count("-[ row ") == 2
    assert "(2 rows in 0.25 s)" in text


def test_the_line_below() -> None:
    assert "\n(1 row in 0.25 s)\n" in written(Result(("n",), [(1,)], 0.25))
    assert "(1 row)" in written(Result(("n",), [(1,)], 0.25), timing=False)
    assert "row" not in written(Result(("n",), [(1,)], 0.25), footer=False)
    assert "(0 rows in 0.00 s)" in written(Result(("n",), []))


@pytest.mark.parametrize("column", ["Create Table", "Query Plan"])
def test_statements_and_plans_are_printed_as_their_lines(column: str) -> None:
    text = written(Result((column,), [("CREATE TABLE t (\n   a \x1bbigint\n)",)], 0.5))
    assert text == "CREATE TABLE t (\n   a \\x1bbigint\n)\n(1 row in 0.50 s)\n"


def test_a_value_cannot_steer_the_terminal_or_the_layout() -> None:
    for expanded in Expanded:
        text = written(Result(("[red]a",), [("\x1b[31m\n[bold]b\u202e",)]), expanded=expanded)
        assert "\\x1b[31m\\n[bold]b\\u202e" in text
        assert "[red]a" in text
        assert "\x1b" not in text


@given(
    st.lists(st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=30), max_size=12),
    st.integers(20, 200),
    st.data(),
)
def test_no_column_disappears_without_a_word(names: list[str], width: int, data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(st.tuples(*(st.text(max_size=40) | st.integers() for _ in names)), min_size=2, max_size=3)
    )
    text = written(Result(tuple(names), rows), width, Expanded.OFF)
    lines = [line for line in text.splitlines() if "no room" not in line]
    assert all(cell_len(line) <= width for line in lines)
    found = re.search(r"^(\d+) of (\d+) columns have no room", text, re.MULTILINE)
    hidden = int(found[1]) if found else 0
    assert hidden < len(names) or not names
    header = lines[1] if names else ""
    # only the first column may be wider than all there is
    assert all(name in header for name in names[1 : len(names) - hidden])
