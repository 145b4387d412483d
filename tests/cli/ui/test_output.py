from __future__ import annotations

import pytest

from frazil.cli.ui.output import show_table


@pytest.mark.parametrize(("columns", "reason"), [("60", "x" * 40 + "…"), ("300", "x" * 200)])
def test_a_column_that_is_cut_ends_where_the_terminal_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, reason: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    show_table(("count", "reason", "last"), [("1", "x" * 200, "2026-11-29")], numbers=["count"], cut="reason")
    [_, line] = capsys.readouterr().out.splitlines()
    assert line.split() == ["1", reason, "2026-11-29"]


def test_lines_of_a_table_end_with_their_last_value(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("a", "message"), [("x", "short"), ("y", "a message that is longer"), ("z", "")])
    assert capsys.readouterr().out == "a  message\nx  short\ny  a message that is longer\nz\n"
