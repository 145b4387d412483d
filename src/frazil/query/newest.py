"""Files that `ORDER BY time DESC LIMIT n` can do without, by the bounds that the manifests hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.types import DateType, IntegerType, LongType, NestedField, PrimitiveType, TimestampType, TimestamptzType
from sqlglot import exp

from frazil.query.pushdown import ROWWISE, ColumnNames, is_exact, row_count, select_of

# Types whose bounds in a manifest are values of the column, not shortened ones.
_BOUNDED = (TimestamptzType, TimestampType, DateType, LongType, IntegerType)


@dataclass(frozen=True)
class Newest:
    """The `rows` rows with the greatest values of a top-level column are wanted; nulls come last."""

    column: str
    rows: int


def newest_rows(table: exp.Table, schema: Schema) -> Newest | None:
    """What `ORDER BY column DESC LIMIT n` asks of a scan, for a SELECT of this table alone that filters nothing else.

    Its WHERE clause has to be one that Iceberg evaluates in full, so that the manifests tell how many rows are left.
    """
    select = select_of(table)
    if select is None or table.args.get("sample"):
        return None
    clauses = {name for name, value in select.args.items() if value}
    allowed = {"expressions", "from_", "where", "order", "limit", "offset", "with_"}
    if clauses - allowed or not {"order", "limit"} <= clauses:
        return None
    if any(not isinstance(node, ROWWISE) for item in select.expressions for node in item.walk()):
        return None
    names = ColumnNames(table, schema)
    if "where" in clauses and not is_exact(select.args["where"].this, names):
        return None
    field = _ordering_column(select, names)
    counts = [row_count(select.args[name]) for name in ("limit", "offset") if name in clauses]
    if field is None or None in counts:
        return None
    return Newest(field.name, sum(count for count in counts if count is not None))


def _ordering_column(select: exp.Select, names: ColumnNames) -> NestedField | None:
    first = select.args["order"].expressions[0]
    if not isinstance(first, exp.Ordered) or not first.args.get("desc") or first.args.get("nulls_first"):
        return None
    field = names.column(first.this)
    if field is None or not isinstance(field.field_type, _BOUNDED):
        return None
    # An alias of that name would be what the statement orders by.
    for item in select.expressions:
        if (
            isinstance(item, exp.Alias)
            and item.alias.lower() == field.name.lower()
            and names.column(item.this) != field
        ):
            return None
    return field


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
