"""Columns of Delta tables, as the pipeline has them and back."""

from collections.abc import Mapping

import pyarrow as pa

from frazil.errors import ConfigError
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.types import Field, List, Map, Scalar, ScalarKind, Struct, Type

_SCALARS: Mapping[pa.DataType, ScalarKind] = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
}
"""A column of 8 or 16 bits takes 32: values that do not fit into it are refused by readers, not by us."""
_WRITTEN = (pa.int8(), pa.int16())


def columns_of(schema: pa.Schema) -> Struct:
    """The columns of a table. Raises ConfigError for a type that is not written."""
    return Struct(tuple(_column(field) for field in schema))


def _column(field: pa.Field) -> Field:
    return Field(field.name, _type(field.name, field.type), not field.nullable)


def _type(name: str, type_: pa.DataType) -> Type:
    if pa.types.is_struct(type_):
        return Struct(tuple(_column(type_.field(index)) for index in range(type_.num_fields)))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return List(_type(f"{name}[]", type_.value_type), not type_.value_field.nullable)
    if pa.types.is_map(type_):
        return Map(_type(name, type_.key_type), _type(name, type_.item_type), not type_.item_field.nullable)
    if pa.types.is_decimal(type_):
        return Scalar("decimal", precision=type_.precision, scale=type_.scale)
    kind = None if type_ in _WRITTEN else _SCALARS.get(type_)
    if kind is None:
        raise ConfigError(
            f"column {name} of the Delta table has type {type_}, which is not written. Nothing was read. Change the "
            "column, or write to another table."
        )
    return Scalar(kind)


def arrow_of(columns: Struct) -> pa.Schema:
    """Arrow schema that delta-rs takes."""
    return arrow_schema(columns)
