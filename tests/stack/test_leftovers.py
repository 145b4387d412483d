from __future__ import annotations

from pathlib import Path

import pytest

from frazil.environment.settings import Settings
from frazil.errors import StackError
from frazil.stack.leftovers import leftovers, remove
from frazil.stack.process import ProcessFile


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    names = {"FRAZIL_HOME": "home", "FRAZIL_CACHE": "cache", "XDG_CONFIG_HOME": "config"}
    return Settings({name: str(tmp_path / folder) for name, folder in names.items()})


def fill(settings: Settings) -> None:
    files = (settings.home / "data" / "kafka" / "log", settings.cache / "jars" / "a.jar", settings.contexts_file)
    for number, path in enumerate(files, 1):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * number)


def test_what_is_there_is_told_and_removed(settings: Settings) -> None:
    assert leftovers(settings) == []
    fill(settings)
    (settings.home / "data" / "link").symlink_to("/usr")
    assert [(each.folder, each.size) for each in leftovers(settings)] == [
        (settings.home, 1),
        (settings.cache, 2),
        (settings.contexts_file.parent, 3),
    ]
    remove(settings)
    assert leftovers(settings) == []
    assert not any(path.exists() for path in (settings.home, settings.cache, settings.contexts_file.parent))
    assert Path("/usr/bin").exists()


def test_files_of_others_stay(settings: Settings) -> None:
    fill(settings)
    others = [settings.home / "notes", settings.cache / "other" / "file", settings.contexts_file.parent / "mine"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    remove(settings)
    assert [path.read_text() for path in others] == ["mine"] * 3


def test_nothing_goes_while_a_service_runs(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(settings)
    (settings.home / "run").mkdir()
    (settings.home / "run" / "kafka.json").write_text("{}")
    monkeypatch.setattr(ProcessFile, "find", lambda self: True)
    with pytest.raises(StackError, match="kafka still runs, so nothing was removed"):
        remove(settings)
    assert len(leftovers(settings)) == 3
