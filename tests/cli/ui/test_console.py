from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from rich.table import Table

from frazil.cli.ui.console import consent, make_console
from frazil.errors import UsageError
from tests.cli.terminal import CTRL_C, CTRL_D, Terminal
from tests.isolation import isolated_settings

LONG = "word " * 60
PROGRAM = f"from frazil.cli.ui.console import make_console; make_console().print({LONG!r})"


def test_lines_stay_whole_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    console = make_console()
    console.print(LONG)
    table = Table("a", "b", box=None)
    table.add_row("x" * 100, "y" * 100)
    console.print(table)
    lines = capsys.readouterr().out.splitlines()
    assert [len(line.split()) for line in lines] == [60, 2, 2]


def test_columns_sets_the_width(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    make_console().print(LONG)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


def test_text_is_no_markup_and_standard_error_is_another_stream(capsys: pytest.CaptureFixture[str]) -> None:
    make_console(stderr=True).print("[bold]a[/bold] :smile: 1.5")
    assert capsys.readouterr() == ("", "[bold]a[/bold] :smile: 1.5\n")


def test_control_characters_are_shown_and_not_sent(capsys: pytest.CaptureFixture[str]) -> None:
    console = make_console()
    console.print("a\x1b]0;title\x07\n\x9b31m")
    table = Table("\x1b[2J", box=None)
    table.add_row("\x1b[31m")
    console.print(table)
    shown = capsys.readouterr().out
    assert shown.splitlines()[:2] == [r"a\x1b]0;title\x07", r"\x9b31m"]
    assert shown.split()[2:] == [r"\x1b[2J", r"\x1b[31m"]


@pytest.mark.parametrize(("variables", "width"), [({}, 70), ({"COLUMNS": "40"}, 40)])
def test_a_terminal_has_its_own_width(variables: dict[str, str], width: int) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"} | variables
    subprocess.run([sys.executable, "-c", PROGRAM], stdin=theirs, stdout=theirs, stderr=theirs, env=env, check=True)
    os.close(theirs)
    shown = _read(ours).replace("\r\n", "\n")
    assert width - 5 <= max(map(len, shown.splitlines())) <= width


def _read(terminal: int) -> str:
    content = b""
    while True:
        try:
            block = os.read(terminal, 4096)
        except OSError:  # Linux answers so once the other side is closed
            block = b""
        if not block:
            os.close(terminal)
            return content.decode()
        content += block


def test_where_nobody_can_be_asked_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    consent(True, "Go on?")
    with pytest.raises(UsageError, match="^Go on. This cannot be asked here: nothing was done; pass --yes to go on"):
        consent(False, "Go on?", "nothing was done")


@pytest.mark.parametrize(("key", "code"), [(CTRL_C, 130), (CTRL_D, 1)])
def test_a_question_can_be_left(tmp_path: Path, key: str, code: int) -> None:
    settings = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull)
    (settings.home / "data").mkdir(parents=True)
    with Terminal({**os.environ, **settings.env}, "clean") as asking:
        asking.until("[y/N]")
        asking.send(key)
        assert asking.end() == code
    assert (settings.home / "data").exists()
