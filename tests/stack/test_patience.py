"""Patience with processes that work, slowly, and with those that do nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from frazil.errors import StackError
from frazil.stack.patience import Patience, complaint
from frazil.stack.process import kill
from tests.waits import eventually

LIMIT_S = 0.5
LOOP = "while True: pass"
Watch = Callable[[str], Patience]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def watch(log: Path) -> Iterator[Watch]:
    """Watches a program in Python, which is ended in the end."""
    children: list[subprocess.Popen[bytes]] = []

    def begin(code: str) -> Patience:
        children.append(subprocess.Popen([sys.executable, "-c", code]))
        return Patience(psutil.Process(children[-1].pid), log, LIMIT_S)

    yield begin
    for child in children:
        if child.poll() is None:
            kill(psutil.Process(child.pid).children(recursive=True))
        child.kill()
        child.wait()


def test_it_ends_with_a_process_that_does_nothing(watch: Watch) -> None:
    patience = watch("import time; time.sleep(600)")
    eventually(patience.ends)
    assert patience.waited_s > LIMIT_S


@pytest.mark.parametrize(
    "code", [LOOP, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOOP!r}])"], ids=["itself", "child"]
)
def test_a_process_that_uses_the_processor_may_take_as_long_as_it_needs(watch: Watch, code: str) -> None:
    patience = watch(code)
    while patience.waited_s < 2 * LIMIT_S:
        assert not patience.ends()


def test_a_process_whose_log_grows_may_take_as_long_as_it_needs(watch: Watch, log: Path) -> None:
    patience = watch("import time; time.sleep(600)")
    while patience.waited_s < 2 * LIMIT_S:
        with log.open("a") as file:
            file.write("at it\n")
        assert not patience.ends()
    eventually(patience.ends)


def test_a_process_that_has_ended_is_silent(watch: Watch) -> None:
    eventually(watch("").ends)


def test_a_program_that_fails_tells_why() -> None:
    def ran(code: str) -> str | None:
        return complaint([sys.executable, "-c", code], {}, "the program", 60)

    assert ran("print('all is well')") is None
    assert ran("raise SystemExit('no such folder')") == "no such folder\n"
    assert ran("raise SystemExit(3)") == "exit code 3"


def test_a_program_that_does_nothing_is_ended(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    code = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(StackError, match="formatting did nothing for 0 s and was ended.*FRAZIL_START_TIMEOUT"):
        complaint([sys.executable, "-c", code], {}, "formatting", LIMIT_S)
    assert not psutil.pid_exists(int(told.read_text()))
