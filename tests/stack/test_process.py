from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from frazil.stack.process import ProcessFile, exit_code, kill, minimal_env, terminate, utf8_locale
from tests.waits import PATIENCE_S, eventually

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(60)",
]
PARENT = [
    sys.executable,
    "-c",
    f"import subprocess, sys, time; subprocess.Popen({SLEEP!r}); print(1, flush=True); time.sleep(60)",
]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ProcessFile]:
    file = ProcessFile(tmp_path / "run" / "a.json")
    yield file
    left = [p for p in (file.find(), *file.stragglers()) if p]
    kill(left)


def launch(file: ProcessFile, command: list[str]) -> psutil.Process:
    return file.launch(command, os.environ, None, file.path.parent.parent / "logs" / "a.log")


def spoken(file: ProcessFile) -> None:
    """Wait until the process has written to its log."""
    log = file.path.parent.parent / "logs" / "a.log"
    eventually(lambda: log.stat().st_size)


def test_a_process_is_found_again_in_a_session_of_its_own(file: ProcessFile) -> None:
    process = launch(file, SLEEP)
    assert file.find() == process
    assert os.getsid(process.pid) == process.pid != os.getsid(0)


def test_what_a_process_makes_is_for_its_owner_only(file: ProcessFile, tmp_path: Path) -> None:
    made = tmp_path / "made"
    launch(file, [sys.executable, "-c", f"import os; os.mkdir({str(made)!r}); open({str(made / 'f')!r}, 'w')"]).wait(
        PATIENCE_S
    )
    modes = [path.stat().st_mode & 0o777 for path in (made, made / "f", tmp_path / "logs" / "a.log")]
    assert modes == [0o700, 0o600, 0o600]


def test_an_ended_process_is_not_found_and_its_exit_code_is_known(file: ProcessFile) -> None:
    process = launch(file, [sys.executable, "-c", "raise SystemExit(3)"])
    process.wait(PATIENCE_S)
    assert file.find() is None
    assert file.read() is not None


def test_exit_code_of_a_child(file: ProcessFile) -> None:
    process = launch(file, [sys.executable, "-c", "raise SystemExit(3)"])
    eventually(lambda: exit_code(process) == 3)


def test_a_recycled_process_id_is_not_ours(file: ProcessFile) -> None:
    process = launch(file, SLEEP)
    file.path.write_text(json.dumps({"pid": process.pid, "started": process.create_time() - 3600}))
    assert file.find() is None
    assert file.stragglers() == []
    terminate(process, 5)


@pytest.mark.parametrize("content", ["", "{", '{"pid": 1}', "[]", '{"pid": "x", "started": 0}'])
def test_a_damaged_file_finds_nothing(file: ProcessFile, content: str) -> None:
    file.path.parent.mkdir(parents=True)
    file.path.write_text(content)
    assert file.find() is None


def test_terminate_is_polite_first_then_kills(file: ProcessFile) -> None:
    process = launch(file, STUBBORN)
    spoken(file)
    begin = time.monotonic()
    terminate(process, 0.3)
    assert file.find() is None
    assert time.monotonic() - begin >= 0.3
    assert exit_code(process) == -signal.SIGKILL


def test_terminate_takes_the_children_along(file: ProcessFile) -> None:
    process = launch(file, PARENT)
    spoken(file)
    (child,) = process.children()
    terminate(process, 5)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_children_of_a_killed_process_are_found(file: ProcessFile) -> None:
    process = launch(file, PARENT)
    spoken(file)
    (child,) = process.children()
    process.kill()
    process.wait(PATIENCE_S)
    assert file.find() is None
    assert file.stragglers() == [child]
    kill(file.stragglers())
    assert file.stragglers() == []


def test_a_process_outlives_its_launcher(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    program = (
        "from pathlib import Path\nfrom frazil.stack.process import ProcessFile\n"
        f"ProcessFile(Path({str(path)!r})).launch({SLEEP!r}, {{}}, None, Path({str(tmp_path / 'a.log')!r}))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    process = ProcessFile(path).find()
    assert process is not None
    terminate(process, 5)
    assert ProcessFile(path).find() is None


def test_children_are_found_when_the_killed_process_is_nobodys_child(tmp_path: Path) -> None:
    path, log = tmp_path / "run" / "a.json", tmp_path / "logs" / "a.log"
    program = (
        "from pathlib import Path\nfrom frazil.stack.process import ProcessFile\n"
        f"ProcessFile(Path({str(path)!r})).launch({PARENT!r}, {{}}, None, Path({str(log)!r}))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    file = ProcessFile(path)
    spoken(file)
    process = file.find()
    assert process is not None
    (child,) = process.children()
    process.kill()
    eventually(lambda: file.find() is None)
    assert file.stragglers() == [child]
    kill([child])


def test_minimal_environment_has_no_credentials() -> None:
    needed = {"PATH": "/bin", "HOME": "/h", "LANG": "C.UTF-8"}
    assert minimal_env({**needed, "AWS_SECRET_ACCESS_KEY": "s", "S3_BUCKET": "b", "MINIO_SECRET_KEY": "s"}) == needed


@pytest.mark.parametrize("env", [{}, {"LANG": ""}, {"LANG": "C"}, {"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}])
def test_paths_are_read_as_utf_8_where_the_locale_is_ascii(env: dict[str, str]) -> None:
    assert utf8_locale(env) == {"LC_ALL": "C.UTF-8"}
    assert minimal_env(env)["LC_ALL"] == "C.UTF-8"


@pytest.mark.parametrize("env", [{"LANG": "de_DE.UTF-8"}, {"LC_CTYPE": "C.UTF-8", "LANG": "C"}])
def test_a_locale_of_the_user_stays(env: dict[str, str]) -> None:
    assert utf8_locale(env) == {}
    assert minimal_env(env) == env


@pytest.mark.parametrize("pid", [0, -1, 1, 1 << 40])
def test_a_process_file_with_an_impossible_id_points_to_nothing(tmp_path: Path, pid: int) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"pid": pid, "started": 1}))

    assert ProcessFile(path).read() is None
    assert ProcessFile(path).find() is None
    assert ProcessFile(path).stragglers() == []


def test_a_process_file_with_an_infinite_number_points_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text('{"pid": 1e400, "started": 1}')

    assert ProcessFile(path).read() is None


def test_a_process_that_nobody_has_launched_is_remembered_while_it_runs(file: ProcessFile) -> None:
    with file.of_this_process():
        assert file.find() == psutil.Process()
        with file.of_this_process():
            pass
        assert file.find() == psutil.Process()
    assert file.read() is None


def test_another_process_that_runs_stays_the_remembered_one(file: ProcessFile) -> None:
    process = launch(file, SLEEP)
    with file.of_this_process():
        assert file.find() == process
    assert file.find() == process
