from __future__ import annotations

import ctypes
import uuid
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.headers import all_headers, headers_of
from frazil.stack.local import LocalStack


def test_headers_of_many_messages_are_those_of_each() -> None:
    sent: list[Any] = [None, [], [("a", b"1"), ("a", None)]]
    messages = [Message(headers=headers) for headers in sent]
    assert all_headers(messages) == [headers_of(message) for message in messages] == [(), (), tuple(sent[2])]
    assert all_headers([]) == []


@pytest.mark.stack
def test_headers_are_those_that_were_sent(stack: LocalStack) -> None:
    bootstrap, topic = str(stack.settings.bootstrap_servers), f"headers-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})
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


def produce_raw(bootstrap: str, topic: str, records: list[list[tuple[bytes, bytes]]]) -> None:
    """Records with headers whose names are any bytes, which confluent-kafka does not send."""
    (path,) = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs").glob("librdkafka*")
    library = ctypes.CDLL(str(path))
    for function in (library.rd_kafka_conf_new, library.rd_kafka_new, library.rd_kafka_headers_new):
        function.restype = ctypes.c_void_p
    pointer, integer, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    reason = ctypes.create_string_buffer(512)
    config = pointer(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(config, b"bootstrap.servers", bootstrap.encode(), reason, 512)
    producer = pointer(library.rd_kafka_new(0, config, reason, 512))
    topic_tag, value_tag, flags_tag, headers_tag, copy = 1, 4, 7, 10, 2
    for headers in records:
        made = pointer(library.rd_kafka_headers_new(size(4)))
        for name, value in headers:
            library.rd_kafka_header_add(made, name, size(len(name)), value, size(len(value)))
        sent = [
            integer(topic_tag),
            topic.encode(),
            integer(value_tag),
            b"x",
            size(1),
            integer(flags_tag),
            integer(copy),
        ]
        assert library.rd_kafka_producev(producer, *sent, integer(headers_tag), made, integer(0)) == 0
    assert library.rd_kafka_flush(producer, 20_000) == 0
    library.rd_kafka_destroy(producer)


@pytest.mark.stack
def test_a_name_that_is_not_utf_8_among_many_others(stack: LocalStack, caplog: pytest.LogCaptureFixture) -> None:
    bootstrap, topic = str(stack.settings.bootstrap_servers), f"headers-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})
    plain = [(b"a", b"1")]
    produce_raw(bootstrap, topic, [*[plain] * 200, [(b"a", b"1"), (b"\xff\xfe", b"v"), (b"z", b"2")], *[plain] * 99])
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "x", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = consumer.consume(300, 20)
    consumer.close()
    found = all_headers(messages)
    assert found == [headers_of(message) for message in messages]
    assert found == [(("a", b"1"),)] * 200 + [()] + [(("a", b"1"),)] * 99
    assert [record.getMessage() for record in caplog.records] == [
        f"{topic}-0, offset 200: the name of a header is not UTF-8; the record is taken without its headers"
    ]
