"""Columns of a Parquet file that get no dictionary: where values hardly ever repeat it costs time and space alone."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

_PLACES, _ROWS = 16, 256
"""Rows beside each other that are looked at of a column, at places that lie evenly apart."""
_LEAST = 1024
_DISTINCT = 0.99
"""Part of these that are different where there are more values than a dictionary of Parquet's size can hold."""


def with_dictionary(table: pa.Table) -> bool | list[str]:
    """Choose those leaves of a table that get a dictionary, by their paths in Parquet; true for all of them.

    Leaves inside of others always get one.
    """
    chosen = [field for field, column in zip(table.schema, table.columns, strict=True) if not _hardly_repeats(column)]
    if len(chosen) == table.num_columns:
        return True
    return [path for field in chosen for path in _leaves(field.name, field.type)]


def _leaves(path: str, type_: pa.DataType) -> Iterator[str]:
    if pa.types.is_struct(type_):
        for field in type_:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(type_):
        yield from _leaves(f"{path}.key_value.key", type_.key_type)
        yield from _leaves(f"{path}.key_value.value", type_.item_type)
    elif pa.types.is_list(type_):
        yield from _leaves(f"{path}.list.element", type_.value_type)
    else:
        yield path


def _hardly_repeats(column: pa.ChunkedArray) -> bool:
    if pa.types.is_nested(column.type) or len(column) < _LEAST:
        return False
    step = max(len(column) // _PLACES, _ROWS)
    parts = [column.slice(start, _ROWS) for start in range(0, len(column), step)]
    sample = pa.chunked_array([chunk for part in parts for chunk in part.chunks], column.type).drop_null()
    return len(sample) >= _LEAST and pc.count_distinct(sample).as_py() > _DISTINCT * len(sample)
