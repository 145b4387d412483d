"""Expiry of old snapshots, with the files that only they have; never of a connector's position."""

import json
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyspark.sql import SparkSession

from frazil.connectors.iceberg.maintenance.policy import DAY_MS, Policy, Step, StepResult
from frazil.connectors.iceberg.spark.runtime import jvm
from frazil.connectors.iceberg.table.commit import (
    CONNECTOR,
    OFFSETS,
    first_taken_back,
    history,
    position_property,
    summary_of,
)

_KEEP_MS, _KEEP_SNAPSHOTS = "history.expire.max-snapshot-age-ms", "history.expire.min-snapshots-to-keep"
_DEFAULT_KEEP_MS = DAY_MS
"""Age at which snapshots expire. The table property's five days would be 43,000 snapshots of a writer that commits
every 10 s, all of them in the metadata file that each commit writes anew."""
_DEFAULT_KEEP_SNAPSHOTS = 100
_KEPT = "the position of connector {} is not in the table's properties until its next commit, so its snapshot is kept"
_DELETED = ("DataFiles", "PositionDeleteFiles", "EqualityDeleteFiles", "Manifests", "ManifestLists", "StatisticsFiles")


def expire(session: SparkSession, java_table: Any, table: Table, policy: Policy, now_ms: int) -> StepResult:
    """Expire what is older than wanted, of every branch; tags and branches keep what they name.

    A snapshot whose position is not in the table's properties stays, with all that are newer. Raises what the JVM
    raises.
    """
    keep_ms = _number(policy.keep_ms, table, _KEEP_MS, _DEFAULT_KEEP_MS)
    keep = _number(policy.keep_snapshots, table, _KEEP_SNAPSHOTS, _DEFAULT_KEEP_SNAPSHOTS)
    wanted = now_ms - keep_ms
    before = len(table.metadata.snapshots)
    older_than, note = wanted, ""
    planned = _planned(java_table, older_than, keep)
    holders = {name: s for name, s in positions_without_copy(table).items() if s.snapshot_id in planned}
    if holders:
        older_than = min(snapshot.timestamp_ms for snapshot in holders.values())
        note = "; ".join(_KEPT.format(name) for name in holders)
        planned = _planned(java_table, older_than, keep)
        if planned & {snapshot.snapshot_id for snapshot in holders.values()}:
            return StepResult(Step.EXPIRE, "snapshots", note=f"a branch has a shorter age of its own; {note}")
    if not planned or policy.dry_run:
        return StepResult(Step.EXPIRE, "snapshots", before, before - len(planned), note=note)
    actions: Any = jvm(session).org.apache.iceberg.spark.actions.SparkActions
    action = actions.get(session._jsparkSession).expireSnapshots(java_table)  # noqa: SLF001
    result = action.expireOlderThan(older_than).retainLast(keep).execute()
    files = sum(int(getattr(result, f"deleted{kind}Count")()) for kind in _DELETED)
    removed = before - len(table.refresh().metadata.snapshots)
    deleted = f"{files:,} files of theirs removed"
    return StepResult(Step.EXPIRE, "snapshots", before, before - removed, note="; ".join(filter(None, (deleted, note))))


def _planned(java_table: Any, older_than_ms: int, keep: int) -> set[int]:
    """Ids of the snapshots that would go."""
    snapshots = java_table.expireSnapshots().expireOlderThan(older_than_ms).retainLast(keep).apply()
    return {int(snapshot.snapshotId()) for snapshot in snapshots}


def positions_without_copy(table: Table) -> dict[str, Snapshot]:
    """Snapshots that alone hold a connector's position, by the connector's name.

    A connector whose newest snapshot is gone reads on from the table's property. After a rollback that still has the
    position from before it, until the next commit of the connector puts it right. A branch without the property was
    made from another one, and the connector does not commit to it. What a rollback has taken from a branch may be all
    that tells the position at its new head.
    """
    found: dict[str, Snapshot] = {}
    branches = [name for name, ref in table.metadata.refs.items() if ref.snapshot_ref_type is SnapshotRefType.BRANCH]
    for branch in branches:
        seen: set[str] = set()
        for snapshot in history(table, branch):
            summary = summary_of(snapshot)
            connector = summary.get(CONNECTOR)
            if connector is None or OFFSETS not in summary or connector in seen:
                continue
            seen.add(connector)
            if not _copied(table, connector, branch, summary[OFFSETS]):
                earlier = found.get(connector, snapshot)
                found[connector] = min(earlier, snapshot, key=lambda each: each.timestamp_ms)
        for connector in {summary_of(snapshot).get(CONNECTOR, "") for snapshot in table.metadata.snapshots} - seen:
            taken = first_taken_back(table, connector, branch)
            if taken is not None:
                found[connector] = min(found.get(connector, taken), taken, key=lambda each: each.timestamp_ms)
    return found


def _copied(table: Table, connector: str, branch: str, position: str) -> bool:
    text = table.properties.get(position_property(connector, branch))
    if not text:
        return branch != MAIN_BRANCH
    return bool(json.loads(json.loads(text)[OFFSETS]) == json.loads(position))


def _number(wanted: int | None, table: Table, name: str, default: int) -> int:
    return wanted if wanted is not None else int(table.properties.get(name, default))
