"""Arrow columns to Python values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """Values of a column: maps as dict, whole decimals as int, nanoseconds (no Python type has them) as ISO text.

    Where a map of the column has a key twice, all its maps are lists of pairs, so that nothing is lost.
    """
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return [None if value is None else value.replace(" ", "T") for value in column.cast(pa.string()).to_pylist()]
    try:
        values = column.to_pylist(maps_as_pydicts="strict")
    except KeyError:
        values = column.to_pylist()
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        return [None if value is None else int(value) for value in values]
    return list(values)


def column_at(table: pa.Table, path: str) -> pa.ChunkedArray:
    """The column at a path such as `callInfo.httpStatusCode`; a field of a null struct is null."""
    first, *rest = path.split(".")
    column = table.column(first)
    return pc.struct_field(column, rest) if rest else column


def rows_of(columns: list[pa.ChunkedArray]) -> list[tuple[Any, ...]]:
    """Rows of Python values of columns of one length."""
    return list(zip(*map(python_values, columns), strict=True))
