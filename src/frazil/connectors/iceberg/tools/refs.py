"""Branches and tags of a table, and the way back to an older snapshot."""

from collections.abc import Callable
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update.snapshot import ManageSnapshots

from frazil.connectors.iceberg.table.attempts import NOT_CONFIRMED, one_attempt
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch, history
from frazil.connectors.iceberg.tools.describe import committers
from frazil.errors import AlreadyExists, CommitConflict, CommitStateUnknown, NotFound, UsageError

Change = Callable[[ManageSnapshots], ManageSnapshots]


@dataclass(frozen=True)
class Rollback:
    """A branch that goes back from its head to an older snapshot; `floors` are by connector: position now, and then."""

    table: Table
    branch: str
    head: Snapshot
    target: Snapshot
    floors: dict[str, tuple[Floor, Floor]]

    @property
    def taken(self) -> int:
        """Number of snapshots that the branch loses."""
        return [one.snapshot_id for one in history(self.table, self.branch)].index(self.target.snapshot_id)


def plan_rollback(catalog: Catalog, name: str, branch: str, find: Callable[[list[Snapshot]], Snapshot]) -> Rollback:
    """Look what a rollback would do; `find` chooses among the snapshots of the branch, the newest first.

    Raises NotFound for a table or a branch that does not exist, and as `TableBranch.load` does.
    """
    place = TableBranch(catalog, name, branch)
    table = place.load()
    known = list(history(table, branch))
    if not known:
        raise NotFound(f"{branch} of {name} has no snapshots. Nothing was changed.")
    target = find(known)
    after = _with_head(table, branch, target)
    floors = {
        connector: (place.floor(table, connector), place.floor(after, connector))
        for connector, branches in committers(table).items()
        if branch in branches
    }
    return Rollback(table, branch, known[0], target, floors)


def roll_back(plan: Rollback, *, keep_positions: bool) -> None:
    """Move the branch back; with `keep_positions` commits without files give connectors the positions of before.

    Raises CommitConflict when the branch was changed meanwhile (it is as that change left it), CommitStateUnknown or
    ServiceUnavailable when the catalog does not answer.
    """
    name = ".".join(plan.table.name())
    if plan.head.snapshot_id != plan.target.snapshot_id:
        change_refs(plan.table, lambda refs: refs.create_branch(plan.target.snapshot_id, plan.branch))
    if not keep_positions:
        return
    place = TableBranch(plan.table.catalog, name, plan.branch)
    for connector, (before, _) in plan.floors.items():
        table = place.load()
        floor = place.floor(table, connector)
        if floor.offsets != before.offsets:
            position = Commit(connector, [], {}, before.offsets, before.identity, None, altered=True)
            place.commit(table, floor, position)


def _with_head(table: Table, branch: str, head: Snapshot) -> Table:
    """A copy of the table as it would be with another head of the branch."""
    ref = SnapshotRef.model_validate({"snapshot-id": head.snapshot_id, "type": SnapshotRefType.BRANCH})
    changed: dict[str, object] = {"refs": {**table.metadata.refs, branch: ref}}
    if branch == MAIN_BRANCH:
        changed["current_snapshot_id"] = head.snapshot_id
    metadata = table.metadata.model_copy(update=changed)
    return Table(table.name(), metadata, table.metadata_location, table.io, table.catalog, table.config)


def add_ref(table: Table, ref: str, snapshot: Snapshot, *, tag: bool) -> None:
    """Make a branch or a tag. Raises AlreadyExists, and as `change_refs` does."""
    if ref in table.refs():
        kind = table.refs()[ref].snapshot_ref_type.value
        raise AlreadyExists(f"{'.'.join(table.name())} has a {kind} {ref} already. Nothing was changed.")
    add = ManageSnapshots.create_tag if tag else ManageSnapshots.create_branch
    change_refs(table, lambda refs: add(refs, snapshot.snapshot_id, ref))


def remove_ref(table: Table, ref: str, *, tag: bool) -> None:
    """Remove a branch or a tag; its snapshots stay until they are expired. Raises NotFound, and as `change_refs`."""
    name = ".".join(table.name())
    kind = SnapshotRefType.TAG if tag else SnapshotRefType.BRANCH
    found = sorted(one for one, value in table.refs().items() if value.snapshot_ref_type is kind)
    if ref not in found:
        raise NotFound(f"{name} has no {kind.value} {ref}, but {', '.join(found) or 'none'}. Nothing was changed.")
    if ref == MAIN_BRANCH:
        raise UsageError(f"{MAIN_BRANCH} of {name} cannot be removed. Nothing was changed.")
    change_refs(table, lambda refs: refs.remove_tag(ref) if tag else refs.remove_branch(ref))


def change_refs(table: Table, change: Change) -> None:
    """Make one change of branches and tags, conditional on what they are in `table`.

    Raises CommitConflict when others have changed them meanwhile, CommitStateUnknown when the catalog does not confirm.
    """
    name = ".".join(table.name())
    try:
        change(one_attempt(table).manage_snapshots()).commit()
    except CommitFailedException as error:
        raise CommitConflict(
            f"{name} was changed by others meanwhile. Nothing was changed. Look at what came in and repeat the command."
        ) from error
    except NOT_CONFIRMED as error:
        raise CommitStateUnknown(
            f"the catalog did not confirm the change of {name} ({type(error).__name__}: {error}). Look with `tables "
            "snapshots`, and repeat the command if it is not there."
        ) from error
