"""Connectors of a topics file over restarts of the worker."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from frazil.connectors.topics.topic_connectors import topic_connectors
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.topic_entries import TopicEntries
from tests.waits import eventually
from tests.worker.lifecycle.runners import ScriptedFactory

ELSEWHERE = {"KAFKA_BOOTSTRAP_SERVERS": "kafka:9092", "MINIO_ENDPOINT": "http://minio:9000"}
"""Nothing is made there."""


def entries(herder: Herder, folder: Path, text: str) -> TopicEntries:
    settings = Settings(ELSEWHERE)
    (folder / "t.yaml").write_text(f"connector: {{topics: {text}}}")
    return TopicEntries(herder, topic_connectors(folder / "t.yaml", settings), settings, "kafka:9092")


def running(herder: Herder) -> bool:
    return all(herder.status(name).state == "RUNNING" for name in herder.connectors())


def test_the_connectors_follow_the_file(herder: Herder, factory: ScriptedFactory, tmp_path: Path) -> None:
    both = "{a: {topic-name: t}, b: {topic-name: u}}"
    entries(herder, tmp_path, both).apply()
    eventually(lambda: running(herder))
    assert (herder.connectors(), herder.info("a").config["topics"]) == (["a", "b"], "t")
    herder.pause("b")
    entries(herder, tmp_path, both).apply()
    assert factory.life("a") == ["start"]
    entries(herder, tmp_path, "{b: {topic-name: u, processing: {batch-size: 5}}, c: {topic-name: v}}").apply()
    assert herder.connectors() == ["b", "c"]
    assert (herder.info("b").config["flush.size"], herder.info("b").target_state) == ("5", "PAUSED")
    eventually(lambda: factory.life("a") == ["start", "stop"])


def test_connectors_of_others_are_left_alone(herder: Herder, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = topic_connectors_of(tmp_path, "{a: {topic-name: mine}}")
    del own["a"]["frazil.topics.entry"]
    herder.create("a", own["a"])
    entries(herder, tmp_path, "{a: {topic-name: t}, b: {topic-name: u}}").apply()
    assert herder.info("a").config["topics"] == "mine"
    assert "connector a was not made from the topics file" in caplog.text
    entries(herder, tmp_path, "{b: {topic-name: u}}").apply()
    assert herder.connectors() == ["a", "b"]


def topic_connectors_of(folder: Path, text: str) -> dict[str, dict[str, str]]:
    (folder / "t.yaml").write_text(f"connector: {{topics: {text}}}")
    return topic_connectors(folder / "t.yaml", Settings(ELSEWHERE))


def test_the_worker_that_begins_to_lead_applies_it(
    herder: Herder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("frazil.worker.lifecycle.topic_entries._RETRY_S", 0.01)
    made = entries(herder, tmp_path, "{a: {topic-name: t}}")
    stop, leads, calls = threading.Event(), threading.Event(), []
    apply = made.apply

    def failing() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise ServiceUnavailable("not yet")
        apply()

    monkeypatch.setattr(made, "apply", failing)
    made.keep(stop, leads.is_set)
    assert not stop.wait(0.1)
    assert not calls
    leads.set()
    eventually(lambda: herder.connectors() == ["a"])
    herder.delete("a")
    leads.clear()
    stop.wait(0.1)
    leads.set()
    eventually(lambda: herder.connectors() == ["a"])
    stop.set()
    assert len(calls) == 4
    assert caplog.text.count("not yet") == 1
