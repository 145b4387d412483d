from __future__ import annotations

import base64
import uuid

import pytest
from confluent_kafka.admin import AdminClient

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import TerminalError
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.stack


def test_topics_are_made_once(bootstrap: str) -> None:
    old, new = f"old-{uuid.uuid4()}", f"new-{uuid.uuid4()}"
    assert kafka_topics.ensure_topics(bootstrap, {old: (3, {"retention.ms": "1000"})}) == {old: True}
    assert kafka_topics.ensure_topics(bootstrap, {old: (5, {}), new: (1, {})}) == {old: False, new: True}
    assert len(kafka_offsets.end_offsets(bootstrap, [old])) == 3
    assert kafka_topics.ensure_topics(bootstrap, {}) == {}


@pytest.mark.parametrize(
    ("name", "config", "reason"),
    [("a b", {}, "TOPIC_EXCEPTION"), ("fine", {"no.such": "1"}, "INVALID_CONFIG: Unknown topic config name: no.such")],
)
def test_a_topic_that_the_broker_refuses(bootstrap: str, name: str, config: dict[str, str], reason: str) -> None:
    with pytest.raises(TerminalError, match=f"refuses topic {name}: {reason}"):
        kafka_topics.ensure_topics(bootstrap, {name: (1, config)})


def test_a_topic_made_again_has_another_id(bootstrap: str, topic: str) -> None:
    first = kafka_topics.topic_ids(bootstrap, [topic])
    assert kafka_topics.topic_ids(bootstrap, [topic]) == first
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.delete_topics([topic])[topic].result(PATIENCE_S)
    eventually(lambda: kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})[topic])
    second = kafka_topics.topic_ids(bootstrap, [topic])
    assert second != first
    assert len(base64.urlsafe_b64decode(second[topic] + "==")) == 16
