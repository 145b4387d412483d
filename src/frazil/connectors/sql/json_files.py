"""Rows of a file of JSON Lines, with the columns that Arrow finds, but for numbers that would lose digits there."""

import io
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.json

_AS_WRITTEN = {"frazil": "json"}
"""Mark of a column of JSON texts, for the next read of the file."""
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_exact = msgspec.json.Decoder(float_hook=Decimal).decode

_Rows = Sequence[dict[str, msgspec.Raw]]


def json_rows(content: bytes, schema: pa.Schema | None) -> pa.Table:
    """Read rows; with `schema` those columns. A column whose numbers are not exact as DOUBLE has their JSON texts.

    Raises ValueError or ArrowException for a file that has not these columns.
    """
    content.decode()
    # Arrow's reader goes down as deep as a line says, and ends the process; this one does not.
    rows = [_object(line) for line in filter(bytes.strip, content.splitlines())]
    known = None if schema is None else pa.schema([each for each in schema if not _is_as_written(each)])
    table = _read(content, known, len(rows))
    inexact = [name for name in table.column_names if not _is_exact(table.field(name).type, _texts(rows, name))]
    if schema is None:
        for name in inexact:
            at = table.schema.get_field_index(name)
            table = table.set_column(at, pa.field(name, pa.string(), metadata=_AS_WRITTEN), _column(rows, name))
        return table
    if inexact:
        raise ValueError(f"numbers in {', '.join(inexact)} would lose digits as DOUBLE, which it was")
    for each in filter(_is_as_written, schema):
        table = table.append_column(each, _column(rows, each.name))
    return table


def _read(content: bytes, schema: pa.Schema | None, count: int) -> pa.Table:
    if schema is not None and not len(schema):
        return pa.table({"": pa.nulls(count)}).select([])
    ignored = "infer" if schema is None else "ignore"
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=ignored)
    return pa.json.read_json(io.BytesIO(content), parse_options=options)


def _is_as_written(field: pa.Field) -> bool:
    return (field.metadata or {}).get(b"frazil") == b"json"


def _texts(rows: _Rows, name: str) -> Iterable[bytes]:
    return (bytes(row[name]) for row in rows if name in row)


def _column(rows: _Rows, name: str) -> pa.Array:
    texts = (bytes(row.get(name, b"null")) for row in rows)
    return pa.array([None if text == b"null" else text.decode() for text in texts], pa.string())


def _is_exact(type_: pa.DataType, texts: Iterable[bytes]) -> bool:
    return not _has_doubles(type_) or all(_holds(type_, _exact(text)) for text in texts)


def _has_doubles(type_: pa.DataType) -> bool:
    if pa.types.is_struct(type_):
        return any(_has_doubles(field.type) for field in type_)
    return _has_doubles(type_.value_type) if pa.types.is_list(type_) else pa.types.is_floating(type_)


def _holds(type_: pa.DataType, value: Any) -> bool:
    """Whether a value is the same as the type; a DOUBLE has the shortest text that leads to it."""
    if value is None:
        return True
    if pa.types.is_struct(type_):
        return all(_holds(field.type, value.get(field.name)) for field in type_)
    if pa.types.is_list(type_):
        return all(_holds(type_.value_type, one) for one in value)
    return not pa.types.is_floating(type_) or Decimal(repr(float(value))) == value
