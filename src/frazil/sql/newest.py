"""Files that `ORDER BY time DESC LIMIT n` can do without, by the bounds that the manifests hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.types import DateType, IntegerType, LongType, NestedField, PrimitiveType, TimestampType, TimestamptzType

#: Types whose bounds in a manifest are values of the column, not shortened ones.
BOUNDED = (TimestamptzType, TimestampType, DateType, LongType, IntegerType)


@dataclass(frozen=True)
class Newest:
    """The `rows` rows with the greatest values of a top-level column are wanted; nulls come last."""

    column: str
    rows: int


def newest_files(tasks: Sequence[FileScanTask], schema: Schema, wanted: Newest) -> list[FileScanTask]:
    """The files that may hold one of the wanted rows.

    Files whose every row counts are gone through by their smallest value, from the greatest on, until they have enough
    rows; a file whose greatest value is below all of these cannot matter.
    """
    field = schema.find_field(wanted.column)
    certain = [(lower_bound(task, field), _rows_that_count(task, field)) for task in tasks]
    found = 0
    for lower, rows in sorted((pair for pair in certain if pair[0] is not None and pair[1]), reverse=True):
        found += rows
        if found >= wanted.rows:
            uppers = [(upper_bound(task, field), task) for task in tasks]
            return [task for upper, task in uppers if upper is None or upper >= lower]
    return list(tasks)


def upper_bound(task: FileScanTask, field: NestedField) -> Any:
    """Iceberg's number for the greatest value of a column in a file; None where the file does not say."""
    return _bound(task.file.upper_bounds, field)


def lower_bound(task: FileScanTask, field: NestedField) -> Any:
    """Iceberg's number for the smallest value of a column in a file; None where the file does not say."""
    return _bound(task.file.lower_bounds, field)


def _bound(bounds: dict[int, bytes] | None, field: NestedField) -> Any:
    bound = (bounds or {}).get(field.field_id)
    if bound is None or not isinstance(field.field_type, PrimitiveType):
        return None
    return from_bytes(field.field_type, bound)


def _rows_that_count(task: FileScanTask, field: NestedField) -> int:
    """Rows of a file with a value in the column, where all rows pass the filter and none is deleted; else 0."""
    if task.delete_files or not isinstance(task.residual, AlwaysTrue):
        return 0
    nulls = 0 if field.required else (task.file.null_value_counts or {}).get(field.field_id)
    return 0 if nulls is None else task.file.record_count - nulls
