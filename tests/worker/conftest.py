from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.store import FileConfigStore
from tests.waits import PATIENCE_S
from tests.worker.lifecycle.runners import ScriptedFactory


@pytest.fixture
def factory() -> ScriptedFactory:
    return ScriptedFactory()


@pytest.fixture
def store(tmp_path: Path) -> FileConfigStore:
    return FileConfigStore(tmp_path / "worker" / "connectors.json")


@pytest.fixture
def herder(store: FileConfigStore, factory: ScriptedFactory) -> Iterator[Herder]:
    herder = Herder(store, factory, "127.0.0.1:8083", RestartPolicy(first_s=0.05, longest_s=0.2))
    herder.start()
    yield herder
    assert herder.close(timeout=PATIENCE_S)
