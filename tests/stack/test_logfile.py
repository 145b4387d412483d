from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.stack import logfile
from frazil.stack.logfile import bound, follow, keep, start_keeper, tail, tail_since
from tests.waits import PATIENCE_S, eventually


def test_tail_of_an_absent_log_is_empty(tmp_path: Path) -> None:
    assert tail(tmp_path / "a.log", 5) == ([], 0)


@given(
    lines=st.lists(st.text(st.characters(codec="ascii", exclude_categories=["C"])), max_size=30),
    count=st.integers(0, 40),
)
def test_tail_is_the_last_lines(tmp_path_factory: pytest.TempPathFactory, lines: list[str], count: int) -> None:
    log = tmp_path_factory.mktemp("tail") / "a.log"
    log.write_text("".join(f"{line}\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logfile, "_BLOCK", 7)
        assert tail(log, count) == (lines[len(lines) - min(count, len(lines)) :], log.stat().st_size)


def test_tail_since_leaves_out_what_was_there_before(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("old\n")
    start = log.stat().st_size
    with log.open("a") as file:
        file.write("new 1\nnew 2\nnew 3\n")
    assert tail_since(log, start, 2) == ["new 2", "new 3"]
    assert tail_since(log, start, 9) == ["new 1", "new 2", "new 3"]


def test_a_large_log_is_set_aside_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "_MOST_BYTES", 3)
    log, older = tmp_path / "a.log", tmp_path / "a.log.1"
    bound(log)
    with log.open("ab", buffering=0) as program:
        program.write(b"123")
        bound(log)
        assert (log.read_text(), older.exists()) == ("123", False)
        program.write(b"45")
        bound(log)
        assert (log.read_text(), older.read_text()) == ("", "345")
        assert older.stat().st_mode & 0o777 == 0o600
        program.write(b"67")
    assert log.read_text() == "67"
    assert tail_since(log, 5, 3) == ["67"]


def test_a_log_is_emptied_although_there_is_no_room_for_its_older_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(logfile, "_MOST_BYTES", 3)
    monkeypatch.setattr(shutil, "copyfileobj", full)
    log = tmp_path / "a.log"
    log.write_text("12345")
    bound(log)
    assert log.read_text() == ""


def test_follow_goes_on_across_rotation_and_truncation(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("before\n")
    lines = follow({"a": log}, {"a": log.stat().st_size}, poll_s=0.01)
    with log.open("a") as file:
        file.write("one\ntwo\n")
    assert list(islice(lines, 2)) == [("a", "one"), ("a", "two")]
    log.replace(tmp_path / "a.log.1")
    log.write_text("rotated, a longer line than before\n")
    assert next(lines) == ("a", "rotated, a longer line than before")
    log.write_text("cut\n")
    assert next(lines) == ("a", "cut")


def test_follow_begins_with_a_log_that_appears_later_and_joins_parts_of_a_line(tmp_path: Path) -> None:
    early, late = tmp_path / "early.log", tmp_path / "late.log"
    early.write_text("")
    lines = follow({"early": early, "late": late}, {}, poll_s=0.01)
    with early.open("a") as file:
        file.write("half ")
        file.flush()
        late.write_text("here\n")
        assert next(lines) == ("late", "here")
        file.write("and half\n")
    assert next(lines) == ("early", "half and half")


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
            eventually(lambda: log.stat().st_size == 0)
    assert (tmp_path / "logs" / "a.log.1").stat().st_size == 1000
    service.kill()
    service.wait()
    keeper.join(PATIENCE_S)
    assert not keeper.is_alive()


def test_a_home_has_one_keeper(tmp_path: Path, service: subprocess.Popen[bytes]) -> None:
    with (tmp_path / "run" / "logs.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        keep(tmp_path, LOOK_S)
    assert service.poll() is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pid": "x"}', f'{{"pid": {1 << 70}}}'])
def test_a_process_file_that_names_nothing_keeps_nothing_alive(tmp_path: Path, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.json").write_text(content)
    keep(tmp_path, LOOK_S)


def test_the_keeper_is_a_process_that_ends_with_the_last_service(
    tmp_path: Path, service: subprocess.Popen[bytes]
) -> None:
    start_keeper(tmp_path, os.environ)
    process = psutil.Process(logfile._keepers[-1].pid)  # noqa: SLF001
    eventually(lambda: (tmp_path / "run" / "logs.lock").exists())
    assert process.cmdline()[0] == sys.executable
    service.kill()
    service.wait()
    eventually(lambda: logfile._keepers[-1].poll() == 0)  # noqa: SLF001
