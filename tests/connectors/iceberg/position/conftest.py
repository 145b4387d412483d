"""Topics on the real broker."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from frazil.clients.kafka import topics as kafka_topics
from frazil.stack.local import LocalStack
from tests.waits import PATIENCE_S


@pytest.fixture
def bootstrap(stack: LocalStack) -> str:
    return stack.settings.bootstrap_servers


@pytest.fixture
def topic(bootstrap: str) -> str:
    """Two partitions of ten records each; the second begins at offset 4."""
    name = f"positions-{uuid.uuid4()}"
    make(bootstrap, name)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([TopicPartition(name, 1, 4)]).values():
        future.result(PATIENCE_S)
    return name


def make(bootstrap: str, name: str) -> None:
    kafka_topics.ensure_topics(bootstrap, {name: (2, {})})
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(2):
        for _ in range(10):
            producer.produce(name, b"x", partition=partition)
    assert producer.flush(20) == 0
