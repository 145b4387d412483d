"""Lag of many connectors, on a cluster in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.declare.providers import ConfigProviders
from frazil.engine.runner_api import Progress
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import ServiceUnavailable
from frazil.pipeline.offsets import Offsets
from frazil.stack.local import LocalStack
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.watch.lag import Lags
from tests.connectors.broker import BOOTSTRAP, Broker
from tests.harness import send
from tests.worker.lifecycle.runners import ScriptedFactory


class Watched:
    """A worker with connectors c0, c1 … of topics t0, t1 …, each with 10 records; `calls` are those to Kafka."""

    def __init__(self, folder: Path, patched: pytest.MonkeyPatch) -> None:
        self.broker = Broker().install(patched)
        self.calls: list[str] = []
        for module, name in (
            (kafka_groups, "group_offsets"),
            (kafka_offsets, "begin_offsets"),
            (kafka_offsets, "look_at_ends"),
        ):
            patched.setattr(module, name, self._counted(name, getattr(module, name)))
        self.herder = Herder(FileConfigStore(folder / "connectors.json"), ScriptedFactory(), "w")
        self.herder.start()
        self.progress: dict[str, Progress] = {}
        self.lags = Lags(Bootstrap(BOOTSTRAP), self.herder, ConfigProviders(), self.progress.get)

    def _counted(self, name: str, call: Any) -> Any:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.calls.append(name)
            return call(*arguments, **named)

        return counted

    def add(self, number: int, **more: str) -> str:
        name, topic = f"c{number}", f"t{number}"
        self.broker.make(topic)
        self.broker.send(topic, [b"{}"] * 10)
        more = {key.replace("__", "."): text for key, text in more.items()} or {"topics": topic}
        config = {"connector.class": "IcebergSink", "iceberg.tables": "db.t", "name": name}
        self.herder.create(name, {**config, "iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://c", **more})
        return name

    def run(self, number: int, position: Offsets, **more: str) -> None:
        self.progress[self.add(number, **more)] = Progress(position, {(f"t{number}", 0): 5})

    def lag(self) -> dict[tuple[str, str, int], int]:
        self.calls.clear()
        return {key: behind.lag for key, behind in self.lags.look().items()}


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    made = Watched(tmp_path, monkeypatch)
    yield made
    assert made.herder.close(10.0)


def test_a_hundred_connectors_that_run_cost_one_question(watched: Watched) -> None:
    for number in range(100):
        watched.run(number, {(f"t{number}", 0): number % 10})
    found = watched.lag()
    assert watched.calls == ["look_at_ends"]
    assert len(found) == 100
    assert found["c7", "t7", 0] == 3  # behind the end that Kafka has now, not behind the one of the last batch


def test_groups_are_asked_for_connectors_that_are_halted_one_at_each_further_look(watched: Watched) -> None:
    for number in range(3):
        watched.add(number)
        watched.broker.groups[f"connect-c{number}"] = {(f"t{number}", 0): (4, "")}
    assert set(watched.lag().values()) == {6}
    assert watched.calls.count("group_offsets") == 3
    for number in range(3):  # somebody moves them
        watched.broker.groups[f"connect-c{number}"] = {(f"t{number}", 0): (9, "")}
    for known in (1, 2, 3):
        assert list(watched.lag().values()).count(1) == known
        assert watched.calls.count("group_offsets") == 1


def test_a_connector_that_runs_again_is_asked_for_anew_when_it_is_halted(watched: Watched) -> None:
    name = watched.add(0)
    assert watched.lag() == {(name, "t0", 0): 10}
    watched.progress[name] = Progress({("t0", 0): 8}, {("t0", 0): 10})
    assert watched.lag() == {(name, "t0", 0): 2}
    del watched.progress[name]
    watched.broker.groups["connect-c0"] = {("t0", 0): (10, "")}
    assert watched.lag() == {(name, "t0", 0): 0}


def test_a_partition_without_position_begins_where_its_records_do(watched: Watched) -> None:
    watched.run(0, {})
    watched.broker.retain("t0", 6)
    assert watched.lag() == {("c0", "t0", 0): 4}
    assert watched.calls == ["look_at_ends", "begin_offsets"]


def test_a_topic_that_is_gone_leaves_the_others_known(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.run(0, {("t0", 0): 3})
    watched.run(1, {("t1", 0): 3})
    watched.broker.delete("t0")
    assert watched.lag() == {("c1", "t1", 0): 7}
    assert "the lag of topic t0 is not known" in caplog.text


def test_clusters_are_asked_one_by_one_and_one_that_is_away_is_told(watched: Watched) -> None:
    watched.run(0, {("t0", 0): 3})
    watched.run(1, {("t1", 0): 3}, topics="t1", consumer__override__client__rack="b")
    watched.run(2, {("t2", 0): 3}, topics="t2", admin__override__client__rack="b")
    assert len(watched.lag()) == 3
    watched.broker.faults["look_at_ends"] = [ServiceUnavailable("by the test")]
    with pytest.raises(ServiceUnavailable):
        watched.lag()


def test_topics_of_a_pattern_are_those_that_match(watched: Watched) -> None:
    watched.add(0, topics__regex="t.*")
    watched.broker.make("other")
    assert watched.lag() == {("c0", "t0", 0): 10}


def test_without_connectors_nobody_is_asked(watched: Watched) -> None:
    assert watched.lag() == {} and watched.calls == []


@pytest.mark.stack
def test_positions_of_a_real_cluster(stack: LocalStack, tmp_path: Path) -> None:
    servers = stack.settings.bootstrap_servers
    herder = Herder(FileConfigStore(tmp_path / "connectors.json"), ScriptedFactory(), "w")
    herder.start()
    progress: dict[str, Progress] = {}
    for number in range(3):
        topic = f"lag-{number}"
        kafka_topics.ensure_topics(servers, {topic: (2, {})})
        send(servers, topic, [b"{}"] * 10, partition=0)
        config = {"connector.class": "IcebergSink", "topics": topic, "iceberg.tables": "db.t", "name": f"c{number}"}
        herder.create(f"c{number}", {**config, "iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://c"})
    kafka_groups.set_group_offsets(servers, "connect-c0", {("lag-0", 0): 4})
    progress["c1"] = Progress({("lag-1", 0): 7}, {("lag-1", 0): 8, ("lag-1", 1): 0})
    found = Lags(servers, herder, ConfigProviders(), progress.get).look()
    assert {key: behind.lag for key, behind in found.items() if behind.lag} == {
        ("c0", "lag-0", 0): 6,
        ("c1", "lag-1", 0): 3,
        ("c2", "lag-2", 0): 10,
    }
    assert len(found) == 6
    assert herder.close(10.0)
