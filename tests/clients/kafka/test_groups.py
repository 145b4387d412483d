from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import TerminalError
from frazil.stack.kafka import kafka_service
from tests.isolation import isolated_settings

pytestmark = pytest.mark.stack


def test_group_offsets_come_back(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    both = [(topic, 0), (topic, 1)]
    assert kafka_groups.group_offsets(bootstrap, group, both) == {}
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, 1): 2})
    assert kafka_groups.group_offsets(bootstrap, group, both) == {(topic, 1): 2}
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, 0): 0, (topic, 1): 3})
    assert kafka_groups.group_offsets(bootstrap, group, both) == {(topic, 0): 0, (topic, 1): 3}
    kafka_groups.set_group_offsets(bootstrap, group, {})
    assert kafka_groups.group_offsets(bootstrap, group, []) == {}


def test_a_group_with_members_is_not_changed(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    member = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    try:
        member.subscribe([topic])
        assert member.poll(20) is not None
        with pytest.raises(TerminalError, match=f"refuses consumer group {group}"):
            kafka_groups.set_group_offsets(bootstrap, group, {(topic, 1): 1})
        assert kafka_groups.group_offsets(bootstrap, group, [(topic, 1)]) == {}
    finally:
        member.close()


def test_group_offsets_of_a_new_cluster(tmp_path: Path) -> None:
    """The first call elects the coordinator, and must not crash the process while it does."""
    settings = isolated_settings(tmp_path / "home")
    service = kafka_service(settings)
    try:
        service.start(lambda text: None)
        kafka_topics.ensure_topics(settings.bootstrap_servers, {"a": (1, {})})
        assert kafka_groups.group_offsets(settings.bootstrap_servers, "g", [("a", 0)]) == {}
    finally:
        service.stop()


def test_all_offsets_of_a_group(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    assert kafka_groups.all_group_offsets(bootstrap, group) == {}
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, 1): 2})
    assert kafka_groups.all_group_offsets(bootstrap, group) == {(topic, 1): 2}


def test_offsets_of_a_group_are_forgotten(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    kafka_groups.forget_group_offsets(bootstrap, group)
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, 0): 1, (topic, 1): 2})
    kafka_groups.forget_group_offsets(bootstrap, group, [("elsewhere", 0)])
    assert kafka_groups.all_group_offsets(bootstrap, group) == {(topic, 0): 1, (topic, 1): 2}
    kafka_groups.forget_group_offsets(bootstrap, group, [(topic, 1), ("elsewhere", 0)])
    assert kafka_groups.all_group_offsets(bootstrap, group) == {(topic, 0): 1}
    for _ in range(2):
        kafka_groups.forget_group_offsets(bootstrap, group)
        assert kafka_groups.all_group_offsets(bootstrap, group) == {}


def test_offsets_of_a_group_with_members_are_kept(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    kafka_groups.set_group_offsets(bootstrap, group, {(topic, 1): 0})
    member = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        member.subscribe([topic])
        assert member.poll(20) is not None
        with pytest.raises(TerminalError, match=f"refuses consumer group {group}: NON_EMPTY_GROUP"):
            kafka_groups.forget_group_offsets(bootstrap, group)
    finally:
        member.close()
    assert (topic, 1) in kafka_groups.all_group_offsets(bootstrap, group)
