"""Write-audit-publish: the commits of a branch become those of another one, all at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from frazil.clients.data_files import row_count
from frazil.connectors.iceberg.table.attempts import NOT_CONFIRMED, one_attempt
from frazil.connectors.iceberg.table.commit import TableBranch
from frazil.errors import CommitConflict, CommitStateUnknown, ConfigError, NotFound


@dataclass(frozen=True)
class Published:
    """New head of a branch, and the commits and rows that came with it.

    `rows` is how many rows more the branch has, less than 0 for fewer; None when the snapshots do not say.
    """

    table: str
    source: str
    branch: str
    snapshot_id: int
    commits: int
    rows: int | None


def publish(catalog: Catalog, name: str, source: str, branch: str = MAIN_BRANCH) -> Published:
    """Move `branch` forward to the head of `source`; nothing happens when it is there already.

    Raises NotFound for a table or branch that does not exist, ConfigError when `branch` has commits that `source` does
    not, CommitConflict when `branch` was changed meanwhile (it is as that change left it), CommitStateUnknown or
    ServiceUnavailable when the catalog does not answer.
    """
    target = TableBranch(catalog, name, branch)
    table = target.load()
    head = _head(table, source)
    if head is None:
        branches = sorted(
            ref for ref, value in table.refs().items() if value.snapshot_ref_type is SnapshotRefType.BRANCH
        )
        known = f"it has {', '.join(branches)}" if branches else "it has none, since nothing was written yet"
        raise NotFound(f"table {name} has no branch {source}: {known}. Nothing was published.")
    before = _head(table, branch)
    new = _new_commits(TableBranch(catalog, name, source), table, before)
    if before is not None and before.snapshot_id == head.snapshot_id:
        return Published(name, source, branch, head.snapshot_id, 0, 0)
    if new is None:
        snapshots = f'"{name.rpartition(".")[2]}$snapshots"'
        raise ConfigError(
            f"{branch} of {name} has commits that {source} does not have, so it cannot just move forward. Nothing was "
            f"published. See them in {snapshots}; then delete the branch {source} and let it begin at {branch} again."
        )
    _move(target, table, head)
    after, earlier = row_count(head), row_count(before)
    rows = None if after is None or earlier is None else after - earlier
    return Published(name, source, branch, head.snapshot_id, len(new), rows)


def _move(target: TableBranch, table: Table, head: Snapshot) -> None:
    where = f"{target.branch} of {target.name}"
    try:
        one_attempt(table).manage_snapshots().create_branch(head.snapshot_id, target.branch).commit()
    except CommitFailedException as error:
        raise CommitConflict(
            f"{where} was changed by others meanwhile. Nothing was published. Look at what came in and repeat the "
            "command."
        ) from error
    except NOT_CONFIRMED as error:
        now = _head(target.load(), target.branch)
        if now is None or now.snapshot_id != head.snapshot_id:
            raise CommitStateUnknown(
                f"the catalog did not confirm that {where} was moved ({type(error).__name__}: {error}). Repeat the "
                "command: it does nothing when the branch is there already."
            ) from error


def _head(table: Table, branch: str) -> Snapshot | None:
    return table.metadata.snapshot_by_name(branch)


def _new_commits(source: TableBranch, table: Table, before: Snapshot | None) -> list[Snapshot] | None:
    """The commits of the source that come after `before`; None when that is not among its ancestors."""
    new: list[Snapshot] = []
    history: Iterator[Snapshot] = source.history(table)
    for snapshot in history:
        if before is not None and snapshot.snapshot_id == before.snapshot_id:
            return new
        new.append(snapshot)
    return new if before is None else None
