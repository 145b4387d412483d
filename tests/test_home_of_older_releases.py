"""Files that older releases have left, as they wrote them: this one reads each, and what it writes keeps all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frazil.connectors.backup import Backup, Saved, decoded
from frazil.environment.contexts import Context, Contexts
from frazil.worker.lifecycle.store import FileConfigStore, StoredConnector
from frazil.worker.watch.events import Event, EventLog

CONNECTORS = {
    "0.1": """{"version": 1, "connectors": {
        "orders": {"config": {"name": "orders", "connector.class": "IcebergSink", "topics": "o"},
                   "target_state": "PAUSED"},
        "users": {"config": {"name": "users", "connector.class": "S3Sink", "x": "${file:/a:b}"},
                  "target_state": "RUNNING"}}}"""
}
EVENTS = {
    "0.1": '{"at": 1796027933.444, "kind": "changed", "message": "tasks.max", "connector": "orders", "user": "ops", '
    '"client": "10.0.0.1"}\n'
}
CONTEXTS = {
    "0.1": '{"current": "local", "contexts": {"local": {"url": "http://127.0.0.1:8083"}, '
    '"production": {"url": "https://connect.example:8083", "user": "ops", "password_env": "OPS"}}}'
}
BACKUPS = {
    "0.1": """{"format": 1, "version": "0.1.0", "taken": "2026-11-30T08:00:00+00:00", "kafka_cluster_id": "k",
        "connectors": [{"name": "lines", "config": {"connector.class": "FileStreamSource"}, "state": "STOPPED",
                        "offsets": [{"partition": {"filename": "x"}, "offset": {"position": 7}}]}]}"""
}


@pytest.mark.parametrize("release", CONNECTORS)
def test_connectors_and_their_states(release: str, tmp_path: Path) -> None:
    file = tmp_path / "connectors.json"
    file.write_text(CONNECTORS[release])
    store = FileConfigStore(file)
    found = store.load()
    assert found["orders"] == StoredConnector(
        {"name": "orders", "connector.class": "IcebergSink", "topics": "o"}, "PAUSED"
    )
    assert found["users"].config["x"] == "${file:/a:b}"
    store.retarget("orders", "RUNNING")
    assert FileConfigStore(file).load() == found | {"orders": StoredConnector(found["orders"].config, "RUNNING")}


@pytest.mark.parametrize("release", EVENTS)
def test_what_happened(release: str, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(EVENTS[release])
    log = EventLog(file)
    assert log.newest(10) == [Event(1796027933.444, "changed", "tasks.max", "orders", "ops", "10.0.0.1")]
    log.add("started", "", "orders")
    assert file.read_text().startswith(EVENTS[release])


@pytest.mark.parametrize("release", CONTEXTS)
def test_contexts(release: str, tmp_path: Path) -> None:
    file = tmp_path / "contexts.json"
    file.write_text(CONTEXTS[release])
    found = Contexts.load(file)
    assert (found.current, found.get("production")) == (
        "local",
        Context("https://connect.example:8083", "ops", "OPS"),
    )
    found.save()
    assert json.loads(file.read_text()) == json.loads(CONTEXTS[release])


@pytest.mark.parametrize("release", BACKUPS)
def test_backups(release: str) -> None:
    taken = decoded(BACKUPS[release].encode(), "file")
    assert isinstance(taken, Backup)
    assert taken.connectors == [
        Saved(
            name="lines",
            config={"connector.class": "FileStreamSource"},
            state="STOPPED",
            offsets=[{"partition": {"filename": "x"}, "offset": {"position": 7}}],
        )
    ]
