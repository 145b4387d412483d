"""Small data files become large ones, away from the partitions that are written now."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import DateType, IcebergType, TimestampType, TimestamptzType, TimeType
from pyspark.sql import SparkSession

from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.spark.jvm_errors import JVM_ERRORS, java_exception
from frazil.connectors.iceberg.spark.runtime import jvm
from frazil.errors import CommitConflict, TerminalError

_TARGET = "write.target-file-size-bytes"
_TARGET_BYTES = 512 << 20
_CODEC, _LEVEL = "write.parquet.compression-codec", "write.parquet.compression-level"
_MOST_COMMITS = "10"
_RUN = "frazil.maintenance.run"
"""In the summaries of snapshots: which run of maintenance has made them."""
_COMMITS_FAILED = "rewrite commits failed"
_FEWEST = 5
"""Small files of a partition that are worth a rewrite: Iceberg's own number."""
_FOLDING = {"delete-file-threshold": "5", "remove-dangling-deletes": "true"}
"""Options of compaction: a data file that so many delete files belong to is written again without its deleted rows."""


def compact(session: SparkSession, java_table: Any, table: Table, policy: Policy, now_ms: int) -> StepResult:
    """Rewrite what is small in the cold partitions, in several commits, so that a conflict costs only a part.

    Data files of which many rows are deleted are written again without these, and small delete files are merged.

    `session` is for this alone: its settings change. Raises CommitConflict when some of the commits lost against other
    writers (the rest is done), and what the JVM raises.
    """
    head = table.metadata.snapshot_by_name(policy.branch)
    if head is None:
        return StepResult(Step.COMPACT, "data files", note=f"branch {policy.branch} has no snapshot")
    hot = hot_partitions(table, head, now_ms - policy.hot_ms) if grows_cold(table.spec(), table) else set()
    note = f"{len(hot)} partitions left out, which were written lately" if hot else ""
    iceberg: Any = jvm(session).org.apache.iceberg
    cold = cold_filter(iceberg.expressions.Expressions, table, hot)
    options, run = _options(table, policy), uuid4().hex
    total = int((head.summary and head.summary.additional_properties.get("total-data-files")) or 0)
    if policy.dry_run:
        return _plan(iceberg, java_table, cold, options, head.snapshot_id, total, note)
    if _CODEC not in table.properties:  # else Iceberg takes gzip, which its tables had before 1.4
        session.conf.set("spark.sql.iceberg.compression-codec", "zstd")
        if _LEVEL not in table.properties:
            session.conf.set("spark.sql.iceberg.compression-level", "1")
    action = iceberg.spark.actions.SparkActions.get(session._jsparkSession).rewriteDataFiles(java_table)  # noqa: SLF001
    action = action.binPack().filter(cold).toBranch(policy.branch).snapshotProperty(_RUN, run)
    for name, value in options.items():
        action = action.option(name, value)
    try:
        result = action.execute()
        _merge_deletes(session, java_table, cold, policy, run)
    except JVM_ERRORS as error:
        if _COMMITS_FAILED in str(java_exception(error).getMessage()):
            raise CommitConflict(
                f"other writers changed {'.'.join(table.name())} during its compaction; a part is done"
            ) from error
        raise
    failed = int(result.failedDataFilesCount())
    if failed:
        raise TerminalError(
            f"{failed} data files of {'.'.join(table.name())} could not be rewritten and stay as they are; the rest is "
            "done. The log has the reasons."
        )
    if not int(result.rewrittenDataFilesCount()):
        note = _nothing_to_do(note)
    fewer, freed = _removed(table, run)
    return StepResult(Step.COMPACT, "data files", total, total - fewer, freed, note=note)


def _options(table: Table, policy: Policy) -> dict[str, str]:
    """Options of the rewrite: a group is what one task writes, and no more than `policy.tasks` run at once."""
    target = policy.target_file_bytes or int(table.properties.get(_TARGET, _TARGET_BYTES))
    return {
        "target-file-size-bytes": str(target),
        "max-file-group-size-bytes": str(target),
        "max-concurrent-file-group-rewrites": str(policy.tasks),
        "min-input-files": str(_FEWEST),
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": _MOST_COMMITS,
        "partial-progress.max-failed-commits": "0",
        **_FOLDING,
    }


def _plan(
    iceberg: Any, java_table: Any, cold: Any, options: dict[str, str], snapshot_id: int, total: int, note: str
) -> StepResult:
    planner = iceberg.actions.BinPackRewriteFilePlanner(java_table, cold, snapshot_id, True)
    planner.init({name: value for name, value in options.items() if name in set(planner.validOptions())})
    rewritten = added = 0
    groups = planner.plan().groups().iterator()
    while groups.hasNext():
        group = groups.next()
        rewritten += int(group.inputFileNum())
        added += max(int(group.expectedOutputFiles()), 1)
    note = note if rewritten else _nothing_to_do(note)
    return StepResult(Step.COMPACT, "data files", before=total, after=total - rewritten + added, note=note)


def _nothing_to_do(note: str) -> str:
    reason = f"nothing to compact: no partition has {_FEWEST} small files, or one with many deleted rows"
    return f"{note}; else {reason}" if note else reason


def _removed(table: Table, run: str) -> tuple[int, int]:
    """Data files and bytes that the rewrites of a run have saved, by their own summaries; negative for more."""
    files = saved = 0
    for snapshot in table.refresh().metadata.snapshots:
        summary = snapshot.summary
        if summary is not None and summary.additional_properties.get(_RUN) == run:
            told = {name: int(text) for name, text in summary.additional_properties.items() if text.isdecimal()}
            files += told.get("deleted-data-files", 0) - told.get("added-data-files", 0)
            saved += told.get("removed-files-size", 0) - told.get("added-files-size", 0)
    return files, saved


def _merge_deletes(session: SparkSession, java_table: Any, cold: Any, policy: Policy, run: str) -> None:
    """Rewrite delete files of cold partitions, those of `main` alone: Iceberg does it for no other branch.

    Raises what the JVM raises.
    """
    java_table.refresh()
    head = java_table.currentSnapshot()
    if policy.branch != MAIN_BRANCH or head is None or head.summary().get("total-delete-files") in (None, "0"):
        return
    action: Any = jvm(session).org.apache.iceberg.spark.actions.SparkActions.get(session._jsparkSession)  # noqa: SLF001
    action.rewritePositionDeletes(java_table).filter(cold).snapshotProperty(_RUN, run).execute()


_TIMES = {YearTransform: "year", MonthTransform: "month", DayTransform: "day", HourTransform: "hour"}
_EPOCH = datetime(1970, 1, 1)

Partition = tuple[int, tuple[Any, ...]]
"""Id of the spec and the values of its fields."""


def grows_cold(spec: PartitionSpec, table: Table) -> bool:
    """Whether a partition of the spec is done some day, because a time is among its fields.

    A writer comes back to the others again and again; to leave these out would be never to compact them.
    """
    schema = table.schema()
    for field in spec.fields:
        if type(field.transform) in _TIMES:
            return True
        if isinstance(field.transform, IdentityTransform):
            source = schema.find_field(field.source_id).field_type
            if isinstance(source, DateType | TimestampType | TimestamptzType):
                return True
    return False


def hot_partitions(table: Table, head: Snapshot | None, since_ms: int) -> set[Partition]:
    """Partitions that got data files since a snapshot, by those that still exist; compaction does not count."""
    recent = {
        snapshot.snapshot_id
        for snapshot in table.metadata.snapshots
        if snapshot.timestamp_ms >= since_ms
        and (snapshot.summary is None or snapshot.summary.operation is not Operation.REPLACE)
    }
    if head is None or not recent:
        return set()
    found: set[Partition] = set()
    for manifest in head.manifests(table.io):
        if manifest.sequence_number < _first_sequence_number(table, recent):
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            if entry.snapshot_id in recent:
                partition = entry.data_file.partition
                values = tuple(partition[position] for position in range(len(partition)))
                found.add((manifest.partition_spec_id, values))
    return found


def _first_sequence_number(table: Table, snapshots: set[int]) -> int:
    """A manifest that is older than the first of these snapshots has none of their files."""
    return min(s.sequence_number or 0 for s in table.metadata.snapshots if s.snapshot_id in snapshots)


def cold_filter(expressions: Any, table: Table, hot: Iterable[Partition]) -> Any:
    """Iceberg's Java expression for the rows outside of the hot partitions; `expressions` is the class in the JVM."""
    specs = table.metadata.specs()
    result = expressions.alwaysTrue()
    for spec_id, values in hot:
        partition = _partition(expressions, table, specs, spec_id, values)
        result = getattr(expressions, "and")(result, getattr(expressions, "not")(partition))
    return result


def _partition(
    expressions: Any, table: Table, specs: Mapping[int, PartitionSpec], spec_id: int, values: tuple[Any, ...]
) -> Any:
    result = expressions.alwaysTrue()
    for field, value in zip(specs[spec_id].fields, values, strict=True):
        term = _term(expressions, table, field)
        if term is not None:
            is_value = expressions.isNull(term) if value is None else _equal(expressions, table, field, term, value)
            result = getattr(expressions, "and")(result, is_value)
    return result


def _equal(expressions: Any, table: Table, field: PartitionField, term: Any, value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return expressions.isNaN(term)
    source = table.schema().find_field(field.source_id).field_type
    return expressions.equal(term, _literal(value, field.transform.result_type(source)))


def _term(expressions: Any, table: Table, field: PartitionField) -> Any:
    """Term over the column that a partition field holds; None for a void field or an unknown transform."""
    column = table.schema().find_column_name(field.source_id)
    if column is None:
        return None
    match field.transform:
        case IdentityTransform():
            return expressions.ref(column)
        case BucketTransform(num_buckets=buckets):
            return expressions.bucket(column, buckets)
        case TruncateTransform(width=width):
            return expressions.truncate(column, width)
    time = _TIMES.get(type(field.transform))
    return None if time is None else getattr(expressions, time)(column)


def _literal(value: Any, type_: IcebergType) -> Any:
    """A value of a manifest in a form that keeps its meaning in Java: whole numbers lose their width on the way."""
    match type_:
        case TimestampType() | TimestamptzType() if isinstance(value, int):
            zone = UTC if isinstance(type_, TimestamptzType) else None
            return (_EPOCH.replace(tzinfo=zone) + timedelta(microseconds=value)).isoformat()
        case TimeType() if isinstance(value, int):
            return (_EPOCH + timedelta(microseconds=value)).time().isoformat()
    return str(value) if isinstance(value, UUID) else value
