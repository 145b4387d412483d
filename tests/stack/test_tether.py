"""Services that end with the process that they belong to, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from frazil.stack.process import ProcessFile, is_alive, kill
from frazil.stack.service import Service
from frazil.stack.tether import Tether, keep
from tests.waits import PATIENCE_S, eventually

OWNER = """
import sys, time
from pathlib import Path
from tests.stack.test_tether import service
from frazil.stack.tether import Tether
made = service(Path(sys.argv[1]))
Tether(made, {}, float(sys.argv[2]) or None).hold()
made.start(lambda text: None)
print("ready", flush=True)
time.sleep(60)
"""


def service(home: Path) -> Service:
    return Service("sleeper", home, lambda progress: ["sleep", "60"], lambda: None, ())


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[psutil.Process]:
    process = ProcessFile(tmp_path / "sleeper.json").launch(["sleep", "60"], {}, None, tmp_path / "log")
    yield process
    kill([process])


def test_the_end_of_the_pipe_ends_the_process(sleeper: psutil.Process, tmp_path: Path) -> None:
    source, sink = os.pipe()
    keeper = threading.Thread(target=keep, args=(ProcessFile(tmp_path / "sleeper.json"), source, None))
    keeper.start()
    os.write(sink, b".")
    time.sleep(0.2)
    assert is_alive(sleeper)
    os.close(sink)
    keeper.join(PATIENCE_S)
    assert not is_alive(sleeper)
    os.close(source)


def test_silence_ends_the_process(sleeper: psutil.Process, tmp_path: Path) -> None:
    source, sink = os.pipe()
    begun = time.monotonic()
    keep(ProcessFile(tmp_path / "sleeper.json"), source, 0.3)
    assert time.monotonic() - begun >= 0.3
    assert not is_alive(sleeper)
    for end in (source, sink):
        os.close(end)


def test_a_service_that_was_ended_by_others(tmp_path: Path) -> None:
    source, sink = os.pipe()
    os.close(sink)
    keep(ProcessFile(tmp_path / "never.json"), source, None)
    os.close(source)


@pytest.mark.parametrize(("number", "silence"), [(signal.SIGKILL, "0"), (signal.SIGSTOP, "2")])
def test_a_service_ends_with_its_owner(tmp_path: Path, number: int, silence: str) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path), silence]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        try:
            assert owner.stdout.readline() == "ready\n"
            process = service(tmp_path).process_file.find()
            assert process is not None
            time.sleep(1.5)
            assert is_alive(process)
            owner.send_signal(number)
            eventually(lambda: not is_alive(process))
        finally:
            owner.kill()


def test_it_holds_again_after_it_has_let_go(tmp_path: Path) -> None:
    made = service(tmp_path)
    tether = Tether(made, {}, None)
    for _ in range(2):
        tether.hold()
        tether.hold()
        made.start(lambda text: None)
        assert made.stop()
    made.start(lambda text: None)
    process = made.process_file.find()
    assert process is not None
    tether.close()
    assert not is_alive(process)
    tether.close()
    assert not made.stop()
