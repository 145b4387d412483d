from __future__ import annotations

import logging
import uuid
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from frazil.clients import kafka
from frazil.clients.headers import headers_of
from frazil.stack.local import LocalStack


class Unreadable:
    """What confluent-kafka does with a name that is not UTF-8: an error first, then a list with a hole."""

    def __init__(self) -> None:
        self.replaced: list[Any] | None = None

    def headers(self) -> list[Any]:
        if self.replaced is None:
            raise SystemError("returned a result with an exception set")
        return self.replaced

    def set_headers(self, headers: list[Any]) -> None:
        self.replaced = headers

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 7


def test_a_name_that_is_not_utf_8(caplog: pytest.LogCaptureFixture) -> None:
    message = cast(Message, Unreadable())
    with caplog.at_level(logging.WARNING):
        assert headers_of(message) == headers_of(message) == ()
    assert [record.getMessage() for record in caplog.records] == [
        "t-3, offset 7: the name of a header is not UTF-8; the record is taken without its headers"
    ]


@pytest.mark.stack
def test_headers_are_those_that_were_sent(stack: LocalStack) -> None:
    bootstrap, topic = str(stack.settings.bootstrap_servers), f"headers-{uuid.uuid4().hex[:8]}"
    kafka.ensure_topics(bootstrap, {topic: (1, {})})
    sent: list[Any] = [[("a", b"\xff\x00"), ("é", None), ("a", b"")], []]
    producer = Producer({"bootstrap.servers": bootstrap})
    for headers in sent:
        producer.produce(topic, b"x", headers=headers)
    assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "x", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = [headers_of(message) for message in consumer.consume(2, 20)]
    consumer.close()
    assert found == [tuple(headers) for headers in sent]
