from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.peek import newest_records
from frazil.clients.kafka.ranges import stored_records
from frazil.errors import NotFound
from frazil.stack.local import LocalStack
from tests.waits import eventually

pytestmark = pytest.mark.stack


@pytest.fixture
def topic(stack: LocalStack) -> str:
    """Two partitions; the first has two records, an aborted one, a third record, and ends with a transaction's mark."""
    bootstrap, name = stack.settings.bootstrap_servers, f"stored-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {name: (2, {})})
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(20)
    for values, commit in (([b"0", b"1"], True), ([b"aborted"], False), ([b"2"], True)):
        producer.begin_transaction()
        for value in values:
            producer.produce(name, value, partition=0)
        producer.flush(20)
        (producer.commit_transaction if commit else producer.abort_transaction)(20)
    return name


def test_a_partition_that_ends_with_the_mark_of_a_transaction(stack: LocalStack, topic: str) -> None:
    bootstrap = stack.settings.bootstrap_servers
    ends = {(topic, 0): 7, (topic, 1): 0}
    eventually(lambda: kafka_offsets.end_offsets(bootstrap, [topic]) == ends)  # the mark comes after the commit
    found = list(stored_records(bootstrap, {(topic, 0): 1, (topic, 1): 0}))
    assert [(record.value(), record.offset()) for record in found] == [(b"1", 1), (b"2", 5)]
    assert [record.value() for record in newest_records(bootstrap, [topic], 2)] == [b"2"]
    assert list(stored_records(bootstrap, {(topic, 0): 7})) == []


def test_a_missing_topic_is_not_found(stack: LocalStack) -> None:
    with pytest.raises(NotFound):
        list(stored_records(stack.settings.bootstrap_servers, {("no-such-topic", 0): 0}))
