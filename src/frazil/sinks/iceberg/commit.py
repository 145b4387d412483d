"""One conditional commit per batch: data files and offsets in the same snapshot (DESIGN: truth about progress).

The table is the truth about progress: the snapshot summary carries the next offset of every partition, and so does a
table property that snapshot expiry cannot reach. A commit is conditional on the branch head that the floor was read
from, so that two writers can never commit the same records.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update.snapshot import UpdateSnapshot
from requests.exceptions import RequestException

from frazil.clients.catalog import catalog_error
from frazil.clients.store import refuses
from frazil.errors import (
    CommitConflict,
    CommitStateUnknown,
    ConfigError,
    Fenced,
    FrazilError,
    NotFound,
    ServiceUnavailable,
)
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets

COMMIT_ID = "kafka.connect.commit-id"
CONNECTOR = "frazil.connector"
OFFSETS = "frazil.offsets"
CLUSTER_ID = "frazil.kafka.cluster-id"
TOPIC_IDS = "frazil.kafka.topic-ids"
BEGIN = "frazil.begin"
COMPLETE = "frazil.offsets.complete"
"""What every table of a connector had when this one was committed, where not each of them gets each record."""
ALTERED = "frazil.offsets.altered"
"""Marks a snapshot whose position was set by a user, and may lie below that of the snapshot before it."""

_RETRIES = 8
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 10.0
NOT_CONFIRMED = (
    CommitStateUnknownException,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    OSError,
)
"""What catalog (also as OSError, when it cannot be reached) or object store raise when they failed for the moment."""


@dataclass(frozen=True)
class KafkaIdentity:
    """Which cluster and topics the offsets belong to; a topic made anew has another id."""

    cluster_id: str = ""
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Floor:
    """What a table has of a connector's topics: everything below these offsets.

    `complete`: what all tables of the connector had by then. `rolled_back`: the table had more than it has now.
    `superseded`: Kafka Connect's sink has committed since, so its consumer group is ahead of these offsets (X22).
    """

    offsets: Offsets = field(default_factory=dict)
    identity: KafkaIdentity = field(default_factory=KafkaIdentity)
    committed_ms: int = 0
    complete: Offsets = field(default_factory=dict)
    rolled_back: bool = field(default=False, compare=False)
    superseded: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Batch:
    """What one commit adds. `valid_through_ms` is None when a partition had no record in the batch (K06).

    `begin` is where the connector reads on from when the table loses its first commit too. With `altered` the position
    becomes `offsets` as they are, lower ones and missing partitions too; else the highest of each partition counts.
    `changes` is what the tasks tell of changes of rows (`changes.ChangeWriter`). `complete` is what all tables of the
    connector have, where not each of them gets each record.
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


Stage = Callable[[Transaction, Table, str, Mapping[str, str]], None]
"""Adds a snapshot to a transaction on the table, for a branch and with a summary."""


class Target:
    """One branch of one table. `connect_marks`: properties by which the snapshots of Kafka Connect's sink are known."""

    def __init__(self, catalog: Catalog, name: str, branch: str, connect_marks: Sequence[str] = ()) -> None:
        self.catalog = catalog
        self.name = name
        self.branch = branch
        self._connect_marks = connect_marks

    def load(self) -> Table:
        """The table as it is now. Raises NotFound (R12), ServiceUnavailable, or ConfigError when access is refused."""
        try:
            return self.catalog.load_table(self.name)
        except NoSuchTableError as error:
            raise NotFound(
                f"table {self.name} does not exist; create it, or set iceberg.tables.auto-create-enabled=true"
            ) from error
        except (RequestException, RESTError) as error:
            raise catalog_error(self.catalog.properties, f"table {self.name}", error) from error

    def with_branch(self, table: Table) -> Table:
        """The table with the branch, which is made at the head of main when it does not exist (iceberg-sink.md 7.2.12).

        Main gets a snapshot without files first when it has none: a table without snapshots can have no branch. Raises
        as `load` does, and ServiceUnavailable when the catalog does not confirm it.
        """
        if self.branch == MAIN_BRANCH or self.branch in table.refs():
            return table
        try:
            if table.current_snapshot() is None:
                transaction = one_attempt(table).transaction()
                append_files(transaction.update_snapshot(), table, [])
                transaction.commit_transaction()
                table = self.load()
            main = table.current_snapshot()
            if main is not None:
                one_attempt(table).manage_snapshots().create_branch(main.snapshot_id, self.branch).commit()
        except (CommitFailedException, *NOT_CONFIRMED) as error:
            table = self.load()
            if self.branch not in table.refs():
                raise ServiceUnavailable(
                    f"the catalog did not confirm the new branch {self.branch} of {self.name} "
                    f"({type(error).__name__}: {error}). Nothing was written to it; it is tried again"
                ) from error
            return table
        return self.load()

    def floor(self, table: Table, connector: str) -> Floor:
        """The newest position of the connector on the branch.

        The copy in the table's properties counts when it may have been expired. When it was not, the table has been
        rolled back to before the connector's first commit, and the position is where that began.
        """
        expired = superseded = False
        copy = self._copy(table, connector)
        most = offsets.from_json(copy[OFFSETS]) if copy else {}
        for snapshot in self.history(table):
            summary = summary_of(snapshot)
            if summary.get(CONNECTOR) == connector and OFFSETS in summary:
                return replace(_floor(summary[OFFSETS], summary, snapshot.timestamp_ms, most), superseded=superseded)
            superseded = superseded or any(mark in summary for mark in self._connect_marks)
            expired = snapshot.parent_snapshot_id is not None
        if not copy:
            return Floor(superseded=superseded)
        begin = copy[OFFSETS] if expired else copy.get(BEGIN, copy[OFFSETS])
        return replace(_floor(begin, copy, 0, most), superseded=superseded)

    def history(self, table: Table) -> Iterator[Snapshot]:
        """The snapshots of the branch, the newest first, as far back as they have not been expired."""
        return history(table, self.branch)

    def _copy(self, table: Table, connector: str) -> dict[str, str]:
        """The position that stands in the table's properties; empty when there is none."""
        text = table.properties.get(position_property(connector, self.branch))
        return dict(json.loads(text)) if text else {}

    def commit(self, table: Table, floor: Floor, batch: Batch, stage: Stage | None = None) -> None:
        """Append the files, or make the change that `stage` adds to a transaction, and move the floor, once.

        `table` is the state that `floor` was read from. Raises Fenced when another worker has committed for the
        connector since, NotFound when the table is gone, ConfigError when the store refuses access, CommitConflict,
        ServiceUnavailable or CommitStateUnknown when the retries are used up; in all these cases except the last the
        table does not have the files.
        """
        commit_id = str(uuid.uuid4())

        def arrived(now: Table) -> bool:
            if has_commit(now, commit_id):
                return True
            if self.floor(now, batch.connector).offsets != floor.offsets:
                raise Fenced(
                    f"another worker has committed to {self.name} for connector {batch.connector} meanwhile; "
                    "this one stops, and its files of this batch are not in the table"
                )
            return False

        self.apply(table, lambda now: self._try(now, floor, batch, commit_id, stage), arrived)

    def apply(self, table: Table, attempt: Callable[[Table], None], arrived: Callable[[Table], bool]) -> None:
        """Make one change to the table, whatever happens on the way; `attempt` commits it, without retries of its own.

        After an attempt that failed, or of which nobody knows, `arrived` gets the table as it is then: it tells whether
        the change is in it, and raises when the change may not be made any more. Raises as `commit` does.
        """
        spec_id = table.metadata.default_spec_id
        wait = _FIRST_WAIT_S
        problem: Exception | None = None
        unknown = False
        for number in range(_RETRIES + 1):
            if number:
                time.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT_S)
                try:
                    table = self.load()
                except ServiceUnavailable as error:
                    problem = error
                    continue
                if arrived(table):
                    return
                unknown = False
            if number == _RETRIES:
                break
            try:
                attempt(one_attempt(table, spec_id))
                return
            except CommitFailedException as error:
                problem = error
            except NOT_CONFIRMED as error:
                if isinstance(error, OSError) and refuses(error):
                    raise ConfigError(
                        f"the object store refused a commit to {self.name}: {error}. Nothing was committed. Check the "
                        "bucket and the access keys (iceberg.catalog.s3.*), then restart the connector."
                    ) from error
                problem = error
                unknown = True
            except RESTError:
                self.load()  # of a table that is gone it raises NotFound
                raise
        raise self._given_up(problem, unknown=unknown) from problem

    def _given_up(self, problem: Exception | None, *, unknown: bool) -> FrazilError:
        reason = f"({type(problem).__name__}: {problem})"
        if unknown:
            return CommitStateUnknown(
                f"the catalog did not confirm a commit to {self.name} {reason}; the position in the table decides "
                "when the batch is read again"
            )
        if isinstance(problem, CommitFailedException):
            return CommitConflict(
                f"{self.name} was changed by others {_RETRIES} times during one commit; nothing was committed, the "
                "batch will be read again"
            )
        return ServiceUnavailable(
            f"catalog or object store failed {_RETRIES} times during a commit to {self.name} {reason}; nothing was "
            "committed, the batch will be read again"
        )

    def _try(self, table: Table, floor: Floor, batch: Batch, commit_id: str, stage: Stage | None) -> None:
        reached = batch.offsets if batch.altered else offsets.merge(floor.offsets, batch.offsets)
        position = {
            OFFSETS: offsets.to_json(reached),
            CLUSTER_ID: batch.identity.cluster_id,
            TOPIC_IDS: json.dumps(dict(batch.identity.topic_ids), separators=(",", ":"), sort_keys=True),
        }
        if batch.complete:
            position[COMPLETE] = offsets.to_json(batch.complete)
        summary = {CONNECTOR: batch.connector, COMMIT_ID: commit_id, **position}
        if batch.altered:
            summary[ALTERED] = "true"
        if batch.valid_through_ms is not None:
            summary["kafka.connect.vtts"] = str(batch.valid_through_ms)
            moment = datetime.fromtimestamp(batch.valid_through_ms / 1000, UTC)
            summary["kafka.connect.valid-through-ts"] = moment.isoformat(timespec="milliseconds")
        transaction = table.transaction()
        if stage is None:
            update = transaction.update_snapshot(snapshot_properties=summary, branch=self.branch)
            append_files(update, table, batch.files)
        else:
            stage(transaction, table, self.branch, summary)
        begin = _begin(self._copy(table, batch.connector).get(BEGIN), batch)
        copy = {**position, BEGIN: offsets.to_json(begin)}
        transaction.set_properties({position_property(batch.connector, self.branch): json.dumps(copy)})
        transaction.commit_transaction()


def _begin(before: str | None, batch: Batch) -> Offsets:
    """Where the connector began: its first batch says so, unless it was moved to before that or forgot it since."""
    first = offsets.from_json(before) if before else {}
    if batch.altered:
        return {key: min(offset, batch.offsets[key]) for key, offset in first.items() if key in batch.offsets}
    return {**batch.begin, **first}


def one_attempt(table: Table, spec_id: int | None = None) -> Table:
    """A copy for one attempt to commit, of files of one partition spec where that is given.

    Its transactions fail on a conflict, since PyIceberg's own retries would not look at the floor again; and they
    write the files under the spec they were written for, even if the table has got another one since (K08).
    """
    properties = {**table.metadata.properties, "commit.retry.num-retries": "0"}
    spec = {} if spec_id is None else {"default_spec_id": spec_id}
    return Table(
        table.name(),
        table.metadata.model_copy(update={"properties": properties} | spec),
        table.metadata_location,
        table.io,
        table.catalog,
        table.config,
    )


def append_files(update: UpdateSnapshot, table: Table, files: Sequence[DataFile]) -> None:
    """Add the files to a snapshot, with the kind of append that the table's properties want."""
    merge = table.properties.get("commit.manifest-merge.enabled", "false").lower() == "true"
    with update.merge_append() if merge else update.fast_append() as append:
        for file in files:
            append.append_data_file(file)


def history(table: Table, branch: str) -> Iterator[Snapshot]:
    """The snapshots of a branch, the newest first, as far back as they have not been expired."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    snapshot = table.metadata.snapshot_by_name(branch)
    while snapshot is not None:
        yield snapshot
        snapshot = by_id.get(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None


def position_property(connector: str, branch: str) -> str:
    """Name of the table's property with the copy of a connector's position."""
    return f"{OFFSETS}.{connector}.{branch}"


def has_commit(table: Table, commit_id: str) -> bool:
    """Whether a commit of this id has reached the table."""
    return any(summary_of(snapshot).get(COMMIT_ID) == commit_id for snapshot in table.metadata.snapshots)


def summary_of(snapshot: Snapshot) -> Mapping[str, str]:
    """The properties of a snapshot."""
    return snapshot.summary.additional_properties if snapshot.summary else {}


def _floor(position: str, properties: Mapping[str, str], committed_ms: int, most: Offsets) -> Floor:
    identity = KafkaIdentity(properties.get(CLUSTER_ID, ""), json.loads(properties.get(TOPIC_IDS) or "{}"))
    reached = offsets.from_json(position)
    complete = offsets.from_json(properties[COMPLETE]) if COMPLETE in properties else {}
    behind = any(offset > reached.get(key, 0) for key, offset in most.items())
    return Floor(reached, identity, committed_ms, complete, behind)
