"""The Arrow schema of a destination table."""

import pyarrow as pa

from frazil.pipeline.types import Field, List, Map, Scalar, Struct, Type

_SCALARS = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "uuid": pa.binary(16),
    "binary": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", tz="UTC"),
}


def arrow_schema(struct: Struct) -> pa.Schema:
    """Make one Arrow field per column, nullable unless required, with the ids that Parquet files carry."""
    return pa.schema([_field(f) for f in struct.fields])


def _field(field: Field) -> pa.Field:
    return _arrow_field(field.name, field.type, not field.required, field.field_id)


def _arrow_field(name: str, type_: Type, nullable: bool, field_id: int | None) -> pa.Field:
    metadata = None if field_id is None else {b"PARQUET:field_id": str(field_id).encode()}
    return pa.field(name, _type(type_), nullable=nullable, metadata=metadata)


def _type(type_: Type) -> pa.DataType:
    match type_:
        case Struct(fields):
            return pa.struct([_field(f) for f in fields])
        case List(element, required, element_id):
            return pa.list_(_arrow_field("element", element, not required, element_id))
        case Map(key, value, required, key_id, value_id):
            return pa.map_(
                _arrow_field("key", key, False, key_id), _arrow_field("value", value, not required, value_id)
            )
        case Scalar(kind="decimal", precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case Scalar(kind="fixed", length=length):
            return pa.binary(length)
        case Scalar(kind=kind):
            return _SCALARS[kind]
