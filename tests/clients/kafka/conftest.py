from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer

from frazil.clients.kafka import topics as kafka_topics
from frazil.stack.local import LocalStack


@pytest.fixture
def bootstrap(stack: LocalStack) -> str:
    return stack.settings.bootstrap_servers


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A topic with two partitions and three records in the second."""
    name = f"topic-{uuid.uuid4()}"
    kafka_topics.ensure_topics(bootstrap, {name: (2, {})})
    producer = Producer({"bootstrap.servers": bootstrap})
    for _ in range(3):
        producer.produce(name, b"x", partition=1)
    assert producer.flush(20) == 0
    return name
