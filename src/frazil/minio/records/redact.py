"""Takes credentials out of decoded log batches before they are written.

Servers log Authorization headers, cookies, security tokens and presigned queries as they came. Three places are
treated, in string columns, maps, lists and structs at any depth:

- the value of a map entry, or of a string column, whose name is a sensitive key (any case);
- the value of a sensitive key inside JSON text (`details`, `metadata`, `tags` of legacy records);
- the value of a signature, security token or credential parameter inside any text, such as a presigned URL.

A clean batch costs one look at the bytes: only rows that may hold a secret meet a regular expression.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from frazil.text.credentials import (
    JSON_ENTRY,
    JSON_REPLACEMENT,
    PARAMETER,
    PARAMETER_REPLACEMENT,
    REDACTED,
    SENSITIVE_KEYS,
)

_KEY_SET = pa.array(sorted(SENSITIVE_KEYS), pa.string())

_Batch = TypeVar("_Batch", pa.Table, pa.RecordBatch)

_TAIL = 8
_PARAMETER_TAILS = np.frombuffer(b"ignaturety-tokenedential", dtype=np.uint64)
_CASE_BIT = 0x20
_EQUALS, _PERCENT, _QUOTE = b'=%"'
_JSON_STARTS = np.zeros(256, dtype=np.bool_)
_JSON_STARTS[list(b"{[ \t\r\n")] = True

_Index = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]


def redact(data: _Batch) -> _Batch:
    """The batch with every secret replaced by `***REDACTED***`; the same object when it holds none.

    Schema, row order, nulls and chunks stay as they are. Raises TypeError for a text type that the decoder never
    makes (dictionary, view), because its values would pass unread.
    """
    if isinstance(data, pa.RecordBatch):
        old = data.columns
        new = [_column(name, column) for name, column in zip(data.schema.names, old, strict=True)]
        return data if _same(old, new) else pa.RecordBatch.from_arrays(new, schema=data.schema)
    chunks = [(name, column.chunks) for name, column in zip(data.schema.names, data.columns, strict=True)]
    redacted = [[_column(name, chunk) for chunk in column] for name, column in chunks]
    if all(_same(old, new) for (_, old), new in zip(chunks, redacted, strict=True)):
        return data
    columns = [pa.chunked_array(new, field.type) for new, field in zip(redacted, data.schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=data.schema)


def _same(old: list[pa.Array], new: list[pa.Array]) -> bool:
    return all(a is b for a, b in zip(old, new, strict=True))


def _column(name: str, array: pa.Array) -> pa.Array:
    if _is_text(array.type) and name.lower() in SENSITIVE_KEYS:
        return _mask(array, pa.scalar(True))
    return _redact(array)


def _redact(array: pa.Array) -> pa.Array:
    kind = array.type
    if len(array) == 0:
        return array
    if _is_text(kind):
        return _redact_text(array)
    if pa.types.is_map(kind):
        return _redact_map(array)
    if pa.types.is_struct(kind):
        return _redact_struct(array)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _redact_list(array)
    if pa.types.is_dictionary(kind) or pa.types.is_string_view(kind):
        raise TypeError(f"cannot redact a column of type {kind}; decode it to string first")
    return array


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _offsets(array: pa.Array) -> _Index:
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_list(array.type)
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64 if wide else np.int32)
    return offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _mask(values: pa.Array, sensitive: pa.Array | pa.Scalar) -> pa.Array:
    """Replace the values that are marked and not null."""
    return pc.if_else(pc.and_(pc.is_valid(values), sensitive), pa.scalar(REDACTED, values.type), values)


def _redact_struct(array: pa.StructArray) -> pa.Array:
    fields = list(array.type)
    old = [array.field(i) for i in range(len(fields))]
    new = [_column(field.name, child) for field, child in zip(fields, old, strict=True)]
    if _same(old, new):
        return array
    return pa.StructArray.from_arrays(new, fields=fields, mask=array.is_null() if array.null_count else None)


def _redact_list(array: pa.ListArray) -> pa.Array:
    offsets = _offsets(array)
    values = array.values
    new = _within(values, int(offsets[0]), int(offsets[-1]), _redact)
    return array if new is values else _with_child(array, new)


def _redact_map(array: pa.MapArray) -> pa.Array:
    offsets = _offsets(array)
    start, end = int(offsets[0]), int(offsets[-1])
    keys, items = array.keys, array.items
    masked = _is_text(keys.type) and _is_text(items.type)

    def entries(part: pa.Array) -> pa.Array:
        if masked:
            names = pc.ascii_lower(keys.slice(start, end - start))
            sensitive = pc.is_in(names, value_set=_KEY_SET.cast(names.type))
            if pc.any(sensitive).as_py():
                part = _mask(part, sensitive)
        return _redact(part)

    new = _within(items, start, end, entries)
    if new is items:
        return array
    fields = [array.type.key_field, array.type.item_field]
    return _with_child(array, pa.StructArray.from_arrays([keys, new], fields=fields))


def _within(values: pa.Array, start: int, end: int, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply `change` to the entries that the parent refers to; the same object when nothing changes."""
    if start == end:
        return values
    part = values if (start, end) == (0, len(values)) else values.slice(start, end - start)
    new = change(part)
    if new is part:
        return values
    return new if len(part) == len(values) else pa.concat_arrays([values[:start], new, values[end:]])


def _with_child(array: pa.Array, child: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(array.type, len(array), array.buffers()[:2], array.null_count, array.offset, [child])


def _redact_text(array: pa.Array) -> pa.Array:
    data = array.buffers()[2]
    offsets = _offsets(array)
    if data is None or offsets[0] == offsets[-1]:
        return array
    text: _Bytes = np.frombuffer(data, dtype=np.uint8)[: offsets[-1]]
    array = _replace(array, _rows_with_parameter(text, offsets), PARAMETER, PARAMETER_REPLACEMENT)
    return _replace(array, _rows_with_json(text, offsets), JSON_ENTRY, JSON_REPLACEMENT)


def _rows_with_json(text: _Bytes, offsets: _Index) -> _Index:
    """Rows whose first byte can start JSON text, when there is a quote at all."""
    first = offsets[:-1]
    rows = np.flatnonzero(_JSON_STARTS[text[np.minimum(first, len(text) - 1)]])
    filled: _Index = rows[first[rows] < offsets[rows + 1]]
    if len(filled) and not np.any(text[offsets[0] :] == _QUOTE):
        return filled[:0]
    return filled


def _rows_with_parameter(text: _Bytes, offsets: _Index) -> _Index:
    """Rows in which `=` or `%3D` stands after the last eight bytes of a parameter's name (any case)."""
    start = int(offsets[0])
    view = text[start:]
    ends = np.flatnonzero(view == _EQUALS)
    percents = np.flatnonzero(view == _PERCENT)
    if len(percents):
        percents = percents[percents + 2 < len(view)]
        percents = percents[(view[percents + 1] == ord("3")) & (view[percents + 2] | _CASE_BIT == ord("d"))]
        ends = np.concatenate([ends, percents])
    ends = ends[ends >= _TAIL]
    if not len(ends):
        return ends
    tails = (view[ends[:, None] + np.arange(-_TAIL, 0)] | _CASE_BIT).view(np.uint64)[:, 0]
    hits = ends[np.isin(tails, _PARAMETER_TAILS)]
    return np.unique(np.searchsorted(offsets, hits + start, side="right") - 1)


def _replace(array: pa.Array, rows: _Index, pattern: str, replacement: str) -> pa.Array:
    if not len(rows):
        return array
    found = array.take(pa.array(rows))
    matches = pc.fill_null(pc.match_substring_regex(found, pattern), False)
    if not pc.any(matches).as_py():
        return array
    rows = rows[matches.to_numpy(zero_copy_only=False)]
    new = pc.replace_substring_regex(found.filter(matches), pattern, replacement)
    mask = np.zeros(len(array), dtype=np.bool_)
    mask[rows] = True
    return pc.replace_with_mask(array, pa.array(mask), new)
