from __future__ import annotations

import base64
import socket
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable
from frazil.stack.ports import unused


@pytest.mark.stack
def test_cluster_id_is_a_uuid(bootstrap: str) -> None:
    assert len(base64.urlsafe_b64decode(kafka_client.cluster_id(bootstrap) + "==")) == 16


def test_a_silent_broker_is_told_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _check_bounded(f"127.0.0.1:{silent.getsockname()[1]}", monkeypatch)


def _check_bounded(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (kafka_client, kafka_topics, kafka_offsets, kafka_groups):
        monkeypatch.setattr(module, "TIMEOUT_S", 1.0)
    for call in (
        lambda: kafka_client.cluster_id(bootstrap, timeout=1),
        lambda: kafka_topics.ensure_topics(bootstrap, {"a": (1, {})}),
        lambda: kafka_offsets.end_offsets(bootstrap, ["a"]),
        lambda: kafka_groups.group_offsets(bootstrap, "g", [("a", 0)]),
        lambda: kafka_groups.set_group_offsets(bootstrap, "g", {("a", 0): 1}),
        lambda: kafka_groups.forget_group_offsets(bootstrap, "g"),
    ):
        with pytest.raises(
            ServiceUnavailable, match=f"Kafka at {bootstrap} does not answer .*correct KAFKA_BOOTSTRAP_S"
        ):
            call()


def test_a_protocol_that_a_connector_overrides_is_named_as_a_cause() -> None:
    cluster = Bootstrap.of(f"127.0.0.1:{unused(1)[0]}", {"security.protocol": "SASL_SSL"})
    with pytest.raises(ServiceUnavailable, match="then try again.$"):
        kafka_client.require_listener(cluster.overridden({"consumer.override.client.id": "c"}))
    with pytest.raises(
        ServiceUnavailable, match="do not speak the protocol of consumer.override.security.protocol=SSL"
    ):
        kafka_client.require_listener(cluster.overridden({"consumer.override.security.protocol": "SSL"}))


def test_only_the_broker_of_the_home_is_to_be_started(tmp_path: Path) -> None:
    (port,) = unused(1)
    own = Settings({"FRAZIL_HOME": str(tmp_path), "KAFKA_EXTERNAL_PORT": str(port)}).bootstrap_servers
    others = Settings({"KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{port}"}).bootstrap_servers
    for cluster, told in ((own, "Start it: `start kafka`"), (others, "Look whether its brokers run")):
        with pytest.raises(ServiceUnavailable, match=told):
            kafka_client.require_listener(cluster.overridden({}))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_of_loopback_that_nobody_listens_on_is_told_at_once(host: str) -> None:
    (port,) = unused(1)
    with pytest.raises(ServiceUnavailable, match=f"Kafka at {host}:{port} does not answer .nothing listens there"):
        kafka_topics.ensure_topics(f"{host}:{port}", {"t": (1, {})})


@pytest.mark.parametrize("bootstrap", ["kafka.example:9092", "127.0.0.1:9,kafka.example:9092", "nonsense"])
def test_other_addresses_are_left_to_the_client(bootstrap: str) -> None:
    kafka_client.require_listener(bootstrap)


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
    ],
)
def test_what_a_cluster_answers_while_it_elects_a_leader_is_asked_again(code: int) -> None:
    answers = iter([kafka_client.translated(KafkaException(KafkaError(code)), "b:1", "topic t")])

    @kafka_client.until_settled
    def ask() -> str:
        for error in answers:
            raise error
        return "settled"

    assert ask() == "settled"
