from __future__ import annotations

import os
from pathlib import Path

import pytest

from frazil.environment.private_file import open_private, private_home, write_private


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secrets.json"
    assert write_private(path, "ü = 1\n") == path
    assert path.read_bytes() == "ü = 1\n".encode()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_home_is_for_its_owner_only_also_one_that_was_not(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    for _ in range(2):
        assert private_home(home).stat().st_mode & 0o777 == 0o700
        home.chmod(0o755)


def test_a_home_of_somebody_else_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o750)
    monkeypatch.setattr(os, "getuid", lambda: home.stat().st_uid + 1)
    assert private_home(home).stat().st_mode & 0o777 == 0o750


def test_a_file_is_made_for_its_owner_only(tmp_path: Path) -> None:
    with open_private(tmp_path / "a", "ab") as file:
        file.write(b"x")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_another_text_takes_the_place_of_the_old_one_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text("a longer text that was readable by all")
    path.chmod(0o644)
    write_private(path, "short")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("short", 0o600)


def test_a_failure_leaves_the_old_text_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_private(tmp_path / "secrets.json", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_private(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
