"""Position of a connector whose rows go to a topic: offsets of its consumer group, in the transactions of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import TopicPartition as KafkaPosition

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.positions import check_range
from frazil.connectors.sql.topic_config import TopicSinkConfig
from frazil.pipeline.offsets import Offsets


@dataclass(frozen=True)
class TopicPosition:
    """Next offsets of a connector, and when they were committed last, in epoch ms; 0 where that is not known."""

    offsets: Offsets
    committed_ms: int

    @classmethod
    def load(
        cls, config: TopicSinkConfig, bootstrap: str, topics: Sequence[str], start: Offsets | None = None
    ) -> TopicPosition:
        """Take what the group has committed, and `start` where it has nothing.

        Raises PositionLost, NotFound or ServiceUnavailable.
        """
        begin, end = kafka_offsets.begin_offsets(bootstrap, topics), kafka_offsets.end_offsets(bootstrap, topics)
        known = kafka_groups.group_offsets(bootstrap, config.group_id, begin)
        texts = kafka_groups.group_metadata(bootstrap, config.group_id, begin).values()
        read_before = {topic for topic, _ in known}
        found: Offsets = {}
        for key in begin:
            first = begin if config.auto_offset_reset == "earliest" or key[0] in read_before else end
            found[key] = known.get(key, (start or first)[key])
            check_range(key, found[key], begin[key], end[key], f"consumer group {config.group_id}")
        times = [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 16]
        return cls(found, max(times, default=0))


def committing(offsets: Offsets, now_ms: int) -> list[KafkaPosition]:
    """Give offsets as a transaction takes them, with the time beside them."""
    return [KafkaPosition(topic, number, at, str(now_ms)) for (topic, number), at in offsets.items()]
