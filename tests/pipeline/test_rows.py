from __future__ import annotations

import uuid

import numpy as np
import pytest
from confluent_kafka import Producer

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import read_ranges
from frazil.pipeline.rows import by_partition, rows_of
from frazil.stack.local import LocalStack
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.letters.messages import message

ROWS = [Row(offset, b"v%d" % offset, offset + 100, b"k%d" % offset, (("h", None),)) for offset in (3, 5, 9)]


@pytest.mark.parametrize("indexes", [[], [1], [0, 2], [0, 1, 2]])
def test_some_of_the_rows(indexes: list[int]) -> None:
    rows = chunk(ROWS)
    mask = np.isin(np.arange(3), indexes)
    for some in (rows.take(indexes), rows.where(mask)):
        assert len(some) == len(indexes)
        assert some.offsets.tolist() == [ROWS[i].offset for i in indexes]
        assert some.stamps.tolist() == [ROWS[i].stamp for i in indexes]
        assert list(some.values) == [ROWS[i].value for i in indexes]
        assert list(some.keys) == [ROWS[i].key for i in indexes]
        assert some.headers == [ROWS[i].headers for i in indexes]
        assert (some.topic, some.partition) == ("t", 0)
    assert chunk(ROWS, headers=False).where(mask).headers is None


@pytest.mark.stack
def test_rows_are_what_kafka_has(stack: LocalStack) -> None:
    bootstrap, topic = str(stack.settings.bootstrap_servers), f"rows-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (2, {"retention.ms": "-1"})})
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, b"a", key=b"k", headers=[("h", b"\xff")], partition=1, timestamp=1_684_408_953_123)
    producer.produce(topic, None, partition=1, timestamp=1)
    producer.produce(topic, b"b", partition=0, timestamp=2)
    assert producer.flush(20) == 0
    messages = [
        message
        for part in read_ranges(bootstrap, {(topic, 0): 0, (topic, 1): 0}, {(topic, 0): 1, (topic, 1): 2})
        for message in part
    ]
    first, second = by_partition(messages)
    assert (first.topic, first.partition, list(first.values), first.stamps.tolist()) == (topic, 0, [b"b"], [2])
    assert (second.topic, second.partition, second.offsets.tolist()) == (topic, 1, [0, 1])
    assert (list(second.values), list(second.keys)) == ([b"a", None], [b"k", None])
    assert second.stamps.tolist() == [1_684_408_953_123, 1]
    assert second.headers == [(("h", b"\xff"),), ()]
    assert rows_of(messages[:1], headers=False).headers is None


def test_messages_that_follow_each_other_and_are_of_one_partition_are_a_chunk() -> None:
    messages = [message(n, partition=partition) for n, partition in enumerate([0, 0, 1, 0])]
    found = [(rows.partition, rows.offsets.tolist()) for rows in by_partition(messages)]
    assert found == [(0, [0, 1]), (1, [2]), (0, [3])]
