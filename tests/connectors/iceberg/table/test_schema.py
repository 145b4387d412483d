from __future__ import annotations

import pytest
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.name_mapping import create_mapping_from_schema, parse_mapping_from_json
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

from frazil.connectors.iceberg.table.schema import check_any_case, iceberg_type, struct_of, type_text
from frazil.errors import ConfigError
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type, has_aliases

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


MAPPED = Schema(
    NestedField(1, "ii", IntegerType()),
    NestedField(2, "st", StructType(NestedField(3, "x", LongType()), NestedField(4, "y", LongType()))),
    NestedField(5, "li", ListType(6, StructType(NestedField(7, "z", LongType())), False)),
)


def test_columns_have_the_names_of_a_mapping() -> None:
    mapping = parse_mapping_from_json(
        '[{"field-id":1,"names":["renamed_ii","ii"]},'
        '{"field-id":2,"names":["st"],"fields":[{"field-id":3,"names":["X"]}]},'
        '{"field-id":5,"names":["li"],"fields":[{"field-id":6,"names":["element"],'
        '"fields":[{"field-id":7,"names":["z"]}]}]}]'
    )
    ii, st, li = struct_of(MAPPED, mapping).fields
    assert (ii.members, st.members, li.members) == (("renamed_ii", "ii"), ("st",), ("li",))
    assert isinstance(st.type, Struct)
    assert [field.members for field in st.type.fields] == [("X",), ("y",)]
    assert has_aliases(struct_of(MAPPED, mapping))
    assert not has_aliases(struct_of(MAPPED))
    assert struct_of(MAPPED, create_mapping_from_schema(MAPPED)) == struct_of(MAPPED)


def test_columns_that_differ_only_in_case_cannot_be_found_in_any_case() -> None:
    check_any_case(MAPPED)
    with pytest.raises(ConfigError, match=r"columns st.x and st.X cannot be told apart"):
        check_any_case(
            Schema(NestedField(1, "st", StructType(NestedField(2, "x", LongType()), NestedField(3, "X", LongType()))))
        )


def test_types_are_told_without_the_numbers_of_what_is_in_them() -> None:
    item = StructType(NestedField(8, "sku", StringType()), NestedField(9, "n", LongType(), required=True))
    assert type_text(ListType(7, item)) == "list<struct<sku: string, n: long>>"
    assert type_text(MapType(1, StringType(), 2, item)) == "map<string, struct<sku: string, n: long>>"
    assert type_text(DecimalType(9, 2)) == "decimal(9, 2)"
