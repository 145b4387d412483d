from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
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
)

from frazil.connectors.iceberg.table.schema import struct_of
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.types import Field, Scalar, Struct

TYPES: list[IcebergType] = [
    *(BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), DecimalType(9, 2), StringType()),
    *(FixedType(3), BinaryType(), DateType(), TimeType(), TimestampType(), TimestamptzType()),
    *(TimestampNanoType(), TimestamptzNanoType()),
    StructType(NestedField(10, "x", IntegerType(), True), NestedField(11, "y", StringType())),
    ListType(10, StringType(), False),
    ListType(10, StructType(NestedField(11, "x", LongType())), True),
    MapType(10, StringType(), 11, DoubleType(), False),
    MapType(10, IntegerType(), 11, ListType(12, DateType(), True), True),
]


def normal(type_: pa.DataType) -> pa.DataType:
    """PyIceberg's readers take 64-bit offsets as well as the 32-bit ones that arrow-json makes."""
    match type_:
        case pa.StructType():
            return pa.struct([type_[i].with_type(normal(type_[i].type)) for i in range(type_.num_fields)])
        case pa.LargeListType() | pa.ListType():
            return pa.list_(type_.value_field.with_type(normal(type_.value_type)))
        case pa.MapType():
            key, item = type_.key_field, type_.item_field
            return pa.map_(key.with_type(normal(key.type)), item.with_type(normal(item.type)))
        case _:
            return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(type_, type_)


@pytest.mark.parametrize("required", [True, False], ids=["required", "optional"])
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_the_schema_is_that_of_pyiceberg_with_its_field_ids(type_: IcebergType, required: bool) -> None:
    schema = Schema(NestedField(1, "v", type_, required), NestedField(2, "w", LongType()))
    theirs, ours = schema_to_pyarrow(schema), arrow_schema(struct_of(schema))
    for i, field in enumerate(theirs):
        theirs = theirs.set(i, field.with_type(normal(field.type)))
    assert ours.equals(theirs, check_metadata=True)


def test_uuids_are_sixteen_bytes() -> None:
    schema = arrow_schema(Struct((Field("u", Scalar("uuid"), field_id=7),)))
    assert schema == pa.schema([pa.field("u", pa.binary(16))])
    assert schema.field("u").metadata == {b"PARQUET:field_id": b"7"}


def test_columns_without_ids_carry_none() -> None:
    assert arrow_schema(Struct((Field("a", Scalar("int")),))).field("a").metadata is None
