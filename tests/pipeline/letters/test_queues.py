from __future__ import annotations

import pytest

from frazil.errors import NotFound
from frazil.pipeline.letters.queues import chosen_topics, queue_topics, topics_of

TOPICS = ["apilogs", "apilogs-dlq", "dead", "errorlogs", "other"]
CONNECTORS = [
    {"topics": "errorlogs, other", "errors.deadletterqueue.topic.name": "dead"},
    {"topics": "apilogs"},
    {"topics": "gone", "errors.deadletterqueue.topic.name": "gone-too"},
]


def test_queues_are_named_by_connectors_or_by_their_suffix() -> None:
    assert queue_topics(TOPICS, CONNECTORS) == ["apilogs-dlq", "dead"]
    assert queue_topics(TOPICS, []) == ["apilogs-dlq"]
    assert chosen_topics([], TOPICS, CONNECTORS) == ["apilogs-dlq", "dead"]


def test_a_wanted_topic_is_taken_when_it_may_be_one() -> None:
    assert chosen_topics(["dead", "dead"], TOPICS, []) == ["dead"]
    with pytest.raises(NotFound, match=r"no topic nope. Dead-letter topics here: apilogs-dlq, dead\."):
        chosen_topics(["nope"], TOPICS, CONNECTORS)
    for source in ("other", "apilogs"):
        with pytest.raises(NotFound, match=f"topic {source} holds records, not dead letters"):
            chosen_topics([source], TOPICS, CONNECTORS)


def test_a_connector_has_its_dead_letters_in_few_topics() -> None:
    topics = [*TOPICS, "other-dlq"]
    assert topics_of({"topics": "apilogs, errorlogs"}, topics) == ["apilogs-dlq"]
    assert topics_of(CONNECTORS[0], topics) == ["dead"]
    assert topics_of(CONNECTORS[2], topics) == []
    for anything in ({"topics.regex": "o.*"}, {"topics": "${env:TOPIC}"}):
        assert topics_of(anything, topics) == ["apilogs-dlq", "other-dlq"]
    assert chosen_topics([], topics, CONNECTORS, {"topics": "other"}) == ["other-dlq"]
    assert chosen_topics(["dead"], topics, CONNECTORS, {"topics": "other"}) == ["dead"]
