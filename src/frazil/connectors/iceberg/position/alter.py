"""Moving or forgetting the position of a connector that is stopped: the tables' floors, then the consumer group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.clients import catalog as catalogs
from frazil.clients.kafka import admin as kafka
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position.positions import mirrors
from frazil.connectors.iceberg.table.commit import Batch, Floor, KafkaIdentity, Target
from frazil.connectors.iceberg.table.discover import tables_with_position
from frazil.errors import CommitStateUnknown, ConfigError, FrazilError, NotFound
from frazil.pipeline.offsets import Offsets, TopicPartition

Changes = Mapping[TopicPartition, int | None]
"""The next offset to read by topic and partition; None forgets the position of that partition."""


@dataclass(frozen=True)
class Moves:
    """Checked changes: where partitions go, which are forgotten, and the ids of the topics as they are now."""

    to: Offsets
    forgotten: frozenset[TopicPartition]
    now: KafkaIdentity


def alter_positions(config: IcebergSinkConfig, bootstrap: str, changes: Changes | None) -> list[str]:
    """Set the positions of a connector that no worker runs; with None forget all of them.

    Returns remarks for the user, one sentence each. Every table gets a commit without files that carries the new
    floor, the consumer group comes last: until then a start uses the positions of the tables. The call may be repeated
    after any failure. Raises ConfigError for a partition that does not exist or a negative offset (nothing is changed
    then), Fenced when a worker commits for the connector meanwhile, ServiceUnavailable, CommitConflict or
    CommitStateUnknown; the message names the tables that have the new position already.
    """
    remarks: list[str] = []
    moves = None if changes is None else check_changes(bootstrap, changes, remarks)
    catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
    named_by_records = config.route is not None and config.route.names_tables
    names = tables_with_position(catalog, config.name) if named_by_records else config.tables
    targets = [Target(catalog, name, config.branch_of(name), config.connect_sink.properties) for name in names]
    done: list[str] = []
    try:
        for target in targets:
            _alter(target, config.name, moves, remarks)
            done.append(f"table {target.name}")
        for group in mirrors(bootstrap, config):
            alter_group(bootstrap, group, moves)
    except CommitStateUnknown as error:
        raise CommitStateUnknown(f"{error}. {_left(done, ' for certain')}") from error
    except FrazilError as error:
        raise type(error)(f"{error}. {_left(done)}") from error
    return remarks


def _left(done: list[str], certainty: str = "") -> str:
    where = " and ".join(done) or "no table"
    return f"The position is changed{certainty} in {where}; the connector is still stopped. Repeat the request."


def check_changes(bootstrap: str, changes: Changes, remarks: list[str]) -> Moves:
    """The changes as they can be made; what is made of them otherwise is added to `remarks`. Raises ConfigError."""
    wanted = {key: offset for key, offset in changes.items() if offset is not None}
    topics = sorted({topic for topic, _ in wanted})
    try:
        begin, end = kafka.begin_offsets(bootstrap, topics), kafka.end_offsets(bootstrap, topics)
        now = KafkaIdentity(kafka.cluster_id(bootstrap), kafka.topic_ids(bootstrap, topics))
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


def _alter(target: Target, connector: str, moves: Moves | None, remarks: list[str]) -> None:
    try:
        table = target.load()
    except NotFound:
        remarks.append(f"Table {target.name} does not exist, so it has no position.")
        return
    floor = target.floor(table, connector)
    after = Floor() if moves is None else moved(floor, moves.to, moves.forgotten, moves.now)
    if (after.offsets, after.identity) == (floor.offsets, floor.identity) and not floor.superseded:
        return
    target.commit(table, floor, Batch(connector, [], {}, after.offsets, after.identity, None, altered=True))


def moved(floor: Floor, to: Offsets, forgotten: frozenset[TopicPartition], now: KafkaIdentity) -> Floor:
    """The floor with some positions replaced by offsets of the topics as they are `now`, others forgotten.

    The ids of cluster and topics become those of now where no older position remains that they are to guard.
    """
    kept = {key: offset for key, offset in floor.offsets.items() if key not in to and key not in forgotten}
    old_topics = {topic for topic, _ in kept}
    ids = {topic: id_ for topic, id_ in floor.identity.topic_ids.items() if topic in old_topics}
    cluster = floor.identity.cluster_id if kept else now.cluster_id if to else ""
    return Floor({**kept, **to}, KafkaIdentity(cluster, {**now.topic_ids, **ids}))


def alter_group(bootstrap: str, group: str, moves: Moves | None) -> None:
    """Move or forget positions of a consumer group."""
    if moves is None:
        kafka.forget_group_offsets(bootstrap, group)
        return
    if moves.forgotten:
        kafka.forget_group_offsets(bootstrap, group, moves.forgotten)
    kafka.set_group_offsets(bootstrap, group, moves.to)
