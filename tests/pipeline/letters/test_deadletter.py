from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import ConfigError, ServiceUnavailable
from frazil.pipeline.bookings import dead_letter
from frazil.pipeline.convert.strict import ConversionError, parse_object
from frazil.pipeline.letters import deadletter
from frazil.pipeline.letters.deadletter import PREFIX, RECORD_TIME, SEAL, DeadLetter, DeadLetterQueue
from frazil.pipeline.letters.letter import read_letter
from frazil.stack.local import LocalStack
from tests.pipeline.kafka_rows import Row, chunk

CONNECTOR_CLASS = "org.apache.iceberg.connect.IcebergSinkConnector"
SECOND = 1000

Headers = list[tuple[str, str | bytes | None]]


def letter(
    topic: str = "t", offset: int = 5, *, path: str = "callInfo.rx", value: bytes | None = b"\xff{"
) -> DeadLetter:
    headers = (("trace", b"\x00\x01"), ("trace", None), (PREFIX + "topic", b"older"))
    return DeadLetter(
        topic, 2, offset, 1_684_408_953_000, b"key\xff", value, headers, path, "the number has a fraction"
    )


def test_a_letter_reads_as_where_and_why() -> None:
    assert str(letter()) == "topic t, partition 2, offset 5, column callInfo.rx: the number has a fraction"
    assert str(letter(path="")) == "topic t, partition 2, offset 5: the number has a fraction"
    assert letter().coordinates == ("t", 2, 5)


def test_a_letter_knows_where_its_record_failed() -> None:
    queue = DeadLetterQueue("b:9092", "c", CONNECTOR_CLASS, None, True)
    origin = ("TRANSFORMATION", "org.apache.kafka.connect.transforms.Cast$Value")

    assert queue.origin(letter()) == ("TASK_PUT", CONNECTOR_CLASS)
    assert queue.origin(letter(path="")) == ("TASK_PUT", CONNECTOR_CLASS)
    assert queue.origin(replace(letter(path=""), origin=origin)) == origin


def test_each_topic_has_its_own_queue_unless_one_is_named() -> None:
    assert DeadLetterQueue("b:9092", "c", CONNECTOR_CLASS, None, True).topic_for("apilogs") == "apilogs-dlq"
    assert DeadLetterQueue("b:9092", "c", CONNECTOR_CLASS, "dead", True).topic_for("apilogs") == "dead"


class TestBroker:
    pytestmark = pytest.mark.stack

    @pytest.fixture
    def bootstrap(self, stack: LocalStack) -> str:
        return stack.settings.bootstrap_servers

    @pytest.fixture
    def source(self, bootstrap: str) -> str:
        """Name of a topic whose dead-letter topic exists."""
        name = f"source-{uuid.uuid4()}"
        kafka_topics.ensure_topics(bootstrap, {f"{name}-dlq": (3, {"max.message.bytes": str(32 << 20)})})
        return name

    def queue(self, bootstrap: str, connector: str = "sink-1", *, context_headers: bool = True) -> DeadLetterQueue:
        return DeadLetterQueue(bootstrap, connector, CONNECTOR_CLASS, None, context_headers)

    def read(self, bootstrap: str, topic: str) -> list[Message]:
        ends = kafka_offsets.end_offsets(bootstrap, [topic])
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "fetch.message.max.bytes": 32 << 20})
        try:
            consumer.assign([TopicPartition(topic, partition, 0) for _, partition in ends])
            found: list[Message] = []
            while len(found) < sum(ends.values()):
                message = consumer.poll(20)
                assert message is not None
                assert message.error() is None
                found.append(message)
            return found
        finally:
            consumer.close()

    def test_a_dead_letter_is_the_record_with_connects_headers(self, bootstrap: str, source: str) -> None:
        self.queue(bootstrap).write([letter(source)])
        (message,) = self.read(bootstrap, f"{source}-dlq")
        assert (message.key(), message.value()) == (b"key\xff", b"\xff{")
        headers: Headers = list(message.headers() or [])  # type: ignore[arg-type]
        assert headers[:3] == [("trace", b"\x00\x01"), ("trace", None), (PREFIX + "topic", b"older")]
        text = f"topic {source}, partition 2, offset 5, column callInfo.rx: the number has a fraction"
        exception = "org.apache.kafka.connect.errors.DataException"
        assert dict(headers[3:]) == {
            PREFIX + "topic": source.encode(),
            PREFIX + "partition": b"2",
            PREFIX + "offset": b"5",
            PREFIX + "connector.name": b"sink-1",
            PREFIX + "task.id": b"0",
            PREFIX + "stage": b"TASK_PUT",
            PREFIX + "class.name": CONNECTOR_CLASS.encode(),
            PREFIX + "exception.class.name": exception.encode(),
            PREFIX + "exception.message": text.encode(),
            PREFIX + "exception.stacktrace": f"{exception}: {text}".encode(),
            RECORD_TIME: b"1684408953000",
            SEAL: dict(headers)[SEAL],
        }

    def test_a_record_that_is_no_json_failed_in_the_converter(self, bootstrap: str, source: str) -> None:
        with pytest.raises(ConversionError) as raised:
            parse_object(b"no JSON")
        refused = chunk([Row(5, b"no JSON", topic=source)])
        self.queue(bootstrap).write([dead_letter(refused, 0, raised.value)])
        (message,) = self.read(bootstrap, f"{source}-dlq")
        headers = dict(message.headers() or [])
        assert headers[PREFIX + "stage"] == b"VALUE_CONVERTER"
        assert headers[PREFIX + "class.name"] == b"org.apache.kafka.connect.json.JsonConverter"

    def test_without_context_headers_the_same_is_told_in_headers_of_our_own(self, bootstrap: str, source: str) -> None:
        queue = self.queue(bootstrap, context_headers=False)
        queue.write([letter(source), letter(source, value=None), letter(source, value=b"")])
        messages = self.read(bootstrap, f"{source}-dlq")
        assert sorted(map(repr, (m.value() for m in messages))) == ["None", "b''", r"b'\xff{'"]
        for message in messages:
            headers: Headers = list(message.headers() or [])  # type: ignore[arg-type]
            assert headers[:3] == list(letter().headers)
            assert not any(name.startswith(PREFIX) for name, _ in headers[3:])
            found = read_letter(message)
            assert found is not None
            assert (found.connector, found.record) == ("sink-1", (source, 2, 5))
        assert queue.written([source]).keys() == {(source, 2, 5, "")}

    def test_a_large_record(self, bootstrap: str, source: str) -> None:
        value = bytes(range(256)) * 40_000
        self.queue(bootstrap).write([letter(source, value=value)])
        (message,) = self.read(bootstrap, f"{source}-dlq")
        assert message.value() == value

    def test_what_was_written_is_found(self, bootstrap: str, source: str) -> None:
        queue = self.queue(bootstrap)
        assert self.found(queue, source) == set()
        queue.write([letter(source, offset) for offset in range(2500)])
        queue.write([letter(source, 2500)])
        self.queue(bootstrap, "sink-2").write([letter(source, 9999)])
        now = int(time.time() * SECOND)
        expected = {(source, 2, offset, "") for offset in range(2501)}
        assert set(queue.written([source, "no-such-topic"])) == expected
        assert self.found(queue, source, since_ms=now) == expected
        assert self.found(queue, source, begin=2499) == {(source, 2, 2499, ""), (source, 2, 2500, "")}
        assert self.found(self.queue(bootstrap, "sink-2"), source) == {(source, 2, 9999, "")}
        _, ends = queue.written_for([source], {}, {}, 0)
        assert (sum(ends.values()), self.found(queue, source, marks=ends)) == (2502, set())

    def found(self, queue: DeadLetterQueue, source: str, begin: int = 0, marks: Any = None, since_ms: int = 0) -> Any:
        return set(queue.written_for([source], {(source, 2): begin}, marks or {}, since_ms)[0])

    def test_only_what_was_written_since_is_read(self, bootstrap: str, source: str) -> None:
        """The margin is for clocks that differ; what is older has been committed and cannot be read again."""
        queue = self.queue(bootstrap)
        producer = Producer({"bootstrap.servers": bootstrap})
        now = int(time.time() * SECOND)
        for offset, age_s in ((1, 7200), (2, 60), (3, 0)):
            one = letter(source, offset)
            headers: Headers = [*queue.context(one)]
            moment = now - age_s * SECOND
            producer.produce(f"{source}-dlq", one.value, one.key, partition=0, headers=headers, timestamp=moment)
        assert producer.flush(20) == 0
        assert self.found(queue, source, since_ms=now) == {(source, 2, 2, ""), (source, 2, 3, "")}
        assert self.found(queue, source, since_ms=now + 7200 * SECOND) == set()

    def test_messages_of_others_are_passed_over(self, bootstrap: str, source: str) -> None:
        producer = Producer({"bootstrap.servers": bootstrap})
        mine = (PREFIX + "connector.name", b"sink-1")
        strange: list[Headers] = [
            [],
            [mine],
            [mine, (PREFIX + "offset", b"1")],
            [mine, (PREFIX + "offset", b"x"), (PREFIX + "partition", b"0")],
            [mine, (PREFIX + "offset", b"1"), (PREFIX + "partition", b"\xff")],
            [mine, (PREFIX + "offset", None), (PREFIX + "partition", None)],
        ]
        for headers in strange:
            producer.produce(f"{source}-dlq", b"x", headers=headers)
        assert producer.flush(20) == 0
        self.queue(bootstrap).write([letter(source)])
        assert self.found(self.queue(bootstrap), source) == {(source, 2, 5, "")}
        assert set(self.queue(bootstrap).written([source])) == {(source, 2, 5, "")}

    def test_a_topic_that_refuses_the_size_is_named(self, bootstrap: str) -> None:
        source = f"source-{uuid.uuid4()}"
        kafka_topics.ensure_topics(bootstrap, {f"{source}-dlq": (1, {"max.message.bytes": "10000"})})
        with pytest.raises(
            ConfigError, match=r"too large for its topic .* nothing was committed. Raise max.message.bytes"
        ):
            self.queue(bootstrap).write([letter(source), letter(source, value=b"x" * 20_000)])

    def test_a_topic_that_does_not_exist(self, bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deadletter, "_FLUSH_S", 5.0)
        with pytest.raises(
            ServiceUnavailable, match="1 of 1 dead letters were not acknowledged .* nothing was committed"
        ):
            self.queue(bootstrap).write([letter(f"none-{uuid.uuid4()}")])


@pytest.mark.parametrize("count", [1, 110_000], ids=["one", "more than the queue holds"])
def test_a_broker_that_is_gone_is_told(
    free_ports: Callable[[int], list[int]], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(deadletter, "_FLUSH_S", 3.0)
    (port,) = free_ports(1)
    queue = DeadLetterQueue(f"127.0.0.1:{port}", "c", CONNECTOR_CLASS, None, False)
    with pytest.raises(
        ServiceUnavailable, match=f"of {count} dead letters were not acknowledged .*nothing was committed"
    ):
        queue.write([letter()] * count)


def test_a_broker_that_is_gone_cannot_be_searched(free_ports: Callable[[int], list[int]]) -> None:
    (port,) = free_ports(1)
    queue = DeadLetterQueue(f"127.0.0.1:{port}", "c", CONNECTOR_CLASS, None, True)
    with pytest.raises(ServiceUnavailable, match="the dead letters of c cannot be read"):
        queue.written_for(["t"], {}, {}, 0)
