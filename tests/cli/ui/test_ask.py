from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from frazil.cli.ui.ask import agreed
from frazil.errors import UsageError
from tests.cli.terminal import CTRL_C, CTRL_D, Terminal
from tests.isolation import isolated_settings


def test_where_nobody_can_be_asked_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(UsageError, match="pass --yes"):
        agreed("Go on?", "pass --yes")


@pytest.mark.parametrize(("key", "code"), [(CTRL_C, 130), (CTRL_D, 1)])
def test_a_question_can_be_left(tmp_path: Path, key: str, code: int) -> None:
    settings = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull)
    (settings.home / "data").mkdir(parents=True)
    with Terminal({**os.environ, **settings.env}, "clean") as asking:
        asking.until("[y/N]")
        asking.send(key)
        assert asking.end() == code
    assert (settings.home / "data").exists()
