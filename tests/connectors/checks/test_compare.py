"""The part of a connector's topics that is compared, and the way through it."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer

from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.checks.compare import Limits, Part, Progress, compare
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.rows import Rows
from frazil.stack.local import LocalStack
from tests.connectors.samples import MINIMAL_SINK


def test_limits() -> None:
    begin, end = {("t", 0): 5, ("t", 1): 0}, {("t", 0): 20, ("t", 1): 3}
    assert Limits().cut(begin, end) == (begin, end)
    assert Limits(0, 2, 10).cut(begin, end) == ({("t", 0): 5}, {("t", 0): 10})
    assert Limits(None, 7, 9).cut(begin, end) == ({("t", 0): 7, ("t", 1): 7}, {("t", 0): 9, ("t", 1): 7})


class Collected:
    """Takes the records of a part, and finds one range."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.alive: list[int] = []
        self.dead: list[int] = []

    def take(self, rows: Rows) -> None:
        alive, dead = self.part.divided(rows)
        self.alive += alive.offsets.tolist()
        self.dead += dead.offsets.tolist()

    def finish(self, progress: Progress) -> list[RangeCheck]:
        progress("the store", 0, 0)
        [(topic, partition)] = self.part.end
        return [RangeCheck("store", topic, partition, 0, 0)]


class Compared:
    """A topic of five records, of which the second was aborted and the fourth is a dead letter, compared."""

    def __init__(self, bootstrap: str, limits: Limits, **overrides: str) -> None:
        topic = f"compare-{uuid.uuid4().hex[:8]}"
        kafka_topics.ensure_topics(bootstrap, {topic: (1, {}), f"{topic}-dlq": (1, {})})
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
        producer.init_transactions(20)
        for number in range(5):
            producer.begin_transaction()
            producer.produce(topic, b"%d" % number)
            if number == 1:
                producer.flush(20)
                producer.abort_transaction(20)
            else:
                producer.commit_transaction(20)
        DeadLetterQueue(bootstrap, topic, "c", None, True).write(
            [DeadLetter(topic, 0, 6, 0, None, b"3", (), "", "bad")]
        )
        keys = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
        config = iceberg_sink_config({**MINIMAL_SINK, **keys, **overrides, "name": topic, "topics": topic})
        self.told: list[tuple[str, int, int]] = []
        made: list[Collected] = []

        def check(part: Part) -> Collected:
            made.append(Collected(part))
            return made[0]

        [found] = compare(
            config,
            bootstrap,
            "c",
            limits,
            lambda *step: self.told.append(step),
            position=lambda first: {key: 8 for key in first} | {("other", 0): 5},
            check=check,
        )
        self.notes = found.notes
        [self.taken] = made


@pytest.mark.stack
def test_records_up_to_the_position_are_taken_with_what_has_a_dead_letter(stack: LocalStack) -> None:
    found = Compared(stack.settings.bootstrap_servers, Limits())
    assert (found.taken.alive, found.taken.dead) == ([0, 2, 4], [6])
    assert found.taken.part.everything
    assert found.told[-2:] == [("records", 4, 8), ("the store", 0, 0)]
    [note] = found.notes
    assert note.startswith("2 records of compare-")
    assert note.endswith("-0 are not stored yet, and were not compared")


@pytest.mark.stack
def test_a_connector_that_reads_committed_records_is_compared_with_these(stack: LocalStack) -> None:
    overrides = {"consumer.override.isolation.level": "read_committed"}
    found = Compared(stack.settings.bootstrap_servers, Limits(begin=1), **overrides)
    assert (found.taken.alive, found.taken.dead) == ([4], [6])
    assert not found.taken.part.everything


@pytest.mark.stack
def test_what_lies_behind_the_end_that_was_asked_for_is_no_news(stack: LocalStack) -> None:
    assert Compared(stack.settings.bootstrap_servers, Limits(end=3)).notes == []
