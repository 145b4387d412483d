from __future__ import annotations

import pytest

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import NotFound

pytestmark = pytest.mark.stack


def test_offsets(bootstrap: str, topic: str) -> None:
    assert kafka_offsets.begin_offsets(bootstrap, [topic]) == {(topic, 0): 0, (topic, 1): 0}
    assert kafka_offsets.end_offsets(bootstrap, [topic]) == {(topic, 0): 0, (topic, 1): 3}
    assert kafka_offsets.end_offsets(bootstrap, []) == {}


def test_unknown_topics(bootstrap: str) -> None:
    for call in (kafka_offsets.begin_offsets, kafka_offsets.end_offsets, kafka_topics.topic_ids):
        with pytest.raises(NotFound, match="topic nowhere does not exist at"):
            call(bootstrap, ["nowhere"])


def test_an_unknown_topic_is_told_with_the_name_near_it(bootstrap: str, topic: str) -> None:
    with pytest.raises(NotFound, match=f"topic x{topic} does not exist at .*; did you mean {topic}"):
        kafka_topics.topic_ids(bootstrap, [topic, f"x{topic}"])
