from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.position import start_position
from frazil.connectors.iceberg.table.commit import Floor
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import NotFound, PositionLost, ServiceUnavailable
from frazil.pipeline.offsets import Offsets
from tests.connectors.iceberg.position.conftest import make
from tests.harness import Transactions
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.stack


def start(bootstrap: str, topic: str, floors: dict[str, Floor], **options: Any) -> Offsets:
    now = start_position.identity(bootstrap, [topic])
    group, reset = options.get("group", f"group-{uuid.uuid4()}"), options.get("reset", "earliest")
    groups = options.get("groups", [group])
    return start_position.start_offsets(bootstrap, [topic], groups, reset, floors, now)


def floor(topic: str, *offsets: int | None, identity: KafkaIdentity | None = None) -> Floor:
    known = {(topic, partition): offset for partition, offset in enumerate(offsets) if offset is not None}
    return Floor(known, identity or KafkaIdentity())


def test_what_all_tables_had_counts_for_each(topic: str) -> None:
    """Tables of which not each gets each record: one that gets few does not hold the others back."""
    few = floor(topic, 2, 3)
    many = replace(floor(topic, 9, 8), complete={(topic, 0): 7, (topic, 1): 2})
    found = start_position.effective({"db.few": few, "db.many": many, "db.new": Floor()})
    assert {name: each.offsets for name, each in found.items()} == {
        "db.few": {(topic, 0): 7, (topic, 1): 3},
        "db.many": many.offsets,
        "db.new": {},
    }
    back = start_position.effective({"db.few": replace(few, rolled_back=True), "db.many": many})
    assert back["db.few"].offsets == few.offsets


def test_identity_is_that_of_cluster_and_topics(bootstrap: str, topic: str) -> None:
    assert start_position.identity(bootstrap, [topic]) == KafkaIdentity(
        kafka_client.cluster_id(bootstrap), kafka_topics.topic_ids(bootstrap, [topic])
    )
    with pytest.raises(NotFound):
        start_position.identity(bootstrap, [f"missing-{uuid.uuid4()}"])


def test_a_broker_that_is_gone(free_ports: Any) -> None:
    (port,) = free_ports(1)
    with pytest.raises(ServiceUnavailable):
        start_position.identity(f"127.0.0.1:{port}", ["t"])


@pytest.mark.parametrize(("reset", "expected"), [("earliest", (0, 4)), ("latest", (10, 10))])
def test_without_a_position_the_reset_decides(
    bootstrap: str, topic: str, reset: str, expected: tuple[int, int]
) -> None:
    for floors in ({}, {"t": Floor()}):
        assert start(bootstrap, topic, floors, reset=reset) == {(topic, 0): expected[0], (topic, 1): expected[1]}


def test_the_group_comes_before_the_reset_and_the_table_before_the_group(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, 0): 3, (topic, 1): 6})
    assert start(bootstrap, topic, {"t": Floor()}, group=group) == {(topic, 0): 3, (topic, 1): 6}
    assert start(bootstrap, topic, {"t": floor(topic, 7)}, group=group) == {(topic, 0): 7, (topic, 1): 6}
    assert start(bootstrap, topic, {"t": floor(topic, 0, 10)}, group=group) == {(topic, 0): 0, (topic, 1): 10}


def test_of_several_tables_the_lowest_floor_counts(bootstrap: str, topic: str) -> None:
    floors = {"a": floor(topic, 5, 9), "b": floor(topic, 8, 7)}
    assert start(bootstrap, topic, floors) == {(topic, 0): 5, (topic, 1): 7}


def test_a_table_without_a_floor_gets_everything(bootstrap: str, topic: str) -> None:
    floors = {"a": floor(topic, 5, 9), "new": Floor()}
    assert start(bootstrap, topic, floors) == {(topic, 0): 0, (topic, 1): 4}


def test_of_two_groups_the_first_that_has_an_offset_counts(bootstrap: str, topic: str) -> None:
    control, plain = f"cg-control-{uuid.uuid4()}", f"connect-{uuid.uuid4()}"
    kafka_groups.set_group_offsets(bootstrap, plain, {(topic, 0): 3, (topic, 1): 6})
    kafka_groups.set_group_offsets(bootstrap, control, {(topic, 0): 5})
    assert start(bootstrap, topic, {"t": Floor()}, groups=[control, plain]) == {(topic, 0): 5, (topic, 1): 6}
    kafka_groups.set_group_offsets(bootstrap, control, {(topic, 0): 11})
    with pytest.raises(PositionLost, match=f"consumer group {control} continues at offset 11"):
        start(bootstrap, topic, {"t": Floor()}, groups=[control, plain])


def test_a_group_that_kafka_connect_has_moved_on_comes_before_the_tables(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, 0): 8})
    old = replace(floor(topic, 3, 7), superseded=True)
    assert start(bootstrap, topic, {"t": old}, group=group) == {(topic, 0): 8, (topic, 1): 7}
    idle = floor(topic, 1, 4)
    assert start(bootstrap, topic, {"t": old, "idle": idle}, group=group) == {(topic, 0): 8, (topic, 1): 4}
    ahead = replace(floor(topic, 9, 7), superseded=True)
    assert start(bootstrap, topic, {"t": ahead}, group=group) == {(topic, 0): 9, (topic, 1): 7}


def test_a_group_that_kafka_has_forgotten(bootstrap: str, topic: str) -> None:
    for stored in (Floor(superseded=True), replace(floor(topic, 3, 7), superseded=True)):
        with pytest.raises(PositionLost, match="sink has written to table t as this connector, but its consumer group"):
            start(bootstrap, topic, {"t": stored})


@pytest.mark.parametrize(
    ("offsets", "reason"),
    [
        (
            (5, 2),
            r"table t continues at offset 2 of .*-1, but the topic has 4 to 10: 2 records were deleted by retention",
        ),
        ((11, 5), r"table t continues at offset 11 of .*-0, but the topic has 0 to 10: the topic ends before it"),
    ],
    ids=["retention", "beyond the end"],
)
def test_a_position_that_is_not_in_the_topic(bootstrap: str, topic: str, offsets: tuple[int, int], reason: str) -> None:
    with pytest.raises(PositionLost, match=f"{reason}. Nothing was read. Give the connector a new name"):
        start(bootstrap, topic, {"t": floor(topic, *offsets)})
    group = f"group-{uuid.uuid4()}"
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, p): offset for p, offset in enumerate(offsets)})
    with pytest.raises(PositionLost, match=reason.replace("table t", f"consumer group {group}")):
        start(bootstrap, topic, {"t": Floor()}, group=group)


def test_a_position_of_another_cluster(bootstrap: str, topic: str) -> None:
    stored = floor(topic, 5, 5, identity=KafkaIdentity("another-cluster", {}))
    with pytest.raises(PositionLost, match="table t holds positions of Kafka cluster another-cluster, but this is"):
        start(bootstrap, topic, {"t": stored})


def test_a_topic_made_again(bootstrap: str, topic: str) -> None:
    before = start_position.identity(bootstrap, [topic])
    stored = floor(topic, 5, 5, identity=before)
    assert start(bootstrap, topic, {"t": stored}) == {(topic, 0): 5, (topic, 1): 5}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_topics([topic], operation_timeout=20).values():
        future.result(PATIENCE_S)
    recreate(bootstrap, topic, before)
    with pytest.raises(PositionLost, match=f"topic {topic} was deleted and made again since table t was written"):
        start(bootstrap, topic, {"t": stored})


def test_a_topic_made_again_while_it_is_read(bootstrap: str, topic: str) -> None:
    before = start_position.identity(bootstrap, [topic])
    admin = kafka_client.admin(bootstrap)
    start_position.check_topics(bootstrap, before.topic_ids)
    admin.delete_topics([topic], operation_timeout=20)[topic].result(20)
    with pytest.raises(ServiceUnavailable, match=f"is not there any more, and was not stored: topic {topic}"):
        eventually(lambda: start_position.check_topics(bootstrap, before.topic_ids))
    recreate(bootstrap, topic, before)
    with pytest.raises(PositionLost, match=f"topic {topic} was deleted and made again while it was read"):
        start_position.check_topics(bootstrap, before.topic_ids)


def test_a_transaction_that_is_open_below_the_position(bootstrap: str, topic: str) -> None:
    transactions = Transactions(bootstrap, topic)
    transactions.begin([b"1", b"2"])
    end = kafka_offsets.end_offsets(bootstrap, [topic])
    with pytest.raises(ServiceUnavailable, match=f"is open at offset 10 of {topic}-0, below offset 12, up to which"):
        start_position.check_stable(bootstrap, end)
    start_position.check_stable(bootstrap, end | {(topic, 0): 10})
    transactions.commit()
    eventually(lambda: kafka_offsets.end_offsets(bootstrap, [topic], committed=True)[topic, 0] > end[topic, 0])
    start_position.check_stable(bootstrap, end)


def recreate(bootstrap: str, topic: str, before: KafkaIdentity) -> None:
    """Make the topic again; its deletion takes a moment to reach the broker."""
    for _ in range(100):
        kafka_topics.ensure_topics(bootstrap, {topic: (2, {})})
        try:
            if kafka_topics.topic_ids(bootstrap, [topic]) != before.topic_ids:
                make(bootstrap, topic)
                return
        except NotFound:
            continue
    raise AssertionError(f"topic {topic} was not made again")


def test_a_table_that_knows_other_topics_too(bootstrap: str, topic: str) -> None:
    stored = Floor({("gone", 0): 99, (topic, 0): 1}, KafkaIdentity(kafka_client.cluster_id(bootstrap), {"gone": "id"}))
    assert start(bootstrap, topic, {"t": stored}) == {(topic, 0): 1, (topic, 1): 4}


def test_a_topic_that_is_gone_is_a_lost_position_when_a_table_has_records_of_it(bootstrap: str, topic: str) -> None:
    identity = KafkaIdentity(kafka_client.cluster_id(bootstrap), {"was-here": "AAAAAAAAAAAAAAAAAAAAAA"})
    floors = {"db.read": Floor({("was-here", 0): 3}, identity), "db.new": Floor()}
    with pytest.raises(PositionLost, match=r"topic was-here was deleted at .* is in table db\.read"):
        start_position.identity(bootstrap, [topic, "was-here"], floors)
    with pytest.raises(NotFound, match="never-there"):
        start_position.identity(bootstrap, [topic, "never-there"], floors)
