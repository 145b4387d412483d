"""Positions of connectors, whatever keeps them: which topics they are of, and how a user moves them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import ConfigError, NotFound, PositionLost
from frazil.pipeline.offsets import Offsets, TopicPartition

Changes = Mapping[TopicPartition, int | None]
"""The next offset to read by topic and partition; None forgets the position of that partition."""


@dataclass(frozen=True)
class KafkaIdentity:
    """Identity of the cluster and topics of offsets; a topic made anew has another id."""

    cluster_id: str = ""
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Moves:
    """Checked changes: where partitions go, which are forgotten, and the ids of the topics as they are now."""

    to: Offsets
    forgotten: frozenset[TopicPartition]
    now: KafkaIdentity


def check_range(key: TopicPartition, offset: int, begin: int, end: int, holder: str) -> None:
    """Raise PositionLost when a position is not in its topic, which has `begin` to `end`; `holder` keeps it."""
    if begin <= offset <= end:
        return
    topic, partition = key
    lost = f"{begin - offset} records were deleted by retention" if offset < begin else "the topic ends before it"
    raise PositionLost(
        f"{holder} continues at offset {offset} of {topic}-{partition}, but the topic has {begin} to {end}: {lost}. "
        "Nothing was read. Give the connector a new name to start from what the topic has."
    )


def check_changes(bootstrap: str, changes: Changes, remarks: list[str]) -> Moves:
    """The changes as they can be made; what is made of them otherwise is added to `remarks`. Raises ConfigError."""
    wanted = {key: offset for key, offset in changes.items() if offset is not None}
    topics = sorted({topic for topic, _ in wanted})
    try:
        begin, end = kafka_offsets.begin_offsets(bootstrap, topics), kafka_offsets.end_offsets(bootstrap, topics)
        now = KafkaIdentity(kafka_client.cluster_id(bootstrap), kafka_topics.topic_ids(bootstrap, topics))
    except NotFound as error:
        raise ConfigError(f"Nothing was changed: {error}") from None
    moved: Offsets = {}
    for (topic, partition), offset in wanted.items():
        if (topic, partition) not in begin:
            raise ConfigError(f"Topic {topic} has no partition {partition}; nothing was changed.")
        if offset < 0:
            raise ConfigError(f"The offset {offset} of {topic}-{partition} is negative; nothing was changed.")
        first, last = begin[topic, partition], end[topic, partition]
        moved[topic, partition] = max(offset, first)
        if offset < first:
            remarks.append(f"{topic}-{partition} begins at offset {first}, so that is its position now.")
        if offset > last:
            remarks.append(
                f"{topic}-{partition} ends at offset {last}: a connector that is started before the topic has offset "
                f"{offset} fails with PositionLost."
            )
    return Moves(moved, frozenset(changes.keys() - wanted.keys()), now)


def alter_group(bootstrap: str, group: str, moves: Moves | None) -> None:
    """Move or forget positions of a consumer group."""
    if moves is None:
        kafka_groups.forget_group_offsets(bootstrap, group)
        return
    if moves.forgotten:
        kafka_groups.forget_group_offsets(bootstrap, group, moves.forgotten)
    kafka_groups.set_group_offsets(bootstrap, group, moves.to)
