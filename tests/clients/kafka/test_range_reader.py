"""What tasks read is what the broker has between two offsets, whatever is behind, before and between."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka import Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import ranges
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.peek import newest_records
from frazil.clients.kafka.ranges import CHUNK, FETCH, Range, RangeReader
from frazil.clients.kafka.security import secured
from frazil.errors import ConfigError, PositionLost, ServiceUnavailable
from tests.waits import PATIENCE_S

pytestmark = pytest.mark.stack


@pytest.fixture
def reader(bootstrap: str) -> Iterator[RangeReader]:
    made = RangeReader({**FETCH, **secured(bootstrap, "consumer"), "group.id": "tests"})
    yield made
    made.close()


def filled(bootstrap: str, counts: Mapping[int, int], *, size: int = 1, flushed: bool = False) -> str:
    """A topic with so many records in each of its partitions; the value of a record begins with its offset."""
    name = f"ranges-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {name: (max(counts) + 1, {"max.message.bytes": "20000000"})})
    add(bootstrap, name, counts, size=size, flushed=flushed)
    return name


def add(bootstrap: str, name: str, counts: Mapping[int, int], *, size: int = 1, flushed: bool = False) -> None:
    """Records that were `flushed` are batches of their own."""
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "lz4", "message.max.bytes": 20_000_000})
    for partition, count in counts.items():
        for offset in range(count):
            producer.produce(name, str(offset).ljust(size).encode(), partition=partition)
            producer.poll(0)
            if flushed:
                producer.flush(30)
    assert producer.flush(30) == 0


def places(chunks: list[list[Message]]) -> list[tuple[int | None, list[int | None]]]:
    return [(chunk[0].partition(), [message.offset() for message in chunk]) for chunk in chunks]


def test_small_ranges_are_read_at_once_and_come_one_after_the_other(bootstrap: str, reader: RangeReader) -> None:
    topic = filled(bootstrap, dict.fromkeys(range(40), 5))
    wanted = [Range(topic, partition, 1, 4) for partition in range(40)]
    found = list(reader.read([*wanted, Range(topic, 0, 4, 5), Range(topic, 0, 2, 2)]))
    assert places(found) == [*((partition, [1, 2, 3]) for partition in range(40)), (0, [4])]
    assert [message.value() for message in found[7]] == [b"1", b"2", b"3"]


def test_a_long_range_comes_in_chunks_and_ends_where_it_should(bootstrap: str, reader: RangeReader) -> None:
    topic = filled(bootstrap, {0: 3 * CHUNK})
    for _ in range(2):  # the second time with what the first has left behind
        found = list(reader.read([Range(topic, 0, 7, 2 * CHUNK + 3), Range(topic, 0, 0, CHUNK + 1)]))
        offsets = [message.offset() for chunk in found for message in chunk]
        assert offsets == [*range(7, 2 * CHUNK + 3), *range(CHUNK + 1)]
        assert max(map(len, found)) <= CHUNK


@pytest.mark.parametrize("flushed", [True, False])
def test_chunks_of_large_records_are_short(bootstrap: str, reader: RangeReader, flushed: bool) -> None:
    topic = filled(bootstrap, {0: 24}, size=4_000_000, flushed=flushed)
    for _ in range(2):
        found = list(reader.read([Range(topic, 0, 0, 24)]))
        assert [message.offset() for chunk in found for message in chunk] == list(range(24))
        assert max(sum(map(len, chunk)) for chunk in found) <= 32 << 20


def test_records_may_become_large_and_small_again(bootstrap: str, reader: RangeReader) -> None:
    topic = filled(bootstrap, {0: CHUNK})
    add(bootstrap, topic, {0: 24}, size=4_000_000, flushed=True)
    add(bootstrap, topic, {0: 3 * CHUNK})
    end = 4 * CHUNK + 24
    found = list(reader.read([Range(topic, 0, 0, end), Range(topic, 0, 5, 7)]))
    assert [message.offset() for chunk in found for message in chunk] == [*range(end), 5, 6]
    assert max(map(len, found)) <= CHUNK
    assert CHUNK in map(len, found[-3:])


def test_a_record_that_is_larger_than_a_fetch(bootstrap: str, reader: RangeReader) -> None:
    topic = filled(bootstrap, {0: 3}, size=5_000_000)
    found = [message for chunk in reader.read([Range(topic, 0, 0, 3)]) for message in chunk]
    assert [len(message.value() or b"") for message in found] == [5_000_000] * 3


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(("isolation", "stored"), [("read_committed", [0]), ("read_uncommitted", [0, 2])])
def test_ranges_that_end_in_what_transactions_leave(
    bootstrap: str, isolation: str, stored: list[int], alone: bool
) -> None:
    """Offsets: 0 record, 1 mark, 2 record of an aborted transaction, 3 mark; nothing else ever comes."""
    topic = f"ranges-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (2, {})})
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "transaction.timeout.ms": 900_000})
    producer.init_transactions(20)
    for finish in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(topic, b"x", partition=partition)
        producer.flush(20)
        finish(20)
    reader = RangeReader({**FETCH, **secured(bootstrap, "consumer"), "group.id": "tests", "isolation.level": isolation})
    for end in (1, 2, 3, 4):
        here = [offset for offset in stored if offset < end]
        others = [] if alone else [Range(topic, 1, 1, end)] if end > 1 else []
        found = places(list(reader.read([Range(topic, 0, 0, end), *others])))
        assert found == [(0, here), *([(1, [2])] if others and 2 in here else [])]
    reader.close()


def test_large_records_of_several_partitions_are_not_held_all_at_once(bootstrap: str, reader: RangeReader) -> None:
    topic = filled(bootstrap, dict.fromkeys(range(4), 4), size=5_000_000)
    found = []
    for chunk in reader.read([Range(topic, partition, 0, 4) for partition in range(4)]):
        assert sum(len(message) for message in chunk) <= 32_000_000
        found += [(message.partition(), message.offset()) for message in chunk]
    assert found == [(partition, offset) for partition in range(4) for offset in range(4)]


def test_what_is_stored_while_a_transaction_is_open(bootstrap: str) -> None:
    topic = f"ranges-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "transaction.timeout.ms": 900_000})
    producer.init_transactions(20)
    for value in (b"stored", b"open"):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(20)
        if value == b"stored":
            producer.commit_transaction(20)
    assert kafka_offsets.end_offsets(bootstrap, [topic]) == {(topic, 0): 3}
    assert kafka_offsets.end_offsets(bootstrap, [topic], committed=True) == {(topic, 0): 2}
    assert [message.value() for message in ranges.stored_records(bootstrap, {(topic, 0): 0})] == [b"stored"]
    assert [message.value() for message in newest_records(bootstrap, [topic], 9)] == [b"stored"]
    producer.abort_transaction(20)


@pytest.mark.parametrize("alone", [True, False])
def test_records_that_are_gone_are_told(bootstrap: str, reader: RangeReader, alone: bool) -> None:
    topic = filled(bootstrap, {0: 10, 1: 10})
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, 5)]).values():
        future.result(PATIENCE_S)
    others = [] if alone else [Range(topic, 1, 0, 10)]
    with pytest.raises(PositionLost, match=rf"topic {topic}, partition 0, offset 2: .*What was read before is stored"):
        list(reader.read([Range(topic, 0, 2, 10), *others]))
    assert places(list(reader.read([Range(topic, 0, 5, 10)]))) == [(0, [5, 6, 7, 8, 9])]


def test_a_broker_that_sends_nothing_is_told(
    bootstrap: str, reader: RangeReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end is behind that of the partition, as after the loss of a leader."""
    monkeypatch.setattr(ranges, "_STALLED_S", 1.0)
    topic = filled(bootstrap, {0: 3})
    found = reader.read([Range(topic, 0, 0, 9)])
    assert places([next(found)]) == [(0, [0, 1, 2])]
    with pytest.raises(ServiceUnavailable, match="has sent nothing for 1 s; nothing of what was being read is stored"):
        next(found)


class Deaf:
    """A consumer that gets nothing, as one that knows a topic from before it was deleted and made anew."""

    def __init__(self) -> None:
        self.closed = False

    def assign(self, partitions: list[TopicPartition]) -> None:
        pass

    def consume(self, count: int, timeout: float) -> list[Message]:
        return []

    def close(self) -> None:
        self.closed = True


def test_a_used_consumer_that_hears_nothing_is_replaced(
    bootstrap: str, reader: RangeReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "_RENEW_S", 0.2)
    topic = filled(bootstrap, {0: 3})
    for _ in range(2):
        assert places(list(reader.read([Range(topic, 0, 0, 3)]))) == [(0, [0, 1, 2])]
    deaf = Deaf()
    vars(reader)["_consumer"] = deaf
    assert places(list(reader.read([Range(topic, 0, 1, 3)]))) == [(0, [1, 2])]
    assert deaf.closed


def test_who_stops_early_leaves_nothing_behind(bootstrap: str, reader: RangeReader) -> None:
    topic = filled(bootstrap, {0: 2 * CHUNK, 1: 3})
    found = reader.read([Range(topic, 0, 0, 2 * CHUNK)])
    next(found)
    found.close()
    assert places(list(reader.read([Range(topic, 1, 0, 3)]))) == [(1, [0, 1, 2])]


@pytest.mark.parametrize(("key", "value"), [("fetch.wait.max.ms", "soon"), ("max.partition.fetch.bytes", "0")])
def test_a_configuration_that_is_none(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=r"fetch\..*Correct the keys consumer\.override\.\*"):
        RangeReader({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", key: value})
