"""What becomes of a run of all tests that is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from scripts.reference import ROOT

from tests.waits import eventually

RUN = """
import sys
from scripts import test
test.PARTS = {"one": test.Choice("not stack")}
test._END_S = float(sys.argv[2])
sys.exit(test.main([sys.argv[1]]))
"""
TESTS = """
import signal, subprocess, sys, time
from pathlib import Path
import pytest

HERE = Path(__file__).parent

@pytest.fixture
def service():
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(command, start_new_session=True)
    yield child.pid
    if not KIND == "forgotten":
        child.kill()
        child.wait()
        (HERE / "stopped").write_text("")

def test_that_waits(service):
    if KIND == "deaf":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    (HERE / "pid.new").write_text(str(service))
    (HERE / "pid.new").rename(HERE / "pid")
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["orderly", "forgotten", "deaf"])
def test_nothing_goes_on_after_an_interrupt(tmp_path: Path, kind: str, number: signal.Signals) -> None:
    (tmp_path / "test_it.py").write_text(f"KIND = {kind!r}\n{TESTS}")
    patience = "1" if kind == "deaf" else "60"
    command = [sys.executable, "-c", RUN, str(tmp_path / "test_it.py"), patience]
    run = subprocess.Popen(command, cwd=ROOT)
    try:
        eventually((tmp_path / "pid").exists)
        service = psutil.Process(int((tmp_path / "pid").read_text()))
        parts = psutil.Process(run.pid).children(recursive=True)
        assert service in parts
        run.send_signal(number)
        assert run.wait(60) == 130
    finally:
        run.kill()
    eventually(lambda: not any(process.is_running() for process in parts))
    assert (tmp_path / "stopped").exists() is (kind == "orderly")
