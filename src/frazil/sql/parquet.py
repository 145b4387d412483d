"""An answer as a Parquet file, with the types of its columns."""

from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from frazil.sql.result import Result
from frazil.sql.value_text import text_of, unique_names

_PRIMITIVES = {
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.DATE: pa.date32(),
    exp.DType.TIME: pa.time64("us"),
    exp.DType.TIMESTAMP: pa.timestamp("us"),
    exp.DType.TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    exp.DType.VARBINARY: pa.binary(),
}


def write_parquet(result: Result, target: IO[bytes]) -> None:
    """Write an answer to a stream. A column name that occurs again gets a number."""
    pq.write_table(arrow_table(result), pa.PythonFile(target, mode="w"))


def arrow_table(result: Result) -> pa.Table:
    """The answer as an Arrow table: as the engine gave it, else built by the names of Trino's types, else as text."""
    names = unique_names(result.columns)
    if result.arrow is not None:
        return result.arrow.rename_columns(names)
    types = [arrow_type(name) for name in result.types] or [pa.string()] * len(names)
    columns = [[row[i] for row in result.rows] for i in range(len(names))]
    arrays = [
        pa.array([_arrow_value(value, kind) for value in column], kind)
        for column, kind in zip(columns, types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names)


def arrow_type(trino: str) -> pa.DataType:
    """Arrow's counterpart of a Trino type such as `map(varchar, row(a bigint))`; text for what has none."""
    return _of(exp.DataType.build(trino, dialect="trino"))


def _of(kind: exp.Expr) -> pa.DataType:
    if isinstance(kind, exp.ColumnDef):
        return _of(kind.args["kind"])
    inner = kind.expressions
    if kind.this in (exp.DType.STRUCT, exp.DType.OBJECT):
        return pa.struct([(field.name or f"field{i}", _of(field)) for i, field in enumerate(inner)])
    if kind.this == exp.DType.MAP:
        return pa.map_(_of(inner[0]), _of(inner[1]))
    if kind.this in (exp.DType.ARRAY, exp.DType.LIST):
        return pa.list_(_of(inner[0]))
    if kind.this == exp.DType.DECIMAL:
        precision, scale = (*(int(size.name) for size in inner), 0)[:2] if inner else (38, 0)
        return pa.decimal128(precision, scale)
    found = _PRIMITIVES.get(kind.this, pa.string())
    if pa.types.is_timestamp(found) and inner and int(inner[0].name) > 6:
        return pa.timestamp("ns", tz=found.tz)
    return found


def _arrow_value(value: Any, kind: pa.DataType) -> Any:
    """A value in the form that Arrow takes for a type: maps as pairs, text for what has no type of its own."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        return text_of(value)
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return [(_arrow_value(k, kind.key_type), _arrow_value(v, kind.item_type)) for k, v in pairs]
    if pa.types.is_list(kind):
        return [_arrow_value(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: _arrow_value(value[field.name], field.type) for field in kind}
    return value
