"""Where a stack has its home that names none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frazil.environment.home import nearest_home
from frazil.environment.settings import Settings

USER = Path("/home/somebody")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with its environment, in a folder that has a home itself."""
    (tmp_path / ".frazil").mkdir()
    clone = tmp_path / "clone"
    (clone / "src" / "deep").mkdir(parents=True)
    (clone / ".venv").mkdir()
    return clone.resolve()


def test_a_clone_has_its_own_before_it_is_made_and_below_a_folder_with_one(clone: Path) -> None:
    for folder in (clone, clone / "src" / "deep"):
        assert nearest_home(folder, USER, clone / ".venv") == clone / ".frazil"


def test_the_nearest_one_counts(clone: Path) -> None:
    (clone / "src" / ".frazil").mkdir()
    assert nearest_home(clone / "src" / "deep", USER, clone / ".venv") == clone / "src" / ".frazil"
    assert nearest_home(clone.parent, USER, clone / ".venv") == clone.parent / ".frazil"


def test_clones_stay_apart(clone: Path) -> None:
    other = clone.parent / "other"
    (other / ".frazil").mkdir(parents=True)
    assert nearest_home(other, USER, clone / ".venv") == other / ".frazil"


def test_elsewhere_it_is_that_of_the_environment_or_of_the_user(clone: Path) -> None:
    assert nearest_home(Path("/"), USER, clone / ".venv") == clone / ".frazil"
    assert nearest_home(Path("/"), USER, Path("/usr")) == USER / ".frazil"
    assert nearest_home(Path("/"), USER, clone / ".local" / "share" / "frazil") == USER / ".frazil"


def test_homes_of_other_users_are_taken_from_their_own_folder_alone(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert nearest_home(clone, USER, clone / ".venv") == USER / ".frazil"
    assert nearest_home(clone.parent, USER, clone / ".venv") == clone.parent / ".frazil"


def test_a_folder_above_that_cannot_be_entered_has_none(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_dir = Path.is_dir

    def refused(path: Path) -> bool:
        if path == clone.parent / ".frazil":
            raise PermissionError(path)
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", refused)
    assert nearest_home(clone, USER, Path("/usr")) == USER / ".frazil"


def test_variables_lie_beside_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack, below = tmp_path / "stack", tmp_path / "stack" / "below"
    (stack / ".frazil").mkdir(parents=True)
    below.mkdir()
    monkeypatch.chdir(below)
    (stack / ".env").write_text("NAMESPACE_NAME=shop\n")
    settings = Settings.load({})
    assert (settings.home, settings.namespace) == (stack / ".frazil", "shop")
    (stack / ".env").write_text("FRAZIL_HOME=data\n")
    assert Settings.load({}).home == stack / "data"
    assert Settings.load({"FRAZIL_HOME": str(stack / ".frazil")}).home == stack / ".frazil"
    (below / ".env").write_text("NAMESPACE_NAME=own\n")
    assert Settings.load({}).namespace == "own"
