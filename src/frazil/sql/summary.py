"""Summary of a table at a glance: row total, newest snapshot, newest rows, without reading the table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import AlwaysTrue, EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import DateType, NestedField, TimestampType, TimestamptzType

from frazil.clients.data_files import read_table, row_count
from frazil.sql.arrow_values import column_at, rows_of
from frazil.sql.metadata import instant
from frazil.sql.names import Names, answers
from frazil.sql.newest import upper_bound
from frazil.sql.result import Result

FIRST_COLUMNS = 8

Shown = Callable[[Schema], Mapping[str, str] | None]
"""Dotted paths of the columns that suit a table with their labels; None for the first columns."""


@dataclass(frozen=True)
class Snapshot:
    """The newest snapshot of a table; `added_records` is None where its writer did not say."""

    snapshot_id: int
    committed_at: datetime
    operation: str
    added_records: int | None


@dataclass(frozen=True)
class TableSummary:
    """`newest` are the newest rows by their time, newest first; without a column of a time, just rows.

    `last` is the first of them with all its columns.
    """

    name: str
    rows: int
    snapshot: Snapshot | None
    newest: Result
    last: Result | None


def known_tables(catalog: Catalog, namespace: str) -> list[str]:
    """Names of the tables of a namespace. Raises QueryError when there is no such namespace."""
    names = Names(catalog, "", namespace)
    return names.tables(names.namespace(namespace))


def summarise(
    catalog: Catalog, namespace: str, name: str, rows: int, shown: Shown, *, last: bool = False
) -> TableSummary:
    """Summary of one table with the columns of its `rows` newest rows that `shown` says.

    `last` asks for the newest with all its columns.

    Raises QueryError when there is no such table, ServiceUnavailable when catalog or object store does not answer.
    """
    table = Names(catalog, "", namespace).source([namespace, name]).table
    with answers():
        reader = _Newest(table)
        schema = table.schema()
        columns = shown(schema) or {field.name: field.name for field in schema.fields[:FIRST_COLUMNS]}
        paths = list(columns)
        newest = reader.rows(paths, rows)
        known = row_count(table.current_snapshot())
        full = reader.full(newest) if last and newest.num_rows else None
        return TableSummary(
            name=table.name()[-1],
            rows=table.scan().count() if known is None else known,
            snapshot=_snapshot(table),
            newest=_result(list(columns.values()), newest, paths),
            last=_result(full.column_names, full, full.column_names) if full is not None else None,
        )


def _snapshot(table: Table) -> Snapshot | None:
    current = table.current_snapshot()
    if current is None:
        return None
    properties = current.summary.additional_properties if current.summary else {}
    added = properties.get("added-records")
    return Snapshot(
        current.snapshot_id,
        instant(current.timestamp_ms),
        current.summary.operation.value if current.summary else "",
        None if added is None else int(added),
    )


def _result(columns: Sequence[str], table: pa.Table, paths: Sequence[str]) -> Result:
    return Result(tuple(columns), rows_of([column_at(table, path) for path in paths]))


def _order_column(schema: Schema) -> NestedField | None:
    """`time`, else the first column that holds one."""
    ordered = [f for f in schema.fields if isinstance(f.field_type, TimestamptzType | TimestampType | DateType)]
    return next((f for f in ordered if f.name == "time"), ordered[0] if ordered else None)


def _newest_indices(table: pa.Table, column: str) -> pa.Array:
    # stable, so that of equal times the row that was read first stays first
    return pc.sort_indices(table, sort_keys=[(column, "descending", "at_end")])


class _Newest:
    """Reads the files of a table from the newest on, and stops where older files cannot change the answer."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._schema = table.schema()
        self.order = _order_column(self._schema)
        self._tasks = list(table.scan().plan_files())

    def rows(self, paths: Sequence[str], count: int) -> pa.Table:
        wanted = [*paths, self.order.name] if self.order and self.order.name not in paths else list(paths)
        projection = self._schema.select(*wanted)
        if self.order is None:
            return read_table(self._table, self._tasks, projection, limit=count)
        found = read_table(self._table, [], projection)
        for latest, task in self._newest_first(self.order):
            oldest = found.column(self.order.name)[-1].value if found.num_rows >= count else None
            if latest is not None and oldest is not None and latest < oldest:
                break
            found = pa.concat_tables([found, read_table(self._table, [task], projection)])
            found = found.take(_newest_indices(found, self.order.name)[:count])
        return found

    def full(self, newest: pa.Table) -> pa.Table:
        """The first of `newest`, which are in order, with all its columns."""
        if self.order is None:
            return read_table(self._table, self._tasks, self._schema, limit=1)
        value = newest.column(self.order.name)[0].as_py()
        at_that_time = literal(value.isoformat()) if value is not None else None
        row_filter = EqualTo(term=Reference(self.order.name), value=at_that_time) if at_that_time else AlwaysTrue()
        for _, task in self._newest_first(self.order):
            found = read_table(self._table, [task], self._schema, row_filter, 1)
            if found.num_rows:
                return found
        return read_table(self._table, [], self._schema)

    def _newest_first(self, order: NestedField) -> Iterator[tuple[Any, FileScanTask]]:
        """Files by the upper bound of the order column; those without a bound (None) first."""
        bounded = [(upper_bound(task, order), task) for task in self._tasks]
        yield from ((None, task) for latest, task in bounded if latest is None)
        known = [(latest, task) for latest, task in bounded if latest is not None]
        yield from sorted(known, key=lambda pair: pair[0], reverse=True)
