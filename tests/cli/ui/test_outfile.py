from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from frazil.cli.ui.outfile import whole_file
from frazil.errors import UsageError
from tests.waits import PATIENCE_S


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with whole_file(path) as save:
        assert path.read_text() == "old"
        save(b"new")
        assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_what_was_there_stays_when_the_work_fails(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(path):
        raise ZeroDivisionError
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out", "old")]


def test_a_long_name_is_told_before_the_work(tmp_path: Path) -> None:
    with whole_file(tmp_path / ("x" * 250)) as save:
        save(b"a long name that a file can have")
    assert (tmp_path / ("x" * 250)).exists()
    with pytest.raises(UsageError, match="cannot be written: File name too long"), whole_file(tmp_path / ("x" * 300)):
        pytest.fail("the work was begun")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nosuch/out", "No such file or directory"), (".", "Is a directory"), ("a/b", "Not a directory")],
)
def test_a_path_that_cannot_be_written_is_told_before_the_work(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(UsageError, match=f"^--output .* cannot be written: {reason}"):  # noqa: SIM117
        with whole_file(tmp_path / name, "--output"):
            pytest.fail("the work was begun")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    with whole_file(path) as save:
        save(b"x" * 200_000)
    reader.join(PATIENCE_S)
    assert path.is_fifo()
    assert read == [b"x" * 200_000]


def test_a_full_device_is_told_and_stays() -> None:
    with (
        pytest.raises(UsageError, match="/dev/full cannot be written: No space left"),
        whole_file(Path("/dev/full")) as save,
    ):
        save(b"x")
    assert Path("/dev/full").is_char_device()
