"""Positions of an object sink: its consumer group is the truth about its progress.

A position is committed when all objects of the records below it are durable. The names of objects follow from the
records, so those that are stored again after a crash are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.objects.clock import Clock, Tick
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.known_topics import KnownTopics
from frazil.connectors.objects.metadata import Metadata, read_metadata
from frazil.connectors.positions import check_range
from frazil.errors import NotFound, PositionLost
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.source import made_again


@dataclass
class Positions:
    """Next offsets and clocks of the partitions of a connector, and their copy in the consumer group."""

    config: ObjectSinkConfig
    bootstrap: str
    known: KnownTopics
    offsets: Offsets = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)
    """Offsets behind the last records when the positions were loaded."""
    clocks: dict[TopicPartition, Clock] = field(default_factory=dict)
    _cluster: str = ""
    _topics: dict[str, str] = field(default_factory=dict)
    _stored: dict[TopicPartition, tuple[int, tuple[Tick, ...]]] = field(default_factory=dict)
    since_ms: int = 0
    """Time when the oldest position was stored, in epoch milliseconds: records above it were read later than that."""

    def load(
        self, topics: Sequence[str], of_table: Callable[[Sequence[TopicPartition]], Offsets] | None = None
    ) -> None:
        """Take the positions of all partitions of the topics; those of a table win over the group's.

        Raises PositionLost for one that is not in its topic any more, NotFound, ConfigError or ServiceUnavailable.
        """
        self._cluster = kafka_client.cluster_id(self.bootstrap)
        self._topics = self._identified(topics, self.known.load())
        begin, end = (
            kafka_offsets.begin_offsets(self.bootstrap, topics),
            kafka_offsets.end_offsets(self.bootstrap, topics),
        )
        self.ends = end
        group = self.config.group_id
        known = kafka_groups.group_offsets(self.bootstrap, group, begin)
        if of_table is not None:
            known |= of_table(list(begin))
        texts = kafka_groups.group_metadata(self.bootstrap, group, known)
        read_before = {topic for topic, _ in known}
        self.since_ms = min((read_metadata(text).at for text in texts.values()), default=0)
        for key in begin:
            found = read_metadata(texts.get(key, ""))
            first = begin if self.config.auto_offset_reset == "earliest" or key[0] in read_before else end
            self._check(key, found)
            offset = known.get(key, first[key])
            check_range(key, offset, begin[key], end[key], f"consumer group {group}")
            self.offsets[key] = offset
            clock = Clock.of(self.config, found.ticks)
            if clock is not None:
                self.clocks[key] = clock
        self.remember({topic for (topic, _), offset in self.offsets.items() if offset})
        self.store()

    def _identified(self, topics: Sequence[str], stored: Mapping[str, str]) -> dict[str, str]:
        """Ids of the topics, which are those that objects are stored of."""
        try:
            now = kafka_topics.topic_ids(self.bootstrap, topics)
        except NotFound:
            missing = set(topics) - set(kafka_topics.topics(self.bootstrap))
            for topic in sorted(missing & stored.keys()):
                raise PositionLost(f"topic {topic} was deleted at {self.bootstrap}. {self._advice()}") from None
            raise
        self._check_topics(stored, now)
        return now

    def remember(self, topics: Collection[str]) -> None:
        """See to it that a later start knows which topics the objects are of.

        Raises ConfigError or ServiceUnavailable.
        """
        self.known.remember({topic: self._topics[topic] for topic in topics})

    def confirm(self, topics: Collection[str]) -> None:
        """Confirm that the records just read are of the topics as at the start; raise PositionLost otherwise.

        Raises ServiceUnavailable for a topic that is gone: the next start says what has become of it.
        """
        for topic in made_again(self.bootstrap, {topic: self._topics[topic] for topic in topics}):
            raise self._lost(topic)

    def _check(self, key: TopicPartition, found: Metadata) -> None:
        topic = key[0]
        if found.cluster and found.cluster != self._cluster:
            raise PositionLost(
                f"consumer group {self.config.group_id} has positions of Kafka cluster {found.cluster}, but this is "
                f"{self._cluster}. Nothing was read. Give the connector a new name to read from the beginning."
            )
        if found.topic:
            self._check_topics({topic: found.topic}, self._topics)

    def _check_topics(self, stored: Mapping[str, str], now: Mapping[str, str]) -> None:
        for topic, id_ in now.items():
            if stored.get(topic, id_) != id_:
                raise self._lost(topic)

    def _lost(self, topic: str) -> PositionLost:
        return PositionLost(
            f"topic {topic} was deleted and made again since connector {self.config.name} began to read it: the old "
            "offset means nothing now, and stored objects have the names that objects of the new topic would get. "
            f"{self._advice()}"
        )

    def _advice(self) -> str:
        reset = "" if self.config.delta is not None else ", or move its objects away and reset its position"
        return (
            "The position has not moved. To read the topic that has the name now, give the connector a new name and "
            f"another topics.dir{reset}."
        )

    def store(self) -> None:
        """Commit what differs from the copy; raises ServiceUnavailable or TerminalError, and then it is as it was."""
        now_ms = round(time.time() * 1000)
        changed: Offsets = {}
        texts: dict[TopicPartition, str] = {}
        ticks: dict[TopicPartition, tuple[Tick, ...]] = {}
        for key, offset in self.offsets.items():
            ticks[key] = tuple(self.clocks[key].ticks) if key in self.clocks else ()
            if self._stored.get(key) != (offset, ticks[key]):
                changed[key] = offset
                topic = self._topics.get(key[0], "")
                texts[key] = Metadata(cluster=self._cluster, topic=topic, at=now_ms, ticks=ticks[key]).text()
        kafka_groups.set_group_offsets(self.bootstrap, self.config.group_id, changed, texts)
        self._stored |= {key: (offset, ticks[key]) for key, offset in changed.items()}

    def move(self, reached: Mapping[TopicPartition, int]) -> None:
        """Go on to new positions, and commit them."""
        for key, offset in reached.items():
            self.offsets[key] = offset
            if key in self.clocks:
                self.clocks[key].forget(offset)
        self.store()
