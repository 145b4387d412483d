"""Iceberg types to the pipeline's and back."""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from frazil.errors import ConfigError
from frazil.pipeline.types import Field, List, Map, Scalar, ScalarKind, Struct, Type

_SCALARS: dict[type[IcebergType], ScalarKind] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    UUIDType: "uuid",
    BinaryType: "binary",
    DateType: "date",
    TimeType: "time",
    TimestampType: "timestamp",
    TimestamptzType: "timestamptz",
    TimestampNanoType: "timestamp_ns",
    TimestamptzNanoType: "timestamptz_ns",
}
_ICEBERG: dict[ScalarKind, type[IcebergType]] = {kind: type_ for type_, kind in _SCALARS.items()}


def struct_of(schema: Schema) -> Struct:
    """The columns of a table. Raises ConfigError for a column type that cannot be written."""
    return Struct(tuple(_field(f) for f in schema.fields))


def _field(field: NestedField) -> Field:
    return Field(field.name, _type(field.field_type, field.name), field.required, field.field_id)


def _type(type_: IcebergType, name: str) -> Type:
    match type_:
        case StructType():
            return Struct(tuple(_field(f) for f in type_.fields))
        case ListType():
            return List(_type(type_.element_type, name), type_.element_required, type_.element_id)
        case MapType():
            key, value = _type(type_.key_type, name), _type(type_.value_type, name)
            return Map(key, value, type_.value_required, type_.key_id, type_.value_id)
        case DecimalType():
            return Scalar("decimal", precision=type_.precision, scale=type_.scale)
        case FixedType():
            return Scalar("fixed", length=len(type_))
    kind = _SCALARS.get(type(type_))
    if kind is None:
        raise ConfigError(f"column {name} has type {type_}, which cannot be written")
    return Scalar(kind)


def iceberg_type(type_: Type) -> IcebergType:
    """The Iceberg type of a new column; ids are provisional, the catalog assigns the real ones."""
    match type_:
        case Struct(fields):
            return StructType(
                *(NestedField(i, f.name, iceberg_type(f.type), f.required) for i, f in enumerate(fields, 1))
            )
        case List(element, required):
            return ListType(1, iceberg_type(element), required)
        case Map(key, value, required):
            return MapType(1, iceberg_type(key), 2, iceberg_type(value), required)
        case Scalar(kind="decimal", precision=precision, scale=scale):
            return DecimalType(precision, scale)
        case Scalar(kind="fixed", length=length):
            return FixedType(length)
        case Scalar(kind=kind):
            return _ICEBERG[kind]()
