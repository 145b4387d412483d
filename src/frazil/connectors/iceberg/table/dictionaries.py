"""Columns of a Parquet file that get no dictionary: where values hardly ever repeat it costs time and space alone."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

_PLACES, _ROWS = 16, 256
"""What is looked at of a column: rows beside each other, at places that lie evenly apart."""
_LEAST = 1024
_DISTINCT = 0.99
"""Part of these that are different where there are more values than a dictionary of Parquet's size can hold."""


def with_dictionary(table: pa.Table, paths: Iterable[str]) -> bool | list[str]:
    """Choose those of the leaves of a table, given by their paths, that get a dictionary; true for all of them.

    Leaves inside of others always get one.
    """
    without = {name for name, column in zip(table.column_names, table.columns, strict=True) if _hardly_repeats(column)}
    return [path for path in paths if path not in without] if without else True


def _hardly_repeats(column: pa.ChunkedArray) -> bool:
    if pa.types.is_nested(column.type) or len(column) < _LEAST:
        return False
    step = max(len(column) // _PLACES, _ROWS)
    parts = [column.slice(start, _ROWS) for start in range(0, len(column), step)]
    sample = pa.chunked_array([chunk for part in parts for chunk in part.chunks], column.type).drop_null()
    return len(sample) >= _LEAST and pc.count_distinct(sample).as_py() > _DISTINCT * len(sample)
