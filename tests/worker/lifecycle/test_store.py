from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import ConfigError
from frazil.worker.lifecycle.store import FileConfigStore, StoredConnector

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def test_nothing_is_stored_at_first(tmp_path: Path) -> None:
    store = FileConfigStore(tmp_path / "worker" / "connectors.json")
    assert store.load() == {}
    store.delete("a")
    assert not (tmp_path / "worker").exists()


def test_connectors_outlive_the_process_in_a_file_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "worker" / "connectors.json"
    store = FileConfigStore(path)
    store.put("a", StoredConnector({"name": "a", "x": " 1 "}, "RUNNING"))
    store.put("b", StoredConnector({"name": "b"}, "PAUSED"))
    store.put("a", StoredConnector({"name": "a", "x": "2"}, "STOPPED"))
    store.delete("b")
    assert FileConfigStore(path).load() == {"a": StoredConnector({"name": "a", "x": "2"}, "STOPPED")}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["connectors.json"]


@given(st.dictionaries(_TEXT, st.dictionaries(_TEXT, _TEXT)))
def test_every_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, configs: dict[str, dict[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("store") / "connectors.json"
    store = FileConfigStore(path)
    for name, config in configs.items():
        store.put(name, StoredConnector(config, "RUNNING"))
    assert {name: stored.config for name, stored in FileConfigStore(path).load().items()} == configs


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"version": 2, "connectors": {}}',
        b'{"version": 1}',
        b'{"version": 1, "connectors": {"a": {"config": {"x": 1}, "target_state": "RUNNING"}}}',
        b'{"version": 1, "connectors": {"a": {"config": {}, "target_state": "FAILED"}}}',
    ],
)
def test_a_corrupt_file_is_an_error_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "connectors.json"
    path.write_bytes(content)
    store = FileConfigStore(path)
    with pytest.raises(ConfigError, match=r"connectors\.json cannot be read .* Nothing was changed"):
        store.load()
    with pytest.raises(ConfigError):
        store.put("a", StoredConnector({}, "RUNNING"))
    with pytest.raises(ConfigError):
        store.delete("a")
    assert path.read_bytes() == content


def test_changes_from_several_threads_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "connectors.json"
    store = FileConfigStore(path)

    def put(number: int) -> None:
        for step in range(5):
            store.put(f"c{number}-{step}", StoredConnector({}, "RUNNING"))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads(path.read_text())["connectors"]) == 20
