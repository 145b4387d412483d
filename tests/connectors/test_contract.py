"""What every sink does that is opened from a configuration, on a cluster, a catalog and a store in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.clients import catalog as catalogs
from frazil.connectors.connector import Connector, open_connector
from frazil.connectors.iceberg import sink as iceberg
from frazil.connectors.objects import sink as objects
from frazil.connectors.sink import SinkContext, SinkTask
from frazil.declare.providers import ConfigProviders
from frazil.environment.settings import Settings
from frazil.errors import BadRecord, ConfigError, Fenced, NotFound, NotReplayable, ServiceUnavailable, UsageError
from frazil.pipeline.executor import InlineExecutor
from frazil.pipeline.report import BatchReport
from tests.connectors.broker import BOOTSTRAP, Broker, Killed
from tests.connectors.iceberg.control_events import data_complete, data_written
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.connectors.objects.samples import FolderStore
from tests.connectors.samples import MINIMAL_S3_SINK, MINIMAL_SINK

TABLE = Schema(NestedField(1, "id", LongType()))
CONFIGS: Mapping[str, Mapping[str, str]] = {
    "iceberg": {**MINIMAL_SINK, "name": "c", "iceberg.control.commit.interval-ms": "1"},
    "objects": {**MINIMAL_S3_SINK, "name": "c", "flush.size": "1", "store.url": "http://127.0.0.1:9000"},
}


class Place:
    """Where connectors read and write."""

    def __init__(self, folder: Path, patched: pytest.MonkeyPatch) -> None:
        self.broker = Broker().install(patched)
        self.broker.make("t", 2)
        self.catalog = MemoryCatalog(folder / "tables", {"db.landing": TABLE})
        self.store = FolderStore(str(folder / "store"))
        self.settings = Settings({"FRAZIL_HOME": str(folder), "KAFKA_BOOTSTRAP_SERVERS": BOOTSTRAP})
        self.reports: list[BatchReport] = []
        patched.setattr(catalogs, "connect", lambda properties, name="iceberg": self.catalog)
        patched.setattr(objects, "ObjectStore", lambda config: self.store)
        for sink in (iceberg, objects):
            patched.setattr(sink, "task_source", lambda config, bootstrap, *, headers: self.broker.source())

    def open(self, kind: str, **changes: str) -> Connector:
        config = {**CONFIGS[kind], **{name.replace("_", "."): value for name, value in changes.items()}}
        return open_connector("c", config, self.settings, ConfigProviders({}))

    def start(self, connector: Connector) -> SinkTask:
        return connector.sink.start(SinkContext(InlineExecutor()), connector.topics())

    def run(self, task: SinkTask) -> None:
        due = task.due(self.broker.ends("t"), 0)
        if due.ends:
            task.step(due, self.reports.append)

    def stored(self, kind: str) -> list[int]:
        if kind == "objects":
            found = self.store.objects()
            return sorted(
                int(data.split(b":")[1].split(b"}")[0]) for name, data in found.items() if "_topics" not in name
            )
        return sorted(self.catalog.load_table("db.landing").scan().to_arrow().column("id").to_pylist())

    def send(self, *numbers: int, partition: int = 0) -> None:
        self.broker.send("t", [b'{"id":%d}' % number for number in numbers], partition)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


each_sink = pytest.mark.parametrize("kind", CONFIGS)


@each_sink
def test_what_is_due_is_stored_and_the_position_moves_behind_it(place: Place, kind: str) -> None:
    connector = place.open(kind)
    assert (connector.name, connector.sink.name, connector.topics()) == ("c", "c", ["t"])
    task = place.start(connector)
    assert not task.due(place.broker.ends("t"), 0).ends
    place.send(1, 2)
    place.send(3, partition=1)
    place.run(task)
    assert task.position == {("t", 0): 2, ("t", 1): 1}
    assert place.stored(kind) == [1, 2, 3]
    (report,) = place.reports
    assert (report.connector, report.read, report.stored) == ("c", 3, 3)
    assert report.end_offsets == task.position
    assert task.maintained() is None


@each_sink
def test_a_start_goes_on_from_the_stored_position(place: Place, kind: str) -> None:
    connector = place.open(kind)
    place.send(1, 2)
    place.run(place.start(connector))
    place.send(3)
    task = place.start(connector)
    assert task.position == {("t", 0): 2, ("t", 1): 0}
    place.run(task)
    assert place.stored(kind) == [1, 2, 3]


@each_sink
def test_a_new_connector_may_begin_behind_what_is_there(place: Place, kind: str) -> None:
    place.send(1, 2)
    task = place.start(place.open(kind, **{"consumer.override.auto.offset.reset": "latest"}))
    assert task.position == {("t", 0): 2, ("t", 1): 0}


@each_sink
def test_topics_of_a_pattern_are_those_that_exist(place: Place, kind: str) -> None:
    place.broker.make("t-more")
    place.broker.make("shop.a1")
    place.broker.make("xshop.a1")
    place.broker.make("shop.a1_old")
    assert place.open(kind, topics="", topics_regex="t.*").topics() == ["t", "t-more"]
    assert place.open(kind, topics="", topics_regex=r"shop\.a[0-9]*").topics() == ["shop.a1"]
    with pytest.raises(NotFound, match=r"no topic matches topics.regex=none"):
        place.open(kind, topics="", topics_regex="none.*").topics()


@each_sink
def test_bad_records_end_a_connector_that_does_not_tolerate_them(place: Place, kind: str) -> None:
    task = place.start(place.open(kind))
    place.send(1)
    place.broker.send("t", [b"{"])
    with pytest.raises(BadRecord, match="offset 1"):
        place.run(task)
    assert place.stored(kind) == [1]
    assert place.broker.topics() == ["t"], "no dead-letter topic is made"


@each_sink
def test_bad_records_go_to_a_dead_letter_topic_that_is_made_at_the_start(place: Place, kind: str) -> None:
    named = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
    task = place.start(place.open(kind, **named))
    assert place.broker.topics() == ["t", "t-dlq"]
    place.broker.send("t", [b"{"])
    place.send(1)
    place.run(task)
    assert (place.stored(kind), list(place.broker.letters("t-dlq"))) == ([1], [("t", 0, 0, "")])
    place.start(place.open(kind, **named, errors_deadletterqueue_topic_name="dead"))
    assert place.broker.topics() == ["dead", "t", "t-dlq"]


@each_sink
def test_dead_letters_are_found_again_without_kafka_connects_headers(place: Place, kind: str) -> None:
    connector = place.open(kind, errors_tolerance="all")
    task = place.start(connector)
    place.broker.send("t", [b"{"])
    place.send(1)
    place.broker.produce_faults = ["killed"]
    with pytest.raises(Killed):
        place.run(task)
    place.run(place.start(connector))
    assert (place.stored(kind), place.broker.letters("t-dlq")) == ([1], {("t", 0, 0, ""): [0]})


@each_sink
def test_a_connector_of_the_same_name_elsewhere_hides_no_dead_letter(place: Place, kind: str) -> None:
    other = {"iceberg": "iceberg.catalog.warehouse", "objects": "s3.bucket.name"}[kind]
    for where in ("here", "there"):
        task = place.start(place.open(kind, errors_tolerance="all", **{other: where}))
        if where == "here":
            place.broker.send("t", [b"{"])
        place.broker.produce_faults = ["killed"]
        with pytest.raises(Killed):
            place.run(task)
    assert place.broker.letters("t-dlq") == {("t", 0, 0, ""): [0, 1]}


@each_sink
def test_a_dead_letter_topic_that_the_cluster_cannot_have(place: Place, kind: str) -> None:
    replicas = "errors.deadletterqueue.topic.replication.factor"
    connector = place.open(kind, errors_tolerance="all", **{replicas: "3"})
    with pytest.raises(ConfigError, match=r"was not created and nothing was read\. Correct .*replication.factor"):
        place.start(connector)


@each_sink
def test_a_position_is_moved_and_forgotten_while_the_connector_is_stopped(place: Place, kind: str) -> None:
    connector = place.open(kind)
    place.send(1, 2, 3)
    place.send(4, partition=1)
    place.run(place.start(connector))
    connector.sink.alter({("t", 0): 1})
    assert place.start(connector).position == {("t", 0): 1, ("t", 1): 1}
    connector.sink.alter({("t", 0): None})
    assert place.start(connector).position == {("t", 0): 0, ("t", 1): 1}
    connector.sink.alter({("t", 0): 3})
    connector.sink.alter(None)
    assert place.start(connector).position == {("t", 0): 0, ("t", 1): 0}


@each_sink
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({("t", 7): 0}, "Topic t has no partition 7; nothing was changed"),
        ({("t", 0): -1}, "The offset -1 of t-0 is negative; nothing was changed"),
        ({("none", 0): 0}, "Nothing was changed: topic none does not exist"),
    ],
)
def test_a_position_that_cannot_be(place: Place, kind: str, changes: Any, told: str) -> None:
    connector = place.open(kind)
    place.send(1)
    place.run(place.start(connector))
    with pytest.raises(ConfigError, match=told):
        connector.sink.alter(changes)
    assert place.start(connector).position[("t", 0)] == 1


@each_sink
def test_a_position_outside_of_the_topic_is_remarked(place: Place, kind: str) -> None:
    connector = place.open(kind)
    place.send(1, 2, 3)
    place.run(place.start(connector))
    place.broker.retain("t", 2)
    remarks = connector.sink.alter({("t", 0): 0, ("t", 1): 99})
    assert any("t-0 begins at offset 2, so that is its position now" in remark for remark in remarks)
    assert any("t-1 ends at offset 0" in remark for remark in remarks)


def test_a_sink_of_objects_samples_and_replays_nothing(place: Place) -> None:
    sink = place.open("objects").sink
    with pytest.raises(UsageError, match="is for sinks of tables; leave it out to check the configuration of c"):
        sink.sample(5, 5, lambda step: None, InlineExecutor)
    with pytest.raises(NotReplayable, match="of c cannot be replayed, for it is no sink of Iceberg tables"):
        sink.replayer([], dry_run=True)


class TestIceberg:
    """What concerns positions that are in tables."""

    def test_a_table_that_is_not_there_is_remarked(self, place: Place) -> None:
        connector = place.open("iceberg", **{"iceberg.tables": "db.none", "iceberg.tables.auto-create-enabled": "true"})
        assert connector.sink.alter(None) == ["Table db.none does not exist, so it has no position."]

    def test_the_tables_of_a_connector_whose_records_name_them_are_found(self, place: Place) -> None:
        dynamic = {
            "iceberg.tables": "",
            "iceberg.tables.dynamic-enabled": "true",
            "iceberg.tables.route-field": "to",
            "iceberg.tables.auto-create-enabled": "true",
        }
        connector = place.open("iceberg", **dynamic)
        place.broker.send("t", [b'{"id":1,"to":"a.x"}', b'{"id":2,"to":"a.b.y"}'])
        place.run(place.start(connector))
        connector.sink.alter({("t", 0): 1})
        place.run(place.start(connector))
        rows = {name: place.catalog.load_table(name).scan().to_arrow().num_rows for name in ("a.x", "a.b.y")}
        assert rows == {"a.x": 1, "a.b.y": 2}

    def test_a_worker_that_commits_while_the_position_is_moved(self, place: Place) -> None:
        connector = place.open("iceberg")
        place.send(1)
        place.run(place.start(connector))
        task = place.start(connector)
        place.send(2)
        place.catalog.meanwhile = lambda: place.run(task)
        with pytest.raises(Fenced, match=r"The position is changed in no table; the connector is still stopped"):
            connector.sink.alter({("t", 0): 0})
        assert place.start(connector).position[("t", 0)] == 2

    def test_files_that_kafka_connects_sink_has_announced_are_waited_for(self, place: Place) -> None:
        place.broker.make("control-iceberg")
        place.broker.set_group_offsets("connect-c", {("t", 0): 2})
        place.send(1, 2, 3)
        group = "connect-c"
        place.broker.send("control-iceberg", [b"?", data_complete(group), data_written("other", "db.landing", 9)])
        connector = place.open("iceberg")
        assert place.start(connector).position[("t", 0)] == 2
        place.broker.send("control-iceberg", [data_written(group, "db.landing", 2, 3)])
        with pytest.raises(
            ServiceUnavailable, match=r"has written 2 files with 5 rows for db.landing and not committed"
        ):
            place.start(connector)
        place.broker.set_group_offsets(f"{group}-coord", {("control-iceberg", 0): 4})
        assert place.start(connector).position[("t", 0)] == 2

    def test_files_of_a_table_that_is_gone_are_waited_for_by_nobody(self, place: Place) -> None:
        place.broker.make("control-iceberg")
        place.broker.set_group_offsets("connect-c", {("t", 0): 0})
        place.broker.send("control-iceberg", [data_written("connect-c", "db.gone", 2)])
        assert place.start(place.open("iceberg")).position[("t", 0)] == 0
