from __future__ import annotations

import pytest
from pyiceberg.schema import Schema, assign_fresh_schema_ids
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
    UnknownType,
    UUIDType,
)

from frazil.errors import ConfigError
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type
from frazil.sinks.iceberg.schema import iceberg_type, struct_of

SCALARS: list[tuple[IcebergType, Scalar]] = [
    (BooleanType(), Scalar("boolean")),
    (IntegerType(), Scalar("int")),
    (LongType(), Scalar("long")),
    (FloatType(), Scalar("float")),
    (DoubleType(), Scalar("double")),
    (DecimalType(9, 2), Scalar("decimal", precision=9, scale=2)),
    (StringType(), STRING),
    (UUIDType(), Scalar("uuid")),
    (FixedType(3), Scalar("fixed", length=3)),
    (BinaryType(), Scalar("binary")),
    (DateType(), Scalar("date")),
    (TimeType(), Scalar("time")),
    (TimestampType(), Scalar("timestamp")),
    (TimestamptzType(), Scalar("timestamptz")),
    (TimestampNanoType(), Scalar("timestamp_ns")),
    (TimestamptzNanoType(), Scalar("timestamptz_ns")),
]


@pytest.mark.parametrize(("iceberg", "ours"), SCALARS, ids=str)
def test_scalars_there_and_back(iceberg: IcebergType, ours: Scalar) -> None:
    schema = Schema(NestedField(7, "v", iceberg, required=True))
    assert struct_of(schema) == Struct((Field("v", ours, required=True, field_id=7),))
    assert iceberg_type(ours) == iceberg


def test_nested_types_keep_ids_and_what_is_required() -> None:
    schema = Schema(
        NestedField(1, "s", StructType(NestedField(5, "x", LongType(), required=True))),
        NestedField(2, "l", ListType(6, StringType(), element_required=True), required=True),
        NestedField(3, "m", MapType(7, StringType(), 8, ListType(9, DateType(), False), value_required=True)),
    )
    assert struct_of(schema) == Struct(
        (
            Field("s", Struct((Field("x", Scalar("long"), required=True, field_id=5),)), field_id=1),
            Field("l", List(STRING, True, 6), required=True, field_id=2),
            Field("m", Map(STRING, List(Scalar("date"), False, 9), True, 7, 8), field_id=3),
        )
    )


@pytest.mark.parametrize(
    "type_",
    [
        Struct((Field("a", STRING), Field("b", Struct((Field("c", Scalar("int"), required=True),))))),
        List(List(Scalar("double"))),
        Map(STRING, Struct((Field("x", Scalar("boolean")),)), value_required=True),
    ],
    ids=str,
)
def test_new_nested_columns_read_back_as_they_were_meant(type_: Type) -> None:
    schema = assign_fresh_schema_ids(Schema(NestedField(1, "v", iceberg_type(type_))))
    (field,) = struct_of(schema).fields
    assert str(field.type) == str(type_)
    assert iceberg_type(field.type) == iceberg_type(type_)


@pytest.mark.parametrize("nested", [False, True])
def test_a_type_that_cannot_be_written_is_named_with_its_column(nested: bool) -> None:
    type_: IcebergType = ListType(2, UnknownType(), False) if nested else UnknownType()
    with pytest.raises(ConfigError, match="column odd has type unknown, which cannot be written"):
        struct_of(Schema(NestedField(1, "odd", type_)))
