from __future__ import annotations

from pathlib import Path

import pytest

from frazil.environment.paths import expanded
from frazil.errors import ConfigError


def test_home_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert expanded("X", "~/a") == Path("/home/somebody/a")
    assert expanded("X", "a/~b") == Path("a/~b")


def test_a_user_that_does_not_exist() -> None:
    with pytest.raises(ConfigError, match="^X=~nosuchuser/a: there is no home folder of that user"):
        expanded("X", "~nosuchuser/a")
