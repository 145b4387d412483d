from __future__ import annotations

from itertools import islice

import pytest

from frazil.clients.kafka.offsets import begin_offsets
from frazil.clients.kafka.peek import coming_records, first_records, newest_starts, shares
from frazil.clients.kafka.produce import Outgoing, RecordProducer
from frazil.clients.kafka.topics import ensure_topics
from frazil.stack.local import LocalStack


def test_shares_fill_what_short_partitions_lack() -> None:
    a, b, c = ("t", 0), ("t", 1), ("t", 2)
    assert shares({a: 100, b: 1, c: 0}, 10) == {a: 9, b: 1}
    assert shares({a: 3, b: 3}, 100) == {a: 3, b: 3}
    assert sum(shares({a: 100, b: 100, c: 100}, 10).values()) == 10
    assert shares({}, 5) == {}


@pytest.mark.stack
def test_records_are_read_by_time_from_a_place_and_as_they_come(stack: LocalStack) -> None:
    servers, topic = stack.settings.bootstrap_servers, "peek.times"
    ensure_topics(servers, {topic: (2, {"retention.ms": "-1"})})
    with RecordProducer(servers) as producer:
        producer.send(topic, [Outgoing(b"%d" % n, partition=n % 2, timestamp=1000 * n + 1) for n in range(20)], 20)
        starts = newest_starts(servers, [topic], 4)
        assert [r.value() for r in first_records(servers, topic, starts, 4)] == [b"16", b"17", b"18", b"19"]
        begin = begin_offsets(servers, [topic])
        assert [r.value() for r in first_records(servers, topic, begin, 3)] == [b"0", b"1", b"2"]
        only = newest_starts(servers, [topic], 2, 1)
        coming = coming_records(servers, topic, only)
        assert [r.value() for r in next(coming)] == [b"17", b"19"]
        producer.send(topic, [Outgoing(b"other", partition=0), Outgoing(b"20", partition=1)], 2)
        assert [r.value() for part in islice(coming, 1) for r in part] == [b"20"]
