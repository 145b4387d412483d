"""A connector that Kafka Connect's sink has run before."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from pyiceberg.table import Table

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.position import start_position, takeover
from frazil.connectors.iceberg.position.takeover import Written, written_files
from frazil.connectors.iceberg.sink_tables import SinkTables
from frazil.connectors.iceberg.table.commit import Commit, Floor
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sink import Runs
from frazil.errors import Fenced, ServiceUnavailable, TerminalError
from frazil.pipeline.executor import InlineExecutor
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable
from tests.connectors.iceberg.control_events import data_complete, data_written, data_written_before_0_6
from tests.harness import send
from tests.waits import eventually

pytestmark = pytest.mark.stack


class Taken:
    """A connector whose group is past five records of its topic."""

    def __init__(self, bootstrap: str, table: Table, class_: str = "org.apache.iceberg") -> None:
        self.bootstrap, self.table, self.name = bootstrap, table, f"sink-{uuid.uuid4().hex[:8]}"
        self.topic, self.control = f"topic-{self.name}", f"control-{self.name}"
        kafka_topics.ensure_topics(bootstrap, {self.topic: (1, {}), self.control: (1, {})})
        self.group = f"connect-{self.name}" if class_.startswith("org") else f"cg-control-{self.name}"
        self._class = f"{class_}.connect.IcebergSinkConnector"
        self.move(self.group, self.topic, 5)

    @property
    def table_name(self) -> str:
        return ".".join(self.table.name())

    def config(self, **keys: str) -> IcebergSinkConfig:
        base = {
            "name": self.name,
            "connector.class": self._class,
            "topics": self.topic,
            "iceberg.tables": self.table_name,
            "iceberg.catalog.type": "rest",
            "iceberg.control.topic": self.control,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        return iceberg_sink_config(base | keys)

    def move(self, group: str, topic: str, offset: int) -> None:
        kafka_groups.set_group_offsets(self.bootstrap, group, {(topic, 0): offset})

    def announce(self, *events: bytes) -> None:
        send(self.bootstrap, self.control, events)

    def check(self, floors: dict[str, Floor] | None = None, keys: dict[str, str] | None = None) -> None:
        config, none = self.config(**keys or {}), {self.table_name: Floor()}
        takeover.check(self.bootstrap, config, self.table.catalog, floors or none)


@pytest.fixture
def taken(stack: LocalStack, make_table: MakeTable) -> Taken:
    return Taken(stack.settings.bootstrap_servers, make_table())


@contextmanager
def member(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.1) is None and consumer.assignment())
    yield
    consumer.close()


def test_a_group_with_members_is_waited_for(taken: Taken) -> None:
    fresh = {taken.table_name: Floor({(taken.topic, 0): 5})}
    with member(taken.bootstrap, taken.group, taken.topic):
        for floors in (fresh, None):
            with pytest.raises(ServiceUnavailable, match=f"group {taken.group} has 1 members: .* still runs in Kafka"):
                taken.check(floors)
    taken.check(fresh)
    taken.check()


@pytest.mark.parametrize("class_", ["org.apache.iceberg", "io.tabular.iceberg"])
def test_files_that_only_the_control_topic_names_are_waited_for(
    stack: LocalStack, make_table: MakeTable, class_: str
) -> None:
    taken = Taken(stack.settings.bootstrap_servers, make_table(), class_)
    taken.announce(data_written(taken.group, taken.table_name, 2), data_complete(taken.group))
    taken.announce(data_written("connect-other", taken.table_name, 9), data_written(taken.group, "gone.table", 9))
    taken.announce(data_written(taken.group, taken.table_name, 3, 4), data_written(taken.group, taken.table_name, 0))
    with pytest.raises(ServiceUnavailable, match=r"has written 3 files with 9 rows for \S+ and not .* from offset 0"):
        taken.check()
    taken.move(f"{taken.group}-coord", taken.control, 2)
    with pytest.raises(ServiceUnavailable, match=r"has written 2 files with 7 rows for \S+ and not .* from offset 4"):
        taken.check()
    taken.check({taken.table_name: Floor({(taken.topic, 0): 5})})
    with pytest.raises(ServiceUnavailable):
        taken.check({taken.table_name: Floor({(taken.topic, 0): 5}, superseded=True)})
    committed: Any = {f"kafka.connect.offsets.{taken.control}.{taken.group}": '{"0":5}'}
    taken.table.append(taken.table.scan().to_arrow(), snapshot_properties=committed)
    taken.check()


def test_without_a_position_or_a_control_topic_there_is_nothing_to_wait_for(taken: Taken) -> None:
    taken.check(keys={"iceberg.control.topic": "no-such-topic"})
    taken.announce(data_written(taken.group, taken.table_name, 2))
    taken.check(keys={"consumer.override.group.id": f"group-{uuid.uuid4()}"})


def test_groups_that_are_kept_up_to_date(stack: LocalStack, make_table: MakeTable) -> None:
    taken = Taken(stack.settings.bootstrap_servers, make_table(), "io.tabular.iceberg")
    plain = f"connect-{taken.name}"
    assert start_position.mirrors(taken.bootstrap, taken.config()) == [plain, taken.group]
    kafka_groups.forget_group_offsets(taken.bootstrap, taken.group)
    assert start_position.mirrors(taken.bootstrap, taken.config()) == [plain]


@pytest.mark.parametrize("before", ["nothing", "the sink", "this connector", "both"])
def test_both_at_once_are_told_after_the_first_commit_of_each(taken: Taken, before: str) -> None:
    """Also when the sink has committed between the first batch of the connector and its second."""
    config, key = taken.config(), (taken.topic, 0)
    position = {f"kafka.connect.offsets.{taken.control}.{taken.group}": '{"0":5}'}

    def sink_commits() -> None:
        table = taken.table.refresh()
        table.append(table.scan().to_arrow(), snapshot_properties=position)

    def connector_commits(tables: SinkTables, begin: int) -> None:
        (table,) = tables.begin({key: begin})
        table.load(KafkaIdentity())
        batch = Commit(taken.name, [], {key: begin}, {key: begin + 1}, KafkaIdentity(), None)
        table.commit(batch)

    def started() -> SinkTables:
        tables = SinkTables(config, taken.table.catalog, Runs("run"), InlineExecutor())
        tables.floors()
        return tables

    if before in ("this connector", "both"):
        connector_commits(started(), 5)
    if before in ("the sink", "both"):
        sink_commits()
    tables = started()
    connector_commits(tables, 6)
    sink_commits()
    with pytest.raises(Fenced, match="Kafka Connect's sink has committed to"):
        connector_commits(tables, 7)
    connector_commits(started(), 7)  # it was restarted


def test_files_that_a_task_has_announced() -> None:
    value = data_written("connect-a", "a.b.c", 3, 4, deletes=(2,))
    assert written_files(value, 1, 7) == Written("connect-a", "a.b.c", files=3, rows=9, partition=1, offset=7)
    old = data_written_before_0_6("cg-control-a", "db.t", 5)
    assert written_files(old, 0, 0) == Written("cg-control-a", "db.t", files=1, rows=5, partition=0, offset=0)


def test_an_event_of_kafka_connect_itself() -> None:
    """Written by Apache's sink 1.12.0."""
    value = Path(__file__).with_name("data_written.bin").read_bytes()
    name = "test_x21_x22_there_and_back_and_there_again"
    expected = Written(f"connect-sink-{name}", f"acceptance.{name}", files=6, rows=10, partition=0, offset=3)
    assert written_files(value, 0, 3) == expected


@pytest.mark.parametrize("value", [data_complete("connect-a"), b"", b"\xc2", b'{"type": 1}'], ids=str)
def test_other_events_and_what_is_no_event_name_none(value: bytes) -> None:
    assert written_files(value, 0, 0) is None


def test_an_event_that_cannot_be_read_is_told() -> None:
    cut = data_written("connect-a", "db.t", 3)[:-4]
    with pytest.raises(TerminalError, match="the event at offset 9 of partition 2 of the control topic"):
        written_files(cut, 2, 9)
