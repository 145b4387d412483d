from __future__ import annotations

import io

import pytest
from rich.console import Console

from frazil.cli.ui import progress as module
from frazil.cli.ui.progress import progress
from frazil.stack.transfer import Transfer
from tests.waits import eventually


def test_a_step_that_lasts_is_a_line_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = Console(file=out, width=200)
    with progress(console) as show:
        show("too short")
    assert out.getvalue() == ""
    monkeypatch.setattr(module, "_LINE_INTERVAL_S", 0.01)
    with progress(console) as show:
        for step in ("waiting for kafka", "waiting for kafka", "waiting for worker"):
            show(step)
            assert eventually(lambda: f"{step}\n" in out.getvalue())  # noqa: B023 - it is called at once
    assert out.getvalue() == "  waiting for kafka\n  waiting for worker\n"


def test_a_terminal_shows_the_step_and_removes_it_at_the_end() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    with progress(console) as show:
        show("waiting for [worker]")
        console.print("a line of its own")
    shown = out.getvalue()
    assert "waiting for [worker]" in shown
    assert "0:00:00" in shown
    assert "a line of its own" in shown
    assert shown.endswith("\x1b[2K")  # the line of the step is erased


def test_a_terminal_shows_a_bar_while_bytes_are_counted() -> None:
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, color_system="standard")

    def last() -> str:
        return out.getvalue().rpartition("\x1b[2K")[2]

    with progress(console) as show:
        show("before")
        assert eventually(lambda: "before" in last())
        assert "━" not in last()
        show(Transfer("downloading Trino", 270_000_000, 540_000_000))
        assert eventually(lambda: "downloading Trino: 270 of 540 MB" in last() and "━" in last())
        show("after")
        assert eventually(lambda: "after" in last())
        assert "━" not in last()


def test_bytes_are_lines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINE_INTERVAL_S", 0.01)
    out = io.StringIO()
    with progress(Console(file=out, width=200)) as show:
        show(Transfer("downloading Trino", 1_000_000, 540_000_000))
        assert eventually(lambda: out.getvalue() == "  downloading Trino: 1 of 540 MB\n")
