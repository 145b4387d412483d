"""Moving or forgetting the position of a connector that is stopped: the tables' floors, then the consumer group."""

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position.start_position import mirrors
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.discover import tables_with_position
from frazil.connectors.positions import Changes, KafkaIdentity, Moves, alter_group, check_changes
from frazil.errors import CommitStateUnknown, FrazilError, NotFound
from frazil.pipeline.offsets import Offsets, TopicPartition


def alter_positions(
    config: IcebergSinkConfig, bootstrap: str, changes: Changes | None, *, has_state: bool = False
) -> list[str]:
    """Set the positions of a connector that no worker runs; with None forget all of them. State goes with them.

    Returns remarks for the user, one sentence each. Every table gets a commit without files that carries the new
    floor, the consumer group comes last: until then a start uses the positions of the tables. The call may be repeated
    after any failure. Raises ConfigError for a partition that does not exist or a negative offset (nothing is changed
    then), Fenced when a worker commits for the connector meanwhile, ServiceUnavailable, CommitConflict or
    CommitStateUnknown; the message names the tables that have the new position already.
    """
    remarks: list[str] = []
    moves = None if changes is None else check_changes(bootstrap, changes, remarks)
    catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
    names = tables_with_position(catalog, config.name) if config.names_tables else config.tables
    targets = [TableBranch(catalog, name, config.branch_of(name), config.connect_sink.properties) for name in names]
    done: list[str] = []
    try:
        for target in targets:
            _alter(target, config.name, moves, remarks, has_state=has_state)
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


def _alter(target: TableBranch, connector: str, moves: Moves | None, remarks: list[str], *, has_state: bool) -> None:
    try:
        table = target.load()
    except NotFound:
        remarks.append(f"Table {target.name} does not exist, so it has no position.")
        return
    floor = target.floor(table, connector)
    after = Floor() if moves is None else moved(floor, moves.to, moves.forgotten, moves.now)
    unchanged = (after.offsets, after.identity) == (floor.offsets, floor.identity)
    if unchanged and not floor.superseded and not (has_state and floor.offsets):
        return
    target.commit(table, floor, Commit(connector, [], {}, after.offsets, after.identity, None, altered=True))


def moved(floor: Floor, to: Offsets, forgotten: frozenset[TopicPartition], now: KafkaIdentity) -> Floor:
    """The floor with some positions replaced by offsets of the topics as they are `now`, others forgotten.

    The ids of cluster and topics become those of now where no older position remains that they are to guard.
    """
    kept = {key: offset for key, offset in floor.offsets.items() if key not in to and key not in forgotten}
    old_topics = {topic for topic, _ in kept}
    ids = {topic: id_ for topic, id_ in floor.identity.topic_ids.items() if topic in old_topics}
    cluster = floor.identity.cluster_id if kept else now.cluster_id if to else ""
    return Floor({**kept, **to}, KafkaIdentity(cluster, {**now.topic_ids, **ids}))
