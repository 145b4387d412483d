from __future__ import annotations

import pytest
from pyiceberg.table import Table

from frazil.clients.kafka import groups as kafka_groups
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.position import start_position
from frazil.connectors.iceberg.position.alter import alter_positions, moved
from frazil.connectors.iceberg.table.commit import ALTERED, Commit, Floor, TableBranch
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import CommitConflict, CommitStateUnknown, ConfigError
from frazil.pipeline.offsets import Offsets
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable
from tests.connectors.iceberg.proxy import CatalogProxy
from tests.connectors.samples import MINIMAL_SINK

ME = "altered"


def test_positions_are_replaced_kept_or_forgotten() -> None:
    floor = Floor({("a", 0): 5, ("a", 1): 6, ("b", 0): 7}, KafkaIdentity("k", {"a": "old", "b": "old"}))
    now = KafkaIdentity("k", {"a": "new"})
    one = moved(floor, {("a", 0): 2}, frozenset({("b", 0)}), now)
    assert one == Floor({("a", 0): 2, ("a", 1): 6}, KafkaIdentity("k", {"a": "old"}))
    both = moved(floor, {("a", 0): 2, ("a", 1): 9}, frozenset(), now)
    assert both == Floor({("a", 0): 2, ("a", 1): 9, ("b", 0): 7}, KafkaIdentity("k", {"a": "new", "b": "old"}))
    assert moved(floor, {}, frozenset(floor.offsets), KafkaIdentity("k", {})) == Floor()


def test_ids_of_another_cluster_count_once_nothing_old_remains() -> None:
    floor = Floor({("a", 0): 5, ("a", 1): 6}, KafkaIdentity("old", {"a": "old"}))
    now = KafkaIdentity("new", {"a": "new"})
    assert moved(floor, {("a", 0): 2}, frozenset(), now).identity == floor.identity
    assert moved(floor, {("a", 0): 2}, frozenset({("a", 1)}), now).identity == now
    assert moved(Floor(), {("a", 0): 2}, frozenset(), now).identity == now


pytestmark = pytest.mark.usefixtures("quick_retries")


class Connector:
    """A connector on tables, whose commits stand for those of a worker."""

    def __init__(self, stack: LocalStack, topic: str, *tables: Table, uri: str | None = None) -> None:
        self.bootstrap = stack.settings.bootstrap_servers
        self.topic = topic
        self.tables = tables
        catalog = {**stack.settings.catalog_properties(), "uri": uri or stack.settings.catalog_uri}
        names = [".".join(table.name()) for table in tables]
        self.config: IcebergSinkConfig = iceberg_sink_config(
            {
                **MINIMAL_SINK,
                "name": ME,
                "topics": topic,
                "iceberg.tables": ",".join(names),
                "consumer.override.group.id": f"group-{topic}",
                "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
                "iceberg.control.group-id": f"control-{topic}",
                **{f"iceberg.catalog.{key}": value for key, value in catalog.items()},
            }
        )
        marks = self.config.connect_sink.properties
        self.targets = [TableBranch(tables[0].catalog, name, "main", marks) for name in names]

    def key(self, partition: int) -> tuple[str, int]:
        return self.topic, partition

    def read(self, *offsets: int, begin: int = 0) -> None:
        """Everything up to these offsets is in the tables and in the group."""
        end = {self.key(partition): offset for partition, offset in enumerate(offsets)}
        identity = start_position.identity(self.bootstrap, [self.topic])
        for target in self.targets:
            table = target.load()
            target.commit(table, target.floor(table, ME), Commit(ME, [], {self.key(0): begin}, end, identity, None))
        kafka_groups.set_group_offsets(self.bootstrap, self.config.group_id, end)

    def alter(self, *offsets: int | None) -> list[str]:
        changes = {self.key(partition): offset for partition, offset in enumerate(offsets)}
        return alter_positions(self.config, self.bootstrap, changes)

    def floors(self) -> list[Offsets]:
        return [target.floor(target.load(), ME).offsets for target in self.targets]

    def group(self) -> Offsets:
        return kafka_groups.all_group_offsets(self.bootstrap, self.config.group_id)

    def start(self, reset: str = "earliest") -> Offsets:
        floors = {target.name: target.floor(target.load(), ME) for target in self.targets}
        now = start_position.identity(self.bootstrap, [self.topic], floors)
        return start_position.start_offsets(
            self.bootstrap, [self.topic], self.config.connect_sink.groups, reset, floors, now
        )


@pytest.mark.stack
def test_a_position_moves_back_and_forth(stack: LocalStack, topic: str, make_table: MakeTable) -> None:
    table = make_table()
    one = Connector(stack, topic, table)
    one.read(8, 8)
    assert one.alter(3, 9) == []
    expected = {one.key(0): 3, one.key(1): 9}
    assert one.floors() == [expected]
    assert one.group() == one.start() == expected
    head = table.refresh().current_snapshot()
    assert head is not None
    assert head.summary is not None
    assert (head.summary[ALTERED], head.summary["total-data-files"]) == ("true", "0")
    one.read(5, 8)
    assert one.floors() == [{one.key(0): 5, one.key(1): 9}], "commits of a worker merge with the new position"


@pytest.mark.stack
def test_a_position_that_kafka_connect_has_gone_on_from(stack: LocalStack, topic: str, make_table: MakeTable) -> None:
    table = make_table()
    one = Connector(stack, topic, table)
    one.read(4, 4)
    control = one.config.connect_sink.groups[0]

    def kafka_connect_commits(offset: int) -> None:
        kafka_groups.set_group_offsets(one.bootstrap, control, {one.key(0): offset})
        mark = one.config.connect_sink.properties[0]
        table.refresh().append(table.scan().to_arrow(), snapshot_properties={mark: '{"0":1}'})

    kafka_connect_commits(6)
    assert one.start() == {one.key(0): 6, one.key(1): 4}
    one.alter(5)
    assert one.start() == {one.key(0): 5, one.key(1): 4}
    assert kafka_groups.all_group_offsets(one.bootstrap, control) == {one.key(0): 5}
    kafka_connect_commits(7)
    assert one.start() == {one.key(0): 7, one.key(1): 4}
    alter_positions(one.config, one.bootstrap, None)
    assert one.start() == {one.key(0): 0, one.key(1): 4}, "the second partition begins there"


@pytest.mark.stack
def test_a_forgotten_position_is_that_of_the_reset(stack: LocalStack, topic: str, make_table: MakeTable) -> None:
    table = make_table()
    one = Connector(stack, topic, table)
    one.read(8, 8)
    one.alter(None)
    assert (one.floors(), one.group()) == ([{one.key(1): 8}], {one.key(1): 8})
    assert one.start() == {one.key(0): 0, one.key(1): 8}
    for _ in range(2):
        assert alter_positions(one.config, one.bootstrap, None) == []
        assert (one.floors(), one.group()) == ([{}], {})
    assert len(table.refresh().snapshots()) == 3, "nothing is written when nothing is left"
    assert one.start() == {one.key(0): 0, one.key(1): 4}
    assert one.start("latest") == {one.key(0): 10, one.key(1): 10}
    one.read(2)
    assert one.start() == {one.key(0): 2, one.key(1): 4}


@pytest.mark.stack
def test_the_new_position_survives_expiry(stack: LocalStack, topic: str, make_table: MakeTable) -> None:
    table = make_table()
    one = Connector(stack, topic, table)
    one.read(8, 8)
    one.alter(3)
    altered = table.refresh().current_snapshot()
    assert altered is not None
    table.append(table.scan().to_arrow())
    table.maintenance.expire_snapshots().by_id(altered.snapshot_id).commit()
    assert one.floors() == [{one.key(0): 3, one.key(1): 8}]


@pytest.mark.stack
def test_a_table_that_is_rolled_back_has_the_position_of_then(
    stack: LocalStack, topic: str, make_table: MakeTable
) -> None:
    table = make_table()
    one = Connector(stack, topic, table)
    one.read(8, 8)
    before = table.refresh().current_snapshot()
    assert before is not None
    one.alter(3)
    table.refresh().manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()
    assert one.floors() == [{one.key(0): 8, one.key(1): 8}]


@pytest.mark.stack
@pytest.mark.parametrize(("offset", "began"), [(1, 1), (7, 3), (None, None)])
def test_a_table_that_loses_everything_begins_at_the_lowest_position(
    stack: LocalStack, topic: str, make_table: MakeTable, offset: int | None, began: int | None
) -> None:
    table = make_table()
    table.append(table.scan().to_arrow())
    empty = table.refresh().current_snapshot()
    assert empty is not None
    one = Connector(stack, topic, table)
    one.read(8, begin=3)
    one.alter(offset)
    table.refresh().manage_snapshots().rollback_to_snapshot(empty.snapshot_id).commit()
    assert one.floors() == [{} if began is None else {one.key(0): began}]


@pytest.mark.stack
def test_places_that_do_not_exist_change_nothing(stack: LocalStack, topic: str, make_table: MakeTable) -> None:
    one = Connector(stack, topic, make_table())
    one.read(8, 8)
    for changes, message in (
        ({("nowhere", 0): 1}, "Nothing was changed: topic nowhere does not exist at"),
        ({(topic, 2): 1}, f"Topic {topic} has no partition 2; nothing was changed."),
        ({(topic, 0): -1}, f"The offset -1 of {topic}-0 is negative; nothing was changed."),
    ):
        with pytest.raises(ConfigError, match=message):
            alter_positions(one.config, one.bootstrap, changes)
    assert (one.floors(), one.group()) == ([{one.key(0): 8, one.key(1): 8}], {one.key(0): 8, one.key(1): 8})


@pytest.mark.stack
def test_offsets_that_the_topic_does_not_have(stack: LocalStack, topic: str, make_table: MakeTable) -> None:
    one = Connector(stack, topic, make_table())
    end, begin = one.alter(11, 1)
    assert end.startswith(f"{topic}-0 ends at offset 10: a connector that is started before the topic has offset 11")
    assert begin == f"{topic}-1 begins at offset 4, so that is its position now."
    assert one.floors() == [{one.key(0): 11, one.key(1): 4}]


@pytest.mark.stack
def test_a_table_that_does_not_exist_has_no_position(stack: LocalStack, topic: str, make_table: MakeTable) -> None:
    table = make_table()
    one = Connector(stack, topic, table)
    table.catalog.drop_table(table.name())
    assert one.alter(3) == [f"Table {'.'.join(table.name())} does not exist, so it has no position."]
    assert one.group() == {one.key(0): 3}


@pytest.mark.stack
@pytest.mark.parametrize("back", [True, False])
def test_a_failure_between_two_tables_loses_nothing_and_can_be_repeated(
    stack: LocalStack, topic: str, make_table: MakeTable, proxy: CatalogProxy, back: bool
) -> None:
    tables = [make_table(), make_table()]
    one = Connector(stack, topic, *tables, uri=proxy.uri)
    one.read(8, 8)
    proxy.faults = ["pass", *["409 before"] * 100]  # type: ignore[list-item]
    first, second = one.targets
    with pytest.raises(CommitConflict) as raised:
        one.alter(3 if back else 9)
    text = f"The position is changed in table {first.name}; the connector is still stopped. Repeat the request."
    assert str(raised.value).endswith(text)
    here = {one.key(0): 8, one.key(1): 8}
    there = {**here, one.key(0): 3 if back else 9}
    assert (one.floors(), one.group()) == ([there, here], here)
    assert one.start() == (there if back else here), "no table misses a record that it was to get"
    proxy.faults = []
    one.alter(3 if back else 9)
    assert one.floors() == [there, there]
    assert one.group() == one.start() == there


@pytest.mark.stack
@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_reset_that_did_not_reach_every_table(
    stack: LocalStack, topic: str, make_table: MakeTable, proxy: CatalogProxy, reset: str
) -> None:
    one = Connector(stack, topic, make_table(), make_table(), uri=proxy.uri)
    one.read(8, 8)
    proxy.faults = ["pass", *["409 before"] * 100]  # type: ignore[list-item]
    with pytest.raises(CommitConflict):
        alter_positions(one.config, one.bootstrap, None)
    assert one.start(reset) == {one.key(0): 8, one.key(1): 8}, "the group still has the position"
    kafka_groups.forget_group_offsets(one.bootstrap, one.config.group_id)
    assert max(one.start(reset).values()) <= 8, "the other table needs what comes from 8 on"


@pytest.mark.stack
def test_an_answer_that_is_lost_is_told_as_such(
    stack: LocalStack, topic: str, make_table: MakeTable, proxy: CatalogProxy
) -> None:
    one = Connector(stack, topic, make_table(), uri=proxy.uri)
    one.read(8, 8)
    proxy.faults = ["drop all"]
    with pytest.raises(CommitStateUnknown, match="The position is changed for certain in no table; the connector is"):
        one.alter(3)
    assert one.floors() == [{one.key(0): 3, one.key(1): 8}]


@pytest.mark.stack
def test_a_topic_made_again_can_be_read_after_a_reset(
    stack: LocalStack, bootstrap: str, topic: str, make_table: MakeTable
) -> None:
    table = make_table()
    one = Connector(stack, topic, table)
    one.read(8, 8)
    target = one.targets[0]
    old = KafkaIdentity("another-cluster", {topic: "old"})
    loaded = target.load()
    target.commit(loaded, target.floor(loaded, ME), Commit(ME, [], {}, {}, old, None))
    alter_positions(one.config, bootstrap, None)
    assert one.start() == {one.key(0): 0, one.key(1): 4}
