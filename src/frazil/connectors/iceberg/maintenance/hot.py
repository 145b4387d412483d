"""Partitions that a writer fills now, which compaction leaves alone."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
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
