"""Consumer groups: what they have committed, their members and their lag."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import ConsumerGroupDescription  # type: ignore[attr-defined]

from frazil.clients.kafka.client import TIMEOUT_S, admin, client_config, result, translated, until_settled, unusable
from frazil.clients.kafka.offsets import Offsets, begin_offsets, end_offsets
from frazil.errors import NotFound

_MOST_MEMBERS = 4
"""Consumers at the same time for the offsets of groups: each has threads and connections of its own for a moment."""
_members: defaultdict[str, BoundedSemaphore] = defaultdict(lambda: BoundedSemaphore(_MOST_MEMBERS))


@until_settled
def group_offsets(bootstrap: str, group: str, partitions: Iterable[tuple[str, int]]) -> Offsets:
    """Committed next offsets of a consumer group; a partition without one is left out.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    return {(p.topic, p.partition): p.offset for p in _committed(bootstrap, group, partitions)}


@until_settled
def group_metadata(bootstrap: str, group: str, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """The texts beside the committed offsets of a consumer group, where there are any.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    return {(p.topic, p.partition): p.metadata for p in _committed(bootstrap, group, partitions) if p.metadata}


def _committed(bootstrap: str, group: str, partitions: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Offsets that a consumer group has committed, where it has any."""
    wanted = [TopicPartition(topic, partition) for topic, partition in partitions]
    if not wanted:
        return []
    with _group_member(bootstrap, group) as consumer:
        found = consumer.committed(wanted, timeout=TIMEOUT_S)
        _check_partitions(found)
    return [p for p in found if p.offset >= 0]


@until_settled
def all_group_offsets(bootstrap: str, group: str) -> Offsets:
    """Committed next offsets of a consumer group, of every partition that it has committed.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    with _group_member(bootstrap, group) as consumer:
        known = consumer.list_topics(timeout=TIMEOUT_S).topics
        partitions = [(name, partition) for name, topic in known.items() for partition in topic.partitions]
    return group_offsets(bootstrap, group, partitions)


@until_settled
def group_members(bootstrap: str, group: str) -> list[str]:
    """Client ids of the members of a consumer group; those that died are there until their session ends.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    with _group_member(bootstrap, group) as consumer:  # waits for the coordinator, see there
        consumer.committed([TopicPartition("none", 0)], timeout=TIMEOUT_S)
    return [member.client_id for one in _described(bootstrap, [group]) for member in one.members]


@until_settled
def set_group_offsets(
    bootstrap: str,
    group: str,
    offsets: Mapping[tuple[str, int], int],
    metadata: Mapping[tuple[str, int], str] | None = None,
) -> None:
    """Commit next offsets for a consumer group that has no members, with a text beside each that has one.

    Raises TerminalError when the group has members (nothing is committed then), ServiceUnavailable when its
    coordinator does not answer.
    """
    if not offsets:
        return
    texts = metadata or {}
    positions = [TopicPartition(*key, offset, texts.get(key, "")) for key, offset in offsets.items()]
    with _group_member(bootstrap, group) as consumer:
        consumer.committed(positions, timeout=TIMEOUT_S)  # finds the coordinator; commit has no timeout of its own
        _check_partitions(consumer.commit(offsets=positions, asynchronous=False))


@until_settled
def forget_group_offsets(bootstrap: str, group: str, partitions: Collection[tuple[str, int]] | None = None) -> None:
    """Remove committed offsets of a consumer group that has no members: of these partitions, or all of them.

    The client can only delete a whole group, so what the other partitions had is committed again. Raises TerminalError
    when the group has members (nothing is removed then), ServiceUnavailable when its coordinator does not answer.
    """
    known = all_group_offsets(bootstrap, group)
    kept = {} if partitions is None else {key: offset for key, offset in known.items() if key not in partitions}
    if len(kept) == len(known):
        return
    client = admin(bootstrap)
    futures = client.delete_consumer_groups([group], request_timeout=TIMEOUT_S)
    result(client, futures[group], bootstrap, f"consumer group {group}")
    set_group_offsets(bootstrap, group, kept)


class Behind(NamedTuple):
    """Next offset of a consumer group in a partition, and that of the partition."""

    position: int
    end: int

    @property
    def lag(self) -> int:
        """Records that the group has not committed."""
        return max(self.end - self.position, 0)


def behind(bootstrap: str, topics: Iterable[str], group: str) -> dict[tuple[str, int], Behind]:
    """Positions of a group in each partition; at the first record that is stored, before its first commit.

    Raises NotFound or ServiceUnavailable.
    """
    names = list(topics)
    ends, begins = end_offsets(bootstrap, names), begin_offsets(bootstrap, names)
    committed = group_offsets(bootstrap, group, ends)
    return {key: Behind(committed.get(key, begins[key]), end) for key, end in ends.items()}


def lag(bootstrap: str, topics: Iterable[str], group: str) -> Offsets:
    """Records per (topic, partition) that a group has not committed; see `behind`."""
    return {key: found.lag for key, found in behind(bootstrap, topics, group).items()}


@dataclass(frozen=True)
class Member:
    """A member of a consumer group, and the partitions that it reads."""

    client_id: str
    host: str
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Group:
    """A consumer group; `state` is Kafka's word for it in capitals, such as STABLE or EMPTY."""

    name: str
    state: str
    members: tuple[Member, ...]


@until_settled
def group_names(bootstrap: str) -> list[str]:
    """Names of all consumer groups, sorted. Raises ServiceUnavailable."""
    client = admin(bootstrap)
    found = result(client, client.list_consumer_groups(request_timeout=TIMEOUT_S), bootstrap, "consumer groups")
    if found.errors:
        raise translated(found.errors[0], bootstrap, "consumer groups")
    return sorted(one.group_id for one in found.valid)


@until_settled
def described_groups(bootstrap: str, names: Collection[str]) -> list[Group]:
    """The consumer groups of these names; those that are gone, or of another kind, are left out.

    Raises ServiceUnavailable.
    """
    return [
        Group(
            one.group_id,
            one.state.name,
            tuple(
                Member(
                    member.client_id,
                    member.host.removeprefix("/"),
                    tuple((p.topic, p.partition) for p in member.assignment.topic_partitions),
                )
                for member in one.members
            ),
        )
        for one in _described(bootstrap, names)
    ]


def _described(bootstrap: str, names: Collection[str]) -> list[ConsumerGroupDescription]:
    if not names:
        return []
    client = admin(bootstrap)
    futures = client.describe_consumer_groups(list(names), request_timeout=TIMEOUT_S)
    found = []
    for name, future in futures.items():
        with suppress(NotFound):
            found.append(result(client, future, bootstrap, f"consumer group {name}"))
    return found


@dataclass(frozen=True)
class Committed:
    """Position of a group in a partition that has the offsets `begin` to below `end`."""

    offset: int
    begin: int
    end: int

    @property
    def lag(self) -> int:
        """Records that the group has not read."""
        return max(self.end - max(self.offset, self.begin), 0)

    @property
    def lost(self) -> int:
        """Records that were deleted before the group has read them."""
        return max(self.begin - self.offset, 0)


def committed_positions(bootstrap: str, group: str) -> dict[tuple[str, int], Committed]:
    """Positions of a group in the topics that exist. Raises ServiceUnavailable."""
    offsets = all_group_offsets(bootstrap, group)
    topics = sorted({topic for topic, _ in offsets})
    ends, begins = end_offsets(bootstrap, topics), begin_offsets(bootstrap, topics)
    return {key: Committed(offset, begins[key], ends[key]) for key, offset in sorted(offsets.items())}


@contextmanager
def _group_member(bootstrap: str, group: str) -> Iterator[Consumer]:
    """A consumer that never subscribes, to read and commit a group's offsets.

    The administration client's calls for this crash the process (librdkafka dereferences null) while the coordinator
    of a new cluster is being elected.
    """
    with _members[str(bootstrap)]:
        try:
            own = {"group.id": group, "enable.auto.commit": False}
            consumer = Consumer({**client_config(bootstrap, "consumer"), **own})
        except KafkaException as error:
            raise unusable(error) from None
        try:
            yield consumer
        except KafkaException as error:
            raise translated(error, bootstrap, f"consumer group {group}") from error
        finally:
            consumer.close()


def _check_partitions(partitions: Iterable[TopicPartition]) -> None:
    for p in partitions:
        if p.error is not None:
            raise KafkaException(p.error)
