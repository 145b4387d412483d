"""Positions of an object sink: kept as an object beside those that it stores, with a copy in its consumer group.

A position is stored when all objects of the records below it are durable. The names of objects follow from the
records, so those that are stored again after a crash are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.backfill import Span
from frazil.connectors.objects.clock import Clock, Tick
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.stored_positions import Place, State, StoredPositions, by_topic, of_partitions
from frazil.connectors.positions import check_range
from frazil.errors import NotFound, PositionLost
from frazil.pipeline.letters.marks import Marks
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.source import made_again

_ALONE, _COPY = 1, 2


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """`cluster` and `topic` are Kafka's ids of them: with others the offset would mean something else.

    `frazil` is 2 for a copy of a stored position, 1 for one that an earlier release kept in the group alone, with
    `ticks`, and 0 for one of another program.
    """

    frazil: int = 0
    cluster: str = ""
    topic: str = ""
    ticks: tuple[Tick, ...] = ()

    @property
    def is_copy(self) -> bool:
        """Whether the position is stored beside the objects too."""
        return self.frazil == _COPY


_decode = msgspec.json.Decoder(Metadata).decode


def copy_metadata(cluster: str, topic: str) -> str:
    """Text that stands beside the copy of a position, for `read_metadata`."""
    return msgspec.json.encode({"frazil": _COPY, "cluster": cluster, "topic": topic}).decode()


def read_metadata(text: str) -> Metadata:
    """Read a position's metadata; it is empty, and no copy, when another program stored it."""
    try:
        found = _decode(text) if text else Metadata()
    except msgspec.MsgspecError:
        return Metadata()
    return found if found.frazil in (_ALONE, _COPY) else Metadata()


@dataclass
class Committed:
    """Positions of a consumer group, and what stands beside each of them."""

    offsets: Offsets
    metadata: dict[TopicPartition, Metadata]

    @classmethod
    def of(cls, bootstrap: str, group: str, partitions: Collection[TopicPartition]) -> Committed:
        """Ask the group. Raises ServiceUnavailable."""
        offsets = kafka_groups.group_offsets(bootstrap, group, partitions)
        texts = kafka_groups.group_metadata(bootstrap, group, offsets)
        return cls(offsets, {key: read_metadata(texts.get(key, "")) for key in offsets})

    def over(self, state: State) -> dict[TopicPartition, Place]:
        """The positions that count. What is no copy of a stored one was put there on purpose, by another program."""
        places = {key: Place(self.offsets[key], found.ticks) for key, found in self.metadata.items()}
        copies = {key for key, found in self.metadata.items() if found.is_copy}
        return places | {key: place for key, place in of_partitions(state.positions).items() if self._lets(key, copies)}

    def _lets(self, key: TopicPartition, copies: Collection[TopicPartition]) -> bool:
        return key in copies or key not in self.offsets


@dataclass
class Positions:
    """Next offsets and clocks of the partitions of a connector, as they are and as they are stored."""

    config: ObjectSinkConfig
    bootstrap: str
    stored: StoredPositions
    offsets: Offsets = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)
    """Offsets behind the last records when the positions were loaded."""
    clocks: dict[TopicPartition, Clock] = field(default_factory=dict)
    letters: Marks = field(default_factory=dict)
    """Marks in dead-letter topics: letters of records above the positions are there or above. They are stored before
    any letter is written, so that without them there is none."""
    _cluster: str = ""
    _topics: dict[str, str] = field(default_factory=dict)
    _state: State = field(default_factory=State)
    _copied: Offsets = field(default_factory=dict)

    def load(
        self,
        topics: Sequence[str],
        of_table: Callable[[Sequence[TopicPartition]], Offsets] | None = None,
        span: Span | None = None,
    ) -> None:
        """Take over the positions of all partitions of the topics; those of a table win over others. Without any they
        begin where the span does.

        Raises PositionLost for one that is not in its topic any more, or that nobody knows any more; NotFound, Fenced,
        ConfigError or ServiceUnavailable.
        """
        state = self._state = self.stored.load()
        self._cluster = kafka_client.cluster_id(self.bootstrap)
        self._check_cluster(state.cluster, f"object {self.stored.name}")
        self._topics = self._identified(topics, state.topics)
        begin = kafka_offsets.begin_offsets(self.bootstrap, topics)
        end = self.ends = kafka_offsets.end_offsets(self.bootstrap, topics)
        group = self.config.group_id
        committed = Committed.of(self.bootstrap, group, begin)
        known = committed.over(state)
        in_table = {} if of_table is None else of_table(list(begin))
        read_before = {topic for topic, _ in (*known, *in_table)}
        self._check_known(state, read_before)
        self._copied = {key: at for key, at in committed.offsets.items() if committed.metadata[key].is_copy}
        for key in begin:
            self._check(key, committed.metadata.get(key, Metadata()))
            first = begin if self.config.auto_offset_reset == "earliest" or key[0] in read_before else end
            since = first[key] if span is None else span.begin.get(key, end[key])
            place = known.get(key, Place(since))
            offset = in_table.get(key, place.offset)
            check_range(key, offset, begin[key], end[key], self._holder(key, in_table, committed))
            self.offsets[key] = offset
            clock = Clock.of(self.config, place.ticks)
            if clock is not None:
                self.clocks[key] = clock
        self.letters = of_partitions(state.letters)
        if span is not None:
            self._state = replace(state, since=by_topic(span.begin))
        self.remember({topic for (topic, _), offset in self.offsets.items() if offset})
        self.store()

    def _holder(self, key: TopicPartition, in_table: Offsets, committed: Committed) -> str:
        if key in in_table:
            return "the table"
        own = committed.metadata.get(key)
        return f"consumer group {self.config.group_id}" if own and not own.is_copy else f"object {self.stored.name}"

    def _check_known(self, state: State, known: Set[str]) -> None:
        """Raise PositionLost for a topic that objects are stored of, and whose position is nowhere."""
        lost = sorted((self._topics.keys() & state.topics.keys()) - known - state.positions.keys())
        if lost:
            name = self.config.name
            raise PositionLost(
                f"connector {name} has read topic {' and '.join(lost)}, and its consumer group {self.config.group_id} "
                "has no position any more: Kafka forgets those of groups without members, after 7 days by default. "
                "Nothing was read. Stop the connector, then set the offsets to go on from (PATCH "
                f"/connectors/{name}/offsets, or: frazil offsets set {name} {lost[0]}:0=…), or have the topics read "
                f"again (DELETE /connectors/{name}/offsets, or: frazil offsets reset {name}), and resume it."
            )

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
        """Have a later start know which topics the objects are of, from the next `store` on."""
        ids = {**self._state.topics, **{topic: self._topics[topic] for topic in topics}}
        self._state = replace(self._state, topics=ids)

    def begin(self, topics: Collection[str]) -> None:
        """Store what a run over records of the topics depends on. Raises as `store` does."""
        self.remember(topics)
        self.store()
        self.check()

    def check(self) -> None:
        """Raise Fenced when another worker goes on from the stored positions; what is stored by then would not count.

        Raises ConfigError or ServiceUnavailable.
        """
        self.stored.check()

    def confirm(self, topics: Collection[str]) -> None:
        """Confirm that the records just read are of the topics as at the start; raise PositionLost otherwise.

        Raises ServiceUnavailable for a topic that is gone: the next start says what has become of it.
        """
        for topic in made_again(self.bootstrap, {topic: self._topics[topic] for topic in topics}):
            raise self._lost(topic)

    def _check(self, key: TopicPartition, found: Metadata) -> None:
        self._check_cluster(found.cluster, f"consumer group {self.config.group_id}")
        if found.topic:
            self._check_topics({key[0]: found.topic}, self._topics)

    def _check_cluster(self, stored: str, holder: str) -> None:
        if stored and stored != self._cluster:
            raise PositionLost(
                f"{holder} has positions of Kafka cluster {stored}, but this is "
                f"{self._cluster}. Nothing was read. Give the connector a new name to read from the beginning."
            )

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
        """Store what has changed, then its copy. Raises Fenced when another worker goes on from there meanwhile.

        Raises ServiceUnavailable, ConfigError or TerminalError; a stored position is one of records that are durable.
        """
        positions = {topic: dict(places) for topic, places in self._state.positions.items()}
        for (topic, number), offset in self.offsets.items():
            ticks = self.clocks[topic, number].ticks if (topic, number) in self.clocks else ()
            positions.setdefault(topic, {})[number] = Place(offset, tuple(ticks))
        self._state = replace(self._state, cluster=self._cluster, positions=positions, letters=by_topic(self.letters))
        self.stored.keep(self._state)
        changed = {key: offset for key, offset in self.offsets.items() if self._copied.get(key) != offset}
        texts = {key: copy_metadata(self._cluster, self._topics[key[0]]) for key in changed}
        kafka_groups.set_group_offsets(self.bootstrap, self.config.group_id, changed, texts)
        self._copied |= changed

    def move(self, reached: Mapping[TopicPartition, int]) -> None:
        """Go on to new positions, and store them."""
        for key, offset in reached.items():
            self.offsets[key] = offset
            if key in self.clocks:
                self.clocks[key].forget(offset)
        self.store()
