from __future__ import annotations

import uuid

import pytest

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.peek import newest_records
from frazil.errors import NotFound, ServiceUnavailable
from frazil.stack.local import LocalStack
from tests.harness import send
from tests.waits import PATIENCE_S

pytestmark = pytest.mark.stack


@pytest.fixture
def topic(stack: LocalStack) -> str:
    name = f"newest-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(stack.settings.bootstrap_servers, {name: (3, {})})
    return name


def test_the_newest_of_all_partitions_alike_come_without_a_group(stack: LocalStack, topic: str) -> None:
    bootstrap = stack.settings.bootstrap_servers
    for partition, count in enumerate((10, 2, 0)):
        send(bootstrap, topic, [b"%d-%d" % (partition, n) for n in range(count)], partition=partition)
    values = [record.value() for record in newest_records(bootstrap, [topic], 6)]
    assert values == [b"0-6", b"0-7", b"0-8", b"0-9", b"1-0", b"1-1"]
    assert len(newest_records(bootstrap, [topic], 100)) == 12
    assert len(newest_records(bootstrap, [topic], 1)) == 1
    assert "frazil-sample" not in _groups(bootstrap)


def test_an_empty_topic_has_none(stack: LocalStack, topic: str) -> None:
    assert newest_records(stack.settings.bootstrap_servers, [topic], 5) == []


def test_a_missing_topic_is_not_found(stack: LocalStack) -> None:
    with pytest.raises(NotFound):
        newest_records(stack.settings.bootstrap_servers, ["no-such-topic"], 5)


def test_a_broker_that_is_away_is_told() -> None:
    with pytest.raises(ServiceUnavailable):
        newest_records("127.0.0.1:9", ["t"], 5)


def _groups(bootstrap: str) -> list[str]:
    admin = kafka_client.admin(bootstrap)  # without its client the call is never answered
    return [group.group_id for group in admin.list_consumer_groups().result(PATIENCE_S).valid]
