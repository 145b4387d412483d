"""Rows of a table's data files, in one Arrow schema whichever program wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table

_ALL_ROWS = AlwaysTrue()


def arrow_schema(projection: Schema) -> pa.Schema:
    """Arrow schema of the rows of a projection."""
    return schema_to_pyarrow(projection, include_field_ids=False)


def read_batches(
    table: Table,
    tasks: Sequence[FileScanTask],
    projection: Schema,
    row_filter: BooleanExpression = _ALL_ROWS,
    limit: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of files, at most `limit`, in the schema `arrow_schema(projection)`.

    PyIceberg gives columns in the Arrow type that a file was written with, such as `string` or `large_string`, and
    rows of different types can neither be put together nor sorted. Raises OSError when a file cannot be read.
    """
    schema = arrow_schema(projection)
    scan = ArrowScan(table.metadata, table.io, projection, row_filter, limit=limit)
    for batch in scan.to_record_batches(tasks):
        yield batch.cast(schema)


def read_table(
    table: Table,
    tasks: Sequence[FileScanTask],
    projection: Schema,
    row_filter: BooleanExpression = _ALL_ROWS,
    limit: int | None = None,
) -> pa.Table:
    """Read the rows as one Arrow table."""
    batches = read_batches(table, tasks, projection, row_filter, limit)
    return pa.Table.from_batches(batches, arrow_schema(projection))
