from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from frazil.clients.kafka.offsets import end_offsets
from frazil.clients.kafka.produce import RecordProducer
from frazil.clients.kafka.topics import ensure_topics
from frazil.environment.settings import LOOPBACK
from frazil.errors import NotFound, ServiceUnavailable, TerminalError
from frazil.minio.generators.generate import records
from frazil.stack.local import LocalStack
from frazil.stack.ports import unused
from tests.harness import produce

pytestmark = pytest.mark.stack


@pytest.fixture
def topic(stack: LocalStack, request: pytest.FixtureRequest) -> str:
    name = f"produce.{request.node.name}".replace("[", ".").replace("]", "")
    ensure_topics(stack.settings.bootstrap_servers, {name: (3, {"max.message.bytes": "16777216"})})
    return name


def stored(stack: LocalStack, topic: str) -> int:
    return sum(end_offsets(stack.settings.bootstrap_servers, [topic]).values())


def read(stack: LocalStack, topic: str, partitions: int = 3) -> Iterator[bytes]:
    consumer = Consumer({"bootstrap.servers": stack.settings.bootstrap_servers, "group.id": "t", "log_level": 0})
    try:
        for partition in range(partitions):
            end = end_offsets(stack.settings.bootstrap_servers, [topic])[(topic, partition)]
            consumer.assign([TopicPartition(topic, partition, 0)])
            for _ in range(end):
                message = consumer.poll(10)
                assert message is not None
                assert message.error() is None
                yield message.value() or b""
    finally:
        consumer.close()


def test_every_record_is_in_the_topic(stack: LocalStack, topic: str) -> None:
    made = list(records("api", 5000, seed=1, odd=0.1))
    progress: list[int] = []
    count = produce(stack.settings.bootstrap_servers, topic, iter(made), len(made), progress.append)
    assert count == progress[-1] == len(made)
    assert progress == sorted(progress)
    assert sorted(read(stack, topic)) == sorted(made)


def test_more_records_than_the_queue_holds(stack: LocalStack, topic: str) -> None:
    made = [os.urandom(200_000)] * 600  # 120 MB through a queue of 64 MiB
    assert produce(stack.settings.bootstrap_servers, topic, made, len(made)) == stored(stack, topic) == 600


def test_one_producer_for_several_sends(stack: LocalStack, topic: str) -> None:
    with RecordProducer(stack.settings.bootstrap_servers) as producer:
        assert producer.send(topic, [b"a", b"b"], 2) == 2
        assert producer.send(topic, [b"c"], 1) == producer.acknowledged == 1
        assert producer.send(topic, [], 0) == 0
    assert stored(stack, topic) == 3


def test_unknown_topic(stack: LocalStack) -> None:
    with pytest.raises(NotFound, match="topic `produce.missing` does not exist .* nothing was produced"):
        produce(stack.settings.bootstrap_servers, "produce.missing", [b"a"], 1)


def test_a_record_that_the_broker_refuses(stack: LocalStack) -> None:
    ensure_topics(stack.settings.bootstrap_servers, {"produce.small": (1, {"max.message.bytes": "1000"})})
    refused = pytest.raises(TerminalError, match=r"refused topic `produce.small`: .*; 1 of 2 records were acknowledged")
    with RecordProducer(stack.settings.bootstrap_servers) as producer, refused:
        producer.send("produce.small", one_by_one(producer, [b"small", os.urandom(5000)]), 2)
    assert stored(stack, "produce.small") == 1


def one_by_one(producer: RecordProducer, made: list[bytes]) -> Iterator[bytes]:
    """The next record only when the one before it has been acknowledged, so that they are not in one batch."""
    for n, record in enumerate(made):
        yield record
        while n == 0 and producer.acknowledged == 0:
            time.sleep(0.01)


def test_a_record_that_is_too_large_to_send(stack: LocalStack, topic: str) -> None:
    with pytest.raises(TerminalError, match="Message size too large; 0 of 1 records"):
        produce(stack.settings.bootstrap_servers, topic, [bytes(17_000_000)], 1)


def test_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.clients.kafka.produce._METADATA_TIMEOUT_S", 1.0)
    (port,) = unused(1)
    with pytest.raises(ServiceUnavailable, match=rf"127\.0\.0\.1:{port} does not answer .*Nothing was changed"):
        produce(f"{LOOPBACK}:{port}", "apilogs", [b"a"], 1)
