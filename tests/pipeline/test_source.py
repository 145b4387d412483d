from __future__ import annotations

import uuid
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import FETCH, Range, RangeReader
from frazil.clients.kafka.security import secured
from frazil.errors import PositionLost, ServiceUnavailable
from frazil.pipeline import source
from frazil.pipeline.source import Source, check_progress, dealt, divided, ranges_between
from frazil.stack.local import LocalStack
from tests.harness import produce
from tests.pipeline.letters.messages import message

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=12)


def ranges(lengths: list[int]) -> list[Range]:
    return [Range("t", partition, 7 * partition, 7 * partition + n) for partition, n in enumerate(lengths)]


def offsets(shares: list[list[Range]]) -> list[tuple[int, int]]:
    return [(one.partition, at) for share in shares for one in share for at in range(one.begin, one.end)]


class KeptReader:
    """A reader that gives a record for each range, and notes when it is closed."""

    closed: list[str] = []

    def __init__(self, consumer: dict[str, Any]) -> None:
        self._name = consumer["client.id"]

    def read(self, ranges: list[Range]) -> list[list[Any]]:
        return [[message(one.begin, topic=one.topic, headers=[("h", b"1")])] for one in ranges]

    def close(self) -> None:
        self.closed.append(self._name)


def test_readers_are_kept_for_the_next_tasks_and_the_one_that_was_used_first_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source, "RangeReader", KeptReader)
    monkeypatch.setattr(source, "_readers", {})
    monkeypatch.setattr(KeptReader, "closed", [])
    sources = [Source({"client.id": str(n)}, n == 0) for n in range(5)]
    for number in (0, 1, 2, 3, 0, 0, 4):
        [rows] = sources[number].read([Range("t", 0, 7, 9)])
        assert (rows.topic, rows.offsets.tolist()) == ("t", [7])
        assert rows.headers == ([(("h", b"1"),)] if number == 0 else None)
    assert KeptReader.closed == ["1"]


def test_what_lies_between_two_positions() -> None:
    begin, end = {("t", 0): 5, ("t", 1): 3}, {("t", 2): 4, ("t", 1): 3, ("t", 0): 9}
    assert ranges_between(begin, end) == [Range("t", 0, 5, 9), Range("t", 2, 0, 4)]


@given(LENGTHS, st.integers(1, 9))
def test_divided_ranges_are_even_and_whole(lengths: list[int], tasks: int) -> None:
    whole = ranges(lengths)
    shares = divided(whole, tasks)
    assert offsets(shares) == offsets([whole])
    counts = [sum(map(len, share)) for share in shares]
    assert len(counts) == min(tasks, sum(lengths))
    assert max(counts) - min(counts) <= 1


@given(LENGTHS, st.integers(1, 9))
def test_dealt_ranges_are_not_divided(lengths: list[int], tasks: int) -> None:
    whole = ranges(lengths)
    shares = dealt(whole, tasks)
    assert sorted((one for share in shares for one in share), key=lambda one: one.partition) == whole
    assert len(shares) == min(tasks, len(lengths))
    counts = [sum(map(len, share)) for share in shares]
    assert max(counts) - min(counts) <= max(lengths)


def test_nothing_is_divided_into_nothing() -> None:
    assert divided([], 3) == dealt([], 3) == []


def test_a_partition_that_ends_before_its_begin_was_made_again() -> None:
    check_progress({("t", 0): 5}, {("t", 0): 5, ("t", 1): 0})
    with pytest.raises(PositionLost, match="topic t, partition 0, was read up to offset 5, and ends at 4 now"):
        check_progress({("t", 0): 5}, {("t", 0): 4})
    with pytest.raises(ServiceUnavailable, match="partition 0 of topic t is gone"):
        check_progress({("t", 0): 5}, {})


def test_a_source_does_not_show_what_it_logs_in_with() -> None:
    assert "secret" not in repr(Source({"sasl.password": "secret"}, headers=True))


@pytest.mark.stack
def test_readers_are_kept_and_closed(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has threads and sockets, and there may be many connectors."""
    kept: dict[Any, RangeReader] = {}
    monkeypatch.setattr(source, "_readers", kept)
    bootstrap, topic = str(stack.settings.bootstrap_servers), f"kept-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})
    assert produce(bootstrap, topic, iter([b"x"]), 1) == 1
    me = psutil.Process()

    def read(count: int) -> int:
        for number in range(count):
            settings = {
                **FETCH,
                **secured(bootstrap, "consumer"),
                "group.id": "g",
                "client.id": f"c{number % 6}",
                "log_level": 0,
            }
            (rows,) = Source(settings, headers=False).read([Range(topic, 0, 0, 1)])
            assert rows.values == [b"x"]
        return me.num_threads()

    before = read(6)
    assert read(30) <= before + 6
    assert len(kept) == 4
    for reader in kept.values():
        reader.close()
