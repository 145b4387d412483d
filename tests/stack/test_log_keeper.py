from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from frazil.stack import log_keeper, logfile
from frazil.stack.log_keeper import keep, start_keeper
from tests.harness import eventually

LOOK_S = 0.005


@pytest.fixture
def service(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A service of the home `tmp_path` that runs until it is killed."""
    for folder in ("run", "logs"):
        (tmp_path / folder).mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        (tmp_path / "run" / "a.json").write_text(json.dumps({"pid": process.pid, "started": 0}))
        yield process
        process.kill()


def test_logs_are_bounded_while_a_service_runs(
    tmp_path: Path, service: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "_MOST_BYTES", 1000)
    log = tmp_path / "logs" / "a.log"
    keeper = threading.Thread(target=keep, args=(tmp_path, LOOK_S))
    keeper.start()
    with log.open("ab", buffering=0) as program:
        for _ in range(20):
            program.write(b"x" * 2000)
            eventually(lambda: log.stat().st_size == 0, 10, LOOK_S)
    assert (tmp_path / "logs" / "a.log.1").stat().st_size == 1000
    service.kill()
    service.wait()
    keeper.join(10)
    assert not keeper.is_alive()


def test_a_home_has_one_keeper(tmp_path: Path, service: subprocess.Popen[bytes]) -> None:
    first = threading.Thread(target=keep, args=(tmp_path, LOOK_S))
    first.start()
    eventually(lambda: (tmp_path / "run" / "logs.lock").exists(), 10, LOOK_S)
    keep(tmp_path, LOOK_S)
    assert first.is_alive()
    service.kill()
    service.wait()
    first.join(10)
    assert not first.is_alive()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pid": "x"}', f'{{"pid": {1 << 70}}}'])
def test_a_process_file_that_names_nothing_keeps_nothing_alive(tmp_path: Path, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.json").write_text(content)
    keep(tmp_path, LOOK_S)


def test_the_keeper_is_a_process_that_ends_with_the_last_service(
    tmp_path: Path, service: subprocess.Popen[bytes]
) -> None:
    start_keeper(tmp_path, os.environ)
    process = psutil.Process(log_keeper._keepers[-1].pid)  # noqa: SLF001
    eventually(lambda: (tmp_path / "run" / "logs.lock").exists(), 20, 0.02)
    assert process.cmdline()[0] == sys.executable
    service.kill()
    service.wait()
    eventually(lambda: log_keeper._keepers[-1].poll() == 0, 20, 0.02)  # noqa: SLF001
