"""Conditional commit, one per batch: data files and offsets in the same snapshot.

The table is the truth about progress: the snapshot summary carries the next offset of every partition, and so does a
table property that snapshot expiry cannot reach. A commit is conditional on the branch head that the floor was read
from, so that two writers can never commit the same records.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from frazil.clients.catalog import catalog_errors
from frazil.connectors.iceberg.table.attempts import apply
from frazil.connectors.iceberg.table.transaction import append_files, transaction_on
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sink import Runs
from frazil.errors import CommitConflict, Fenced, NotFound
from frazil.pipeline import offsets, source_positions
from frazil.pipeline.letters.marks import Marks
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.source_positions import SourcePositions
from frazil.text.instants import instant

COMMIT_ID = "kafka.connect.commit-id"
COMPACTED = "frazil.compacted"
"""Files that a commit has made into fewer, beside its changes."""
CONNECTOR = "frazil.connector"
OFFSETS = "frazil.offsets"
CLUSTER_ID = "frazil.kafka.cluster-id"
TOPIC_IDS = "frazil.kafka.topic-ids"
BEGIN = "frazil.begin"
COMPLETE = "frazil.offsets.complete"
"""Offsets that every table of a connector had at this commit, where not each of them gets each record."""
LETTERS = "frazil.deadletters.marks"
"""Marks in the dead-letter topics; see `pipeline.letters.marks`."""
REACHED = "frazil.source.positions"
"""Positions in the log of the database that the records are from; see `pipeline.source_positions`."""
STATE = "frazil.state"
"""Location of the manifest of the state that a statement has behind these offsets; see `connectors.sql.checkpoint`."""
BEFORE = "frazil.offsets.before"
"""Offsets that the table had before its connector's first commit in the history. A rollback may lead there."""
ALTERED = "frazil.offsets.altered"
"""Marks a snapshot whose position was set by a user, and may lie below that of the snapshot before it."""
RUN = "frazil.run"
"""Id of the worker's run that made the commit."""


@dataclass(frozen=True)
class Floor:
    """Offsets of a connector's topics in a table: it has everything below them.

    `complete`: what all tables of the connector had by then. `letters`: marks of the dead letters of later records.
    `reached`: positions in the log of the records' source. `state`: manifest of a statement's state. `altered`: a user
    has set it. `rolled_back`: the table had more than it has now. `superseded`: Kafka Connect's sink has committed
    since, so its consumer group is ahead of these offsets.
    """

    offsets: Offsets = field(default_factory=dict)
    identity: KafkaIdentity = field(default_factory=KafkaIdentity)
    committed_ms: int = 0
    complete: Offsets = field(default_factory=dict)
    letters: Marks = field(default_factory=dict, compare=False)
    reached: SourcePositions = field(default_factory=dict, compare=False)
    state: str = field(default="", compare=False)
    altered: bool = field(default=False, compare=False)
    rolled_back: bool = field(default=False, compare=False)
    superseded: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Commit:
    """Content of one commit. `valid_through_ms` is None when a partition had no record in the batch; a time that no
    calendar has is left out of the snapshot.

    `begin` is where the connector reads on from when the table loses its first commit too. With `altered` the position
    becomes `offsets` as they are, lower ones and missing partitions too; else the highest of each partition counts.
    `changes` is what the tasks tell of changes of rows (`changes.ChangeWriter`); with `truncates` all rows go.
    `complete` is what all tables of the connector have, where not each of them gets each record; `letters` are the
    marks of records behind the commit, `reached` the positions in the log of their source; `state` is the manifest of
    the statement's state.
    """

    connector: str
    files: Sequence[DataFile]
    begin: Offsets
    offsets: Offsets
    identity: KafkaIdentity
    valid_through_ms: int | None
    altered: bool = False
    changes: Sequence[pa.Table] = ()
    complete: Offsets = field(default_factory=dict)
    letters: Marks = field(default_factory=dict)
    reached: SourcePositions = field(default_factory=dict)
    truncates: bool = False
    state: str = ""


Stage = Callable[[Transaction, Table, str, Mapping[str, str]], None]
"""Adds a snapshot to a transaction on the table, for a branch and with a summary."""


class TableBranch:
    """Branch of a table. `connect_marks`: properties by which the snapshots of Kafka Connect's sink are known.

    `runs` are those of the worker that commits, None where no worker does.
    """

    def __init__(
        self, catalog: Catalog, name: str, branch: str, connect_marks: Sequence[str] = (), runs: Runs | None = None
    ) -> None:
        self.catalog = catalog
        self.name = name
        self.branch = branch
        self._connect_marks = connect_marks
        self._runs = runs

    def load(self) -> Table:
        """The table as it is now. Raises NotFound, ServiceUnavailable, or ConfigError when access is refused."""
        with catalog_errors(self.catalog.properties, f"table {self.name}"):
            try:
                return self.catalog.load_table(self.name)
            except NoSuchTableError as error:
                raise NotFound(
                    f"table {self.name} does not exist; create it, or set iceberg.tables.auto-create-enabled=true"
                ) from error

    def with_branch(self, table: Table) -> Table:
        """The table with the branch, which is made at the head of main when it does not exist.

        Main gets a snapshot without files first when it has none: a table without snapshots can have no branch. Raises
        as `apply` does.
        """
        if self.branch == MAIN_BRANCH or self.branch in table.refs():
            return table
        if table.current_snapshot() is None:
            apply(self.load, table, MAIN_BRANCH, _append_nothing, lambda now: now.current_snapshot() is not None)
            table = self.load()
        apply(self.load, table, self.branch, self._make_branch, lambda now: self.branch in now.refs())
        return self.load()

    def _make_branch(self, table: Table) -> None:
        main = table.current_snapshot()
        if main is not None:
            table.manage_snapshots().create_branch(main.snapshot_id, self.branch).commit()

    def floor(self, table: Table, connector: str) -> Floor:
        """The newest position of the connector on the branch.

        The copy in the table's properties counts when it may have been expired, unless a rollback has taken the commit
        from the branch that has put it there. When it was not, the table has been rolled back to before the connector's
        first commit, and the position is where that began. Expired snapshots leave a hole: the next one names a parent
        that is gone or, as some catalogs have it, none; then its number, or what the table had before, tells that it
        was not the first.
        """
        expired = superseded = False
        copy = self._copy(table, connector)
        most = offsets.from_json(copy[OFFSETS]) if copy else {}
        for snapshot in self.history(table):
            summary = summary_of(snapshot)
            if summary.get(CONNECTOR) == connector and OFFSETS in summary:
                return replace(_floor(summary[OFFSETS], summary, snapshot.timestamp_ms, most), superseded=superseded)
            superseded = superseded or any(mark in summary for mark in self._connect_marks)
            expired = not _is_first(snapshot)
        if not copy:
            return Floor(superseded=superseded)
        taken = first_taken_back(table, connector, self.branch)
        position = copy[OFFSETS] if expired else ""
        if taken is not None:
            position = summary_of(taken)[BEFORE]
        floor = _floor(position or copy.get(BEGIN, copy[OFFSETS]), copy, 0, most)
        letters = floor.letters if position == copy[OFFSETS] else {}
        reached = floor.reached if position == copy[OFFSETS] else {}
        state = floor.state if position == copy[OFFSETS] else ""
        return replace(floor, letters=letters, reached=reached, state=state, superseded=superseded)

    def beginning(self, table: Table, connector: str) -> Offsets:
        """Offsets that the position of the connector began with; empty when it has none."""
        return offsets.from_json(self._copy(table, connector).get(BEGIN, "{}"))

    def history(self, table: Table) -> Iterator[Snapshot]:
        """The snapshots of the branch, the newest first, as far back as they have not been expired."""
        return history(table, self.branch)

    def _copy(self, table: Table, connector: str) -> dict[str, str]:
        """The position that stands in the table's properties; empty when there is none."""
        text = table.properties.get(position_property(connector, self.branch))
        return dict(json.loads(text)) if text else {}

    def commit(self, table: Table, floor: Floor, batch: Commit, stage: Stage | None = None) -> None:
        """Append the files, or make the change that `stage` adds to a transaction, and move the floor, once.

        `table` is the state that `floor` was read from. Raises Fenced when another worker has committed for the
        connector since, CommitConflict when the table was rolled back or this worker has committed before, and as
        `apply` does; in all cases except CommitStateUnknown the table does not have the files.
        """
        commit_id = str(uuid.uuid4())

        def arrived(now: Table) -> bool:
            if has_commit(now, commit_id):
                return True
            found = self.floor(now, batch.connector)
            if found.offsets == floor.offsets:
                return False
            if found.rolled_back:
                raise CommitConflict(
                    f"table {self.name} was rolled back during a commit; nothing was committed. The connector starts "
                    "again from the table's position"
                )
            if self._is_own(now, batch.connector):
                raise CommitConflict(
                    f"the catalog has only now applied an earlier commit of this worker to {self.name}, for connector "
                    f"{batch.connector}; nothing else was committed. The connector starts again from the table's "
                    "position"
                )
            raise Fenced(
                f"another worker has committed to {self.name} for connector {batch.connector} meanwhile; "
                "this one stops, and its files of this batch are not in the table"
            )

        apply(self.load, table, self.branch, lambda now: self._try(now, floor, batch, commit_id, stage), arrived)

    def _is_own(self, table: Table, connector: str) -> bool:
        """Whether this worker has committed the newest position, in this run or one that was killed."""
        if self._runs is None:
            return False
        summaries = (summary_of(snapshot) for snapshot in self.history(table))
        newest = next((each for each in summaries if each.get(CONNECTOR) == connector and OFFSETS in each), {})
        return newest.get(RUN) in {self._runs.current, *self._runs.earlier}

    def _try(self, table: Table, floor: Floor, batch: Commit, commit_id: str, stage: Stage | None) -> None:
        reached = batch.offsets if batch.altered else offsets.merge(floor.offsets, batch.offsets)
        position = {
            OFFSETS: offsets.to_json(reached),
            CLUSTER_ID: batch.identity.cluster_id,
            TOPIC_IDS: json.dumps(dict(batch.identity.topic_ids), separators=(",", ":"), sort_keys=True),
        }
        if batch.complete:
            position[COMPLETE] = offsets.to_json(batch.complete)
        if batch.letters:
            position[LETTERS] = offsets.to_json(batch.letters)
        if source := {**floor.reached, **batch.reached}:
            position[REACHED] = source_positions.to_json(source)
        if batch.state:
            position[STATE] = batch.state
        if batch.altered:
            position[ALTERED] = "true"
        summary = {CONNECTOR: batch.connector, COMMIT_ID: commit_id, **position}
        copied = self._copy(table, batch.connector)
        known = self.floor(table, batch.connector)
        if not known.committed_ms:
            summary[BEFORE] = offsets.to_json(known.offsets) if copied else ""
        if self._runs is not None:
            summary[RUN] = self._runs.current
        moment = None if batch.valid_through_ms is None else instant(batch.valid_through_ms)
        if moment is not None:
            summary["kafka.connect.vtts"] = str(batch.valid_through_ms)
            summary["kafka.connect.valid-through-ts"] = moment.isoformat(timespec="milliseconds")
        transaction = transaction_on(table)
        if stage is None:
            update = transaction.update_snapshot(snapshot_properties=summary, branch=self.branch)
            append_files(update, table, batch.files)
        else:
            stage(transaction, table, self.branch, summary)
        begin = _begin(copied.get(BEGIN), batch)
        copy = {**position, BEGIN: offsets.to_json(begin)}
        transaction.set_properties({position_property(batch.connector, self.branch): json.dumps(copy)})
        transaction.commit_transaction()


def _begin(before: str | None, batch: Commit) -> Offsets:
    """Start of the connector: its first batch says so, unless it was moved to before that or forgot it since."""
    first = offsets.from_json(before) if before else {}
    if batch.altered:
        return {key: min(offset, batch.offsets[key]) for key, offset in first.items() if key in batch.offsets}
    return {**batch.begin, **first}


def _is_first(snapshot: Snapshot) -> bool:
    """Whether a table began with the snapshot. Those of tables of format version 1 have no numbers."""
    if snapshot.parent_snapshot_id is not None or (snapshot.sequence_number or 0) > 1:
        return False
    summary = summary_of(snapshot)
    return bool(snapshot.sequence_number) or summary.get("total-records", "0") == summary.get("added-records", "0")


def _append_nothing(table: Table) -> None:
    transaction = transaction_on(table)
    append_files(transaction.update_snapshot(), table, [])
    transaction.commit_transaction()


def history(table: Table, branch: str) -> Iterator[Snapshot]:
    """The snapshots of a branch, the newest first, as far back as they have not been expired."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    snapshot = table.metadata.snapshot_by_name(branch)
    while snapshot is not None:
        yield snapshot
        snapshot = by_id.get(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None


def first_taken_back(table: Table, connector: str, branch: str) -> Snapshot | None:
    """The first commit of a connector since its earlier ones were expired, if a rollback took it from the branch."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    kept = {snapshot.snapshot_id for snapshot in history(table, branch)}

    def comes_from_the_branch(snapshot: Snapshot | None) -> bool:
        while snapshot is not None and snapshot.snapshot_id not in kept:
            snapshot = by_id.get(snapshot.parent_snapshot_id or 0)
        return snapshot is not None

    taken = [
        snapshot
        for snapshot in table.metadata.snapshots
        if snapshot.snapshot_id not in kept
        and summary_of(snapshot).get(CONNECTOR) == connector
        and BEFORE in summary_of(snapshot)
        and comes_from_the_branch(snapshot)
    ]
    return min(taken, key=lambda snapshot: (snapshot.sequence_number or 0, snapshot.timestamp_ms), default=None)


def position_property(connector: str, branch: str) -> str:
    """Name of the table's property with the copy of a connector's position."""
    return f"{OFFSETS}.{connector}.{branch}"


def has_commit(table: Table, commit_id: str) -> bool:
    """Whether the commit with this id has reached the table."""
    return any(summary_of(snapshot).get(COMMIT_ID) == commit_id for snapshot in table.metadata.snapshots)


def summary_of(snapshot: Snapshot) -> Mapping[str, str]:
    """The properties of a snapshot."""
    return snapshot.summary.additional_properties if snapshot.summary else {}


def _floor(position: str, properties: Mapping[str, str], committed_ms: int, most: Offsets) -> Floor:
    identity = KafkaIdentity(properties.get(CLUSTER_ID, ""), json.loads(properties.get(TOPIC_IDS) or "{}"))
    reached = offsets.from_json(position)
    complete = offsets.from_json(properties[COMPLETE]) if COMPLETE in properties else {}
    behind = any(offset > reached.get(key, 0) for key, offset in most.items())
    letters = offsets.from_json(properties[LETTERS]) if LETTERS in properties else {}
    source = source_positions.from_json(properties[REACHED]) if REACHED in properties else {}
    state, altered = properties.get(STATE, ""), ALTERED in properties
    return Floor(reached, identity, committed_ms, complete, letters, source, state, altered, behind)
