from __future__ import annotations

import io

import pytest
from rich.console import Console

from frazil.cli import progress as module
from frazil.cli.progress import progress


def test_a_line_now_and_then_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    with progress(Console(file=out, width=200)) as show:
        show("too early")
        assert out.getvalue() == ""
        monkeypatch.setattr(module, "_LINE_INTERVAL_S", 0.0)
        show("waiting for kafka")
        show("waiting for worker")
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
