"""Start of a connector: from the tables' floors, then the consumer group, then `auto.offset.reset`."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.commit import Floor
from frazil.connectors.positions import KafkaIdentity, check_range
from frazil.errors import NotFound, PositionLost, ServiceUnavailable, TerminalError
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.source import made_again

logger = logging.getLogger(__name__)


def identity(bootstrap: str, topics: Sequence[str], floors: Mapping[str, Floor] | None = None) -> KafkaIdentity:
    """Ids of the cluster and of the topics.

    Raises PositionLost for a topic that is gone and that one of the tables, given by their floors, has records of,
    NotFound for any other that does not exist, or ServiceUnavailable.
    """
    try:
        return KafkaIdentity(kafka_client.cluster_id(bootstrap), kafka_topics.topic_ids(bootstrap, topics))
    except NotFound:
        missing = set(topics) - set(kafka_topics.topics(bootstrap))
        for table, floor in (floors or {}).items():
            for topic in sorted(missing & floor.identity.topic_ids.keys()):
                raise PositionLost(
                    f"topic {topic} was deleted at {bootstrap}. What was read before is in table {table}. To read it "
                    "when it is made again, create the connector under a new name; else delete the connector."
                ) from None
        raise


def effective(floors: Mapping[str, Floor]) -> dict[str, Floor]:
    """Floors of tables of which not each gets each record.

    What all of them had when one was committed is in each, though it has no snapshot that says so; unless it was
    rolled back since.
    """
    complete = offsets.merge(*(floor.complete for floor in floors.values()))
    return {
        table: replace(floor, offsets=offsets.merge(floor.offsets, complete))
        if floor.offsets and not floor.rolled_back
        else floor
        for table, floor in floors.items()
    }


def start_offsets(
    bootstrap: str,
    topics: Sequence[str],
    groups: Sequence[str],
    reset: str,
    floors: Mapping[str, Floor],
    now: KafkaIdentity,
    remembered: Callable[[], Mapping[str, Floor]] = dict,
) -> Offsets:
    """The offset to begin with for every partition of the topics.

    `groups` are those of `ConnectSink`: of several the first that has an offset counts. `remembered` gives the floors
    of tables that records name, which are asked for where the groups have no position: Kafka forgets those of groups
    without members. What all these tables had at a commit stands for it then.

    With several tables it is the lowest of their floors; each skips what it has. A table without a floor never makes
    the others miss what they still need. Where Kafka Connect's sink has committed since, its group is ahead of them.
    A partition that has come to a topic since is read from its beginning, whatever `reset` says. Raises PositionLost
    when a stored position is not in the topic any more, or the group has none that Kafka Connect must have left there.

    Example: a partition has the offsets 0 to 100, and the connector two tables.

    | floor of `a` | floor of `b` | group | begins at | why |
    |---|---|---|---|---|
    | 70 | 50 | 60 | 50 | the tables are the truth, and `b` needs what comes from 50 on |
    | 70 | none | 60 | 60 | `b` has no position: the group's, and `a` skips what it has |
    | 70 | none | 80 | 70 | the group is ahead of `a`, which would miss ten records |
    | 70 | none | none | 0, or 70 with `latest` | `reset` stands for `b`, and `a` misses nothing |
    | none | none | 60 | 60 | |
    | none | none | none | 0, or 100 with `latest` | |
    | 70, then Kafka Connect committed | 70 | 90 | 90 | that sink has gone on from the tables, and its group knows |
    """
    for table, floor in floors.items():
        check_identity(table, floor.identity, now)
    begin, end = kafka_offsets.begin_offsets(bootstrap, topics), kafka_offsets.end_offsets(bootstrap, topics)
    holders: dict[TopicPartition, str] = {}
    from_groups: Offsets = {}
    for group in reversed(groups):
        own = group == groups[-1]
        found = kafka_groups.group_offsets(bootstrap, group, begin) if own else control_offsets(bootstrap, group)
        found = {key: offset for key, offset in found.items() if key in begin}
        from_groups |= found
        holders |= dict.fromkeys(found, f"consumer group {group}")
    forgotten = begin.keys() - from_groups.keys()
    if forgotten and not floors:
        from_tables = _remembered(remembered(), forgotten, groups, now)
        from_groups |= from_tables
        holders |= dict.fromkeys(from_tables, "every table of the connector")
    superseded = [table for table, floor in floors.items() if floor.superseded]
    if superseded and not from_groups:
        raise PositionLost(
            f"Kafka Connect's sink has written to table {' and '.join(superseded)} as this connector, but its consumer "
            f"group {' or '.join(groups)} has no position: Kafka forgets the offsets of groups without members, after "
            "7 days by default. Nothing was read. Stop the connector, set the offsets that Kafka Connect had reached "
            "(PATCH /connectors/{connector}/offsets), then resume it."
        )
    known_of = [from_groups, *(floor.offsets for floor in floors.values())]
    fresh = begin if reset == "earliest" else _unread(known_of, begin, end)
    result: Offsets = {}
    for key in begin:
        stored = [floor.offsets.get(key) for floor in floors.values()]
        known = [offset for offset in stored if offset is not None]
        lowest = min(known) if known and len(known) == len(stored) else None
        holder = f"table {' and '.join(floors)}"
        if key in from_groups and (superseded or lowest is None):
            reached = from_groups[key]
            result[key] = max(reached, lowest or 0) if superseded else min([reached, *known])
            holder = holders[key] if result[key] == reached else holder
        elif lowest is not None:
            result[key] = lowest
        else:
            result[key] = min([fresh[key], *known])
        check_range(key, result[key], begin[key], end[key], holder)
    return result


def _remembered(
    floors: Mapping[str, Floor], forgotten: Set[TopicPartition], groups: Sequence[str], now: KafkaIdentity
) -> Offsets:
    """Positions that tables which records name remember in place of the groups.

    Raises PositionLost for a partition that a table has records of, when none tells what all of them have.
    """
    for table, floor in floors.items():
        check_identity(table, floor.identity, now)
    complete = offsets.merge(*(floor.complete for floor in floors.values()))
    for table, floor in floors.items():
        for topic, partition in sorted(forgotten & floor.offsets.keys() - complete.keys()):
            raise PositionLost(
                f"table {table} has records of topic {topic}, partition {partition}, and consumer group "
                f"{' or '.join(groups)} has no position there any more: Kafka forgets the offsets of groups without "
                "members, after 7 days by default. Nothing was read. Stop the connector, set the offset to go on from "
                "(PATCH /connectors/{connector}/offsets; what a table has is not stored in it again), then resume it."
            )
    return {key: complete[key] for key in forgotten if key in complete}


def _unread(known: Iterable[Offsets], begin: Offsets, end: Offsets) -> Offsets:
    """Start of partitions without a position under `auto.offset.reset=latest`, which is for topics nobody has read."""
    highest: dict[str, int] = {}
    for topic, partition in (key for each in known for key in each):
        highest[topic] = max(partition, highest.get(topic, partition))
    return {key: begin[key] if key[1] > highest.get(*key) else end[key] for key in begin}


def control_offsets(bootstrap: str, group: str) -> Offsets:
    """Offsets of the control group of Kafka Connect's sink; none when this client may not see the group.

    Raises ServiceUnavailable.
    """
    try:
        return kafka_groups.all_group_offsets(bootstrap, group)
    except TerminalError as error:
        logger.warning("the control group of Kafka Connect's sink is taken for one without offsets: %s", error)
        return {}


def mirrors(bootstrap: str, config: IcebergSinkConfig) -> list[str]:
    """Consumer groups that get a copy of the position: the connector's, and where Kafka Connect's sink has one.

    That sink goes on from there when the connector is handed back to it. Raises ServiceUnavailable.
    """
    others = [group for group in config.connect_sink.groups if group != config.group_id]
    return [config.group_id, *(group for group in others if control_offsets(bootstrap, group))]


def check_identity(table: str, stored: KafkaIdentity, now: KafkaIdentity) -> None:
    """Raises PositionLost when the positions of a table are those of another cluster or of topics that are gone."""
    if stored.cluster_id and stored.cluster_id != now.cluster_id:
        raise PositionLost(
            f"table {table} holds positions of Kafka cluster {stored.cluster_id}, but this is {now.cluster_id}. "
            "Nothing was read. Point the connector at the old cluster, or give it a new name to read the topics of "
            "this one from their beginning."
        )
    for topic, topic_id in stored.topic_ids.items():
        if now.topic_ids.get(topic, topic_id) != topic_id:
            raise PositionLost(
                f"topic {topic} was deleted and made again since table {table} was written: its old offsets mean "
                "nothing now. Nothing was read. Give the connector a new name to read the topic from its beginning."
            )


def check_stable(bootstrap: str, start: Offsets) -> None:
    """Raise ServiceUnavailable while a transaction is open below a position, which was reached by reading such ones.

    For a connector that reads committed records only: Kafka shows it the topic up to that transaction.
    """
    ends = kafka_offsets.end_offsets(bootstrap, {topic for topic, _ in start}, committed=True)
    for (topic, partition), offset in start.items():
        if ends[topic, partition] < offset:
            raise ServiceUnavailable(
                f"a transaction is open at offset {ends[topic, partition]} of {topic}-{partition}, below offset "
                f"{offset}, up to which the connector has read with read_uncommitted. It goes on with read_committed "
                "when that transaction has ended."
            )


def check_topics(bootstrap: str, read: Mapping[str, str]) -> None:
    """Raise PositionLost when topics, given with their ids, were made again while they were read.

    Raises ServiceUnavailable for one that is gone: the next start says what has become of it.
    """
    for topic in made_again(bootstrap, read):
        raise PositionLost(
            f"topic {topic} was deleted and made again while it was read: its old offsets mean nothing now. What was "
            "read before is stored, nothing of the new topic is. Give the connector a new name to read the topic from "
            "its beginning."
        )
