from __future__ import annotations

import base64
import socket
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from frazil.clients.kafka import admin as kafka
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import NotFound, ServiceUnavailable, TerminalError
from frazil.stack.kafka import kafka_service
from frazil.stack.local import LocalStack
from frazil.stack.ports import unused
from tests.isolation import isolated_settings

pytestmark = pytest.mark.stack


@pytest.fixture
def bootstrap(stack: LocalStack) -> str:
    return stack.settings.bootstrap_servers


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A topic with two partitions and three records in the second."""
    name = f"topic-{uuid.uuid4()}"
    kafka.ensure_topics(bootstrap, {name: (2, {})})
    producer = Producer({"bootstrap.servers": bootstrap})
    for _ in range(3):
        producer.produce(name, b"x", partition=1)
    assert producer.flush(20) == 0
    return name


def test_cluster_id_is_a_uuid(bootstrap: str) -> None:
    assert len(base64.urlsafe_b64decode(kafka.cluster_id(bootstrap) + "==")) == 16


def test_topics_are_made_once(bootstrap: str) -> None:
    old, new = f"old-{uuid.uuid4()}", f"new-{uuid.uuid4()}"
    assert kafka.ensure_topics(bootstrap, {old: (3, {"retention.ms": "1000"})}) == {old: True}
    assert kafka.ensure_topics(bootstrap, {old: (5, {}), new: (1, {})}) == {old: False, new: True}
    assert len(kafka.end_offsets(bootstrap, [old])) == 3
    assert kafka.ensure_topics(bootstrap, {}) == {}


@pytest.mark.parametrize(
    ("name", "config", "reason"),
    [("a b", {}, "TOPIC_EXCEPTION"), ("fine", {"no.such": "1"}, "INVALID_CONFIG: Unknown topic config name: no.such")],
)
def test_a_topic_that_the_broker_refuses(bootstrap: str, name: str, config: dict[str, str], reason: str) -> None:
    with pytest.raises(TerminalError, match=f"refuses topic {name}: {reason}"):
        kafka.ensure_topics(bootstrap, {name: (1, config)})


def test_a_topic_made_again_has_another_id(bootstrap: str, topic: str) -> None:
    first = kafka.topic_ids(bootstrap, [topic])
    assert kafka.topic_ids(bootstrap, [topic]) == first
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.delete_topics([topic])[topic].result(20)
    deadline = time.monotonic() + 10
    while kafka.ensure_topics(bootstrap, {topic: (1, {})}) == {topic: False} and time.monotonic() < deadline:
        time.sleep(0.1)
    second = kafka.topic_ids(bootstrap, [topic])
    assert second != first
    assert len(base64.urlsafe_b64decode(second[topic] + "==")) == 16


def test_offsets(bootstrap: str, topic: str) -> None:
    assert kafka.begin_offsets(bootstrap, [topic]) == {(topic, 0): 0, (topic, 1): 0}
    assert kafka.end_offsets(bootstrap, [topic]) == {(topic, 0): 0, (topic, 1): 3}
    assert kafka.end_offsets(bootstrap, []) == {}


def test_unknown_topics(bootstrap: str) -> None:
    for call in (kafka.begin_offsets, kafka.end_offsets, kafka.topic_ids):
        with pytest.raises(NotFound, match="topic nowhere does not exist at"):
            call(bootstrap, ["nowhere"])


def test_group_offsets_come_back(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    both = [(topic, 0), (topic, 1)]
    assert kafka.group_offsets(bootstrap, group, both) == {}
    kafka.set_group_offsets(bootstrap, group, {(topic, 1): 2})
    assert kafka.group_offsets(bootstrap, group, both) == {(topic, 1): 2}
    kafka.set_group_offsets(bootstrap, group, {(topic, 0): 0, (topic, 1): 3})
    assert kafka.group_offsets(bootstrap, group, both) == {(topic, 0): 0, (topic, 1): 3}
    kafka.set_group_offsets(bootstrap, group, {})
    assert kafka.group_offsets(bootstrap, group, []) == {}


def test_a_group_with_members_is_not_changed(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    member = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    try:
        member.subscribe([topic])
        assert member.poll(20) is not None
        with pytest.raises(TerminalError, match=f"refuses consumer group {group}"):
            kafka.set_group_offsets(bootstrap, group, {(topic, 1): 1})
        assert kafka.group_offsets(bootstrap, group, [(topic, 1)]) == {}
    finally:
        member.close()


def test_group_offsets_of_a_new_cluster(tmp_path: Path) -> None:
    """The first call elects the coordinator, and must not crash the process while it does."""
    settings = isolated_settings(tmp_path / "home")
    service = kafka_service(settings)
    try:
        service.start(lambda text: None)
        kafka.ensure_topics(settings.bootstrap_servers, {"a": (1, {})})
        assert kafka.group_offsets(settings.bootstrap_servers, "g", [("a", 0)]) == {}
    finally:
        service.stop()


def test_a_silent_broker_is_told_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _check_bounded(f"127.0.0.1:{silent.getsockname()[1]}", monkeypatch)


def _check_bounded(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "TIMEOUT_S", 1.0)
    for call in (
        lambda: kafka.cluster_id(bootstrap, timeout=1),
        lambda: kafka.ensure_topics(bootstrap, {"a": (1, {})}),
        lambda: kafka.end_offsets(bootstrap, ["a"]),
        lambda: kafka.group_offsets(bootstrap, "g", [("a", 0)]),
        lambda: kafka.set_group_offsets(bootstrap, "g", {("a", 0): 1}),
        lambda: kafka.forget_group_offsets(bootstrap, "g"),
    ):
        begin = time.monotonic()
        with pytest.raises(ServiceUnavailable, match=f"Kafka at {bootstrap} does not answer .*start kafka"):
            call()
        assert time.monotonic() - begin < 15


def test_all_offsets_of_a_group(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    assert kafka.all_group_offsets(bootstrap, group) == {}
    kafka.set_group_offsets(bootstrap, group, {(topic, 1): 2})
    assert kafka.all_group_offsets(bootstrap, group) == {(topic, 1): 2}


def test_offsets_of_a_group_are_forgotten(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    kafka.forget_group_offsets(bootstrap, group)
    kafka.set_group_offsets(bootstrap, group, {(topic, 0): 1, (topic, 1): 2})
    kafka.forget_group_offsets(bootstrap, group, [("elsewhere", 0)])
    assert kafka.all_group_offsets(bootstrap, group) == {(topic, 0): 1, (topic, 1): 2}
    kafka.forget_group_offsets(bootstrap, group, [(topic, 1), ("elsewhere", 0)])
    assert kafka.all_group_offsets(bootstrap, group) == {(topic, 0): 1}
    for _ in range(2):
        kafka.forget_group_offsets(bootstrap, group)
        assert kafka.all_group_offsets(bootstrap, group) == {}


def test_offsets_of_a_group_with_members_are_kept(bootstrap: str, topic: str) -> None:
    group = f"group-{uuid.uuid4()}"
    kafka.set_group_offsets(bootstrap, group, {(topic, 1): 0})
    member = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        member.subscribe([topic])
        assert member.poll(20) is not None
        with pytest.raises(TerminalError, match=f"refuses consumer group {group}: NON_EMPTY_GROUP"):
            kafka.forget_group_offsets(bootstrap, group)
    finally:
        member.close()
    assert (topic, 1) in kafka.all_group_offsets(bootstrap, group)


def test_a_protocol_that_a_connector_overrides_is_named_as_a_cause() -> None:
    cluster = Bootstrap.of(f"127.0.0.1:{unused(1)[0]}", {"security.protocol": "SASL_SSL"})
    with pytest.raises(ServiceUnavailable, match="then try again.$"):
        kafka.require_listener(cluster.overridden({"consumer.override.client.id": "c"}))
    with pytest.raises(
        ServiceUnavailable, match="do not speak the protocol of consumer.override.security.protocol=SSL"
    ):
        kafka.require_listener(cluster.overridden({"consumer.override.security.protocol": "SSL"}))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_of_loopback_that_nobody_listens_on_is_told_at_once(host: str) -> None:
    (port,) = unused(1)
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable, match=f"Kafka at {host}:{port} does not answer .nothing listens there"):
        kafka.ensure_topics(f"{host}:{port}", {"t": (1, {})})
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("bootstrap", ["kafka.example:9092", "127.0.0.1:9,kafka.example:9092", "nonsense"])
def test_other_addresses_are_left_to_the_client(bootstrap: str) -> None:
    kafka.require_listener(bootstrap)
