"""Rows whose numbers may have lost digits on the fast way, which reads all numbers of a floating column as doubles."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_Doubles = np.ndarray[Any, np.dtype[np.float64]]
_Index = np.ndarray[Any, np.dtype[np.int64]]
_WHOLE_FROM = float(1 << 53)
"""From here on a double is a whole number, and not all whole numbers are doubles."""
_KEPT = 6
"""Numbers of up to so many digits keep them as floats."""
_NORMAL_FLOAT = float(np.finfo(np.float32).smallest_normal)
"""Numbers below it have fewer digits as floats."""
_MIDDLE, _BEYOND_FLOAT = 0x10000000, 0x1FFFFFFF
"""Bits of a double that a float does not have, and their pattern in the middle between two floats."""


_ZEROS, _TINY = b"0" * 40, re.compile(rb"[eE]-[0-9]{3,}\s*[,}\]]")
"""Texts of which every number has one that is too small for a double."""


def double_schema(schema: pa.Schema) -> pa.Schema:
    """Put doubles in place of floats, at any depth; the schema itself where it has none."""
    doubles = pa.schema([field.with_type(_double_type(field.type)) for field in schema])
    return schema if doubles.equals(schema) else doubles


def _double_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_float32(type_):
        return pa.float64()
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_double_type(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_double_type(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(type_.key_field, type_.item_field.with_type(_double_type(type_.item_type)))
    return type_


def has_vanished(table: pa.Table, text: bytes) -> bool:
    """Whether a number in the JSON text of a table may have become zero, since no double is as small."""
    return any(_has_zero(chunk) for column in table.columns for chunk in column.chunks) and _has_tiny(text)


def _has_zero(array: pa.Array) -> bool:
    if pa.types.is_floating(array.type):
        return bool(pc.any(pc.equal(array, 0)).as_py())
    if pa.types.is_struct(array.type):
        return any(_has_zero(array.field(index)) for index in range(array.type.num_fields))
    if pa.types.is_map(array.type):
        return _has_zero(array.items)
    return pa.types.is_list(array.type) and _has_zero(array.values)


def _has_tiny(text: bytes) -> bool:
    if _ZEROS in text:
        return True
    codes = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(codes[1:-2] == ord("-"))
    at = at[(codes[at] | 0x20 == ord("e")) & (codes[at + 2] - ord("0") < 10)]
    return any(_TINY.match(text, one) for one in at.tolist())


def inexact_rows(table: pa.Table, schema: pa.Schema, *, legacy: bool = False) -> dict[str, set[int]]:
    """Find rows by column whose source text has to be read; `schema` has the columns as they are to be stored.

    With `legacy` also those with a minus zero, of which Kafka Connect has none.
    """
    rows = np.arange(table.num_rows)
    found: dict[str, set[int]] = {}
    for field in schema:
        if _has_floating(field.type):
            _collect(table.column(field.name), field.type, rows, found.setdefault(field.name, set()), legacy)
    return {name: some for name, some in found.items() if some}


def _has_floating(type_: pa.DataType) -> bool:
    inside = any(_has_floating(type_.field(i).type) for i in range(type_.num_fields))
    return inside or pa.types.is_floating(type_)


def _collect(
    array: pa.Array | pa.ChunkedArray, type_: pa.DataType, rows: _Index, found: set[int], legacy: bool
) -> None:
    """Add rows with such numbers; `rows[i]` is the row of the table that element `i` belongs to."""
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
    if pa.types.is_floating(type_):
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
        suspicious = _suspicious(values, single=pa.types.is_float32(type_))
        if legacy:
            suspicious |= (values == 0) & np.signbit(values)
        found.update(rows[suspicious].tolist())
    elif pa.types.is_struct(type_):
        for index in range(type_.num_fields):
            if _has_floating(type_.field(index).type):
                _collect(array.field(index), type_.field(index).type, rows, found, legacy)
    elif pa.types.is_list(type_) or pa.types.is_map(type_):
        offsets = array.offsets.to_numpy()
        values, inner = (array.items, type_.item_type) if pa.types.is_map(type_) else (array.values, type_.value_type)
        if _has_floating(inner):
            begin, end = int(offsets[0]), int(offsets[-1])
            _collect(values.slice(begin, end - begin), inner, np.repeat(rows, np.diff(offsets)), found, legacy)


def _suspicious(values: _Doubles, *, single: bool) -> np.ndarray[Any, np.dtype[np.bool_]]:
    large = np.abs(values) >= _WHOLE_FROM
    if not single:
        return large
    with np.errstate(over="ignore"):
        rounds = values.astype(np.float32) != values
    if not rounds.any():
        return large
    some = values[rounds]
    with np.errstate(all="ignore"):
        scale = 10.0 ** (_KEPT - 1 - np.floor(np.log10(np.abs(some))))
        short = (np.rint(some * scale) / scale == some) & (np.abs(some) >= _NORMAL_FLOAT)
    middle = some.view(np.int64) & _BEYOND_FLOAT == _MIDDLE
    large[rounds] |= ~short | middle
    return large
