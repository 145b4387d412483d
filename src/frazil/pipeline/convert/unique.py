"""Rows whose maps have a key twice: arrow-json keeps both, readers such as DuckDB refuse the whole column."""

from typing import Any

import numpy as np
import pyarrow as pa

_Index = np.ndarray[Any, np.dtype[np.int64]]
_BITS = 63


def rows_with_repeated_keys(table: pa.Table) -> set[int]:
    """Find the rows of a table in which a map, at any depth, holds the same key more than once."""
    rows = np.arange(table.num_rows)
    found: set[int] = set()
    for column in table.columns:
        if _has_map(column.type):
            _collect(column, rows, found)
    return found


def _has_map(type_: pa.DataType) -> bool:
    return pa.types.is_map(type_) or any(_has_map(type_.field(i).type) for i in range(type_.num_fields))


def _collect(array: pa.Array | pa.ChunkedArray, rows: _Index, found: set[int]) -> None:
    """Add the rows with repeated keys; `rows[i]` is the row of the table that element `i` belongs to."""
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
    if pa.types.is_struct(array.type):
        for index in range(array.type.num_fields):
            if _has_map(array.type.field(index).type):
                _collect(array.field(index), rows, found)
        return
    offsets = array.offsets.to_numpy()
    start, end, lengths = int(offsets[0]), int(offsets[-1]), np.diff(offsets)
    if pa.types.is_map(array.type):
        keys = array.keys.slice(start, end - start)
        found.update(_repeated(keys, offsets - start, lengths, rows).tolist())
        if _has_map(array.type.item_type):
            _collect(array.items.slice(start, end - start), np.repeat(rows, lengths), found)
    else:
        _collect(array.values.slice(start, end - start), np.repeat(rows, lengths), found)


def _repeated(keys: pa.Array, starts: _Index, lengths: _Index, rows: _Index) -> _Index:
    several = lengths > 1
    if not several.any():
        return rows[:0]
    encoded = keys.dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.uint64)
    if len(encoded.dictionary) <= _BITS:
        # One bit per key: a key that stands twice leaves fewer bits than keys.
        bits = np.uint64(1) << codes
        begins = starts[:-1][lengths > 0]
        same = np.bitwise_count(np.bitwise_or.reduceat(bits, begins)) == lengths[lengths > 0]
        return np.asarray(rows[lengths > 0][~same])
    owners = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((codes, owners))
    twice = (np.diff(codes[order].astype(np.int64)) == 0) & (np.diff(owners[order]) == 0)
    return np.asarray(rows[np.unique(owners[order][1:][twice])])
