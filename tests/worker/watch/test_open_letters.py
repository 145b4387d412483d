"""Open dead letters, counted for pages."""

from __future__ import annotations

import pytest

from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import ServiceUnavailable
from frazil.pipeline.letters import count as letter_count
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.letters.log import LetterLog
from frazil.pipeline.letters.ranges import Ranges
from frazil.worker.watch import open_letters
from frazil.worker.watch.open_letters import OpenLetters
from tests.connectors.broker import BOOTSTRAP, Broker


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> OpenLetters:
    Broker().install(monkeypatch)
    monkeypatch.setattr(open_letters, "_FRESH_S", 0.0)
    for topic in ("t-dlq", "bad-ones"):
        kafka_topics.ensure_topics(BOOTSTRAP, {topic: (1, {})})
    write("t-dlq", "orders", 3)
    write("bad-ones", "users", 1)
    return OpenLetters(BOOTSTRAP, lambda: [{"errors.deadletterqueue.topic.name": "bad-ones"}])


def write(topic: str, connector: str, count: int) -> None:
    queue = DeadLetterQueue(BOOTSTRAP, connector, "Sink", topic, True)
    queue.write([DeadLetter("t", 0, n, 0, None, b"{}", (), "a", "bad") for n in range(count)])


def test_those_that_are_closed_count_no_more(letters: OpenLetters) -> None:
    assert letters.known() == {"orders": 3, "users": 1}
    log = LetterLog(BOOTSTRAP)
    log.close(log.look(["t-dlq"]), {("t-dlq", 0): Ranges([(0, 1)])}, "dropped")
    assert letters.known() == {"orders": 1, "users": 1}


def test_they_are_read_again_only_when_a_topic_has_other_messages(
    letters: OpenLetters, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = letters.known()
    monkeypatch.setattr(open_letters, "count_open", lambda *asked: pytest.fail("they are read"))
    assert letters.known() == known


def test_so_many_that_counting_takes_long_are_not_known(letters: OpenLetters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter_count, "_MOST", 2)
    assert letters.known() is None


def test_they_are_not_known_while_kafka_does_not_answer(letters: OpenLetters, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(bootstrap: str) -> list[str]:
        raise ServiceUnavailable("Kafka does not answer")

    assert letters.known()
    monkeypatch.setattr(kafka_topics, "topics", silent)
    assert letters.known() is None
