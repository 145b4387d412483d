from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StructType

from frazil.connectors.iceberg.config.creation import Creation
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.table.column_limits import Admitted, admit, first_columns
from frazil.connectors.iceberg.table.create import new_table
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.types import STRING, Field, List, Scalar, Struct, Type

TABLE = Schema(
    NestedField(1, "id", IntegerType()), NestedField(2, "st", StructType(NestedField(3, "a", IntegerType())))
)
TREE = List(Struct((Field("c", STRING), Field("d", STRING))))


def limits(new: int, table: int) -> IcebergSinkConfig:
    return iceberg_sink_config(
        {
            "name": "sink",
            "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
            "topics": "events",
            "iceberg.tables": "demo.events",
            "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": "http://127.0.0.1:8181",
            "frazil.schema.max.new.columns": str(new),
            "frazil.schema.max.columns": str(table),
        }
    )


def test_columns_are_counted_with_the_nested_ones() -> None:
    unknown: dict[Path, Type] = {("x",): STRING, ("st", "b"): TREE}
    assert admit(limits(5, 8), TABLE, unknown, {}) == Admitted(unknown)
    assert admit(limits(4, 8), TABLE, unknown, {}).refusal == (
        "the batch would bring 5 new columns; frazil.schema.max.new.columns allows 4"
    )
    assert admit(limits(5, 7), TABLE, unknown, {}).refusal == (
        "the table would have 8 columns; frazil.schema.max.columns allows 7"
    )
    assert admit(limits(5, 1), TABLE, {("id",): STRING}, {}) == Admitted({("id",): STRING})


def test_what_most_records_have_comes_first() -> None:
    junk: Mapping[Path, Type] = {(f"c{n}",): STRING for n in range(9)}
    unknown: dict[Path, Type] = {**junk, ("st", "b"): TREE, ("zz",): STRING}
    seen = dict.fromkeys(unknown, 1) | {("zz",): 40, ("st", "b"): 30}
    admitted = admit(limits(5, 100), TABLE, unknown, seen)
    assert list(admitted.fields) == [("zz",), ("st", "b")]
    assert admitted.refusal == "the batch would bring 14 new columns; frazil.schema.max.new.columns allows 5"


def test_what_does_not_fit_leaves_room_for_smaller_ones() -> None:
    unknown: dict[Path, Type] = {("big",): TREE, ("small",): STRING}
    assert list(admit(limits(3, 100), TABLE, unknown, {("big",): 9}).fields) == [("small",)]


def test_columns_that_get_wider_cost_nothing() -> None:
    unknown: dict[Path, Type] = {("id",): Scalar("long"), ("x",): STRING, ("y",): STRING}
    admitted = admit(limits(1, 100), TABLE, unknown, {})
    assert dict(admitted.fields) == {("id",): Scalar("long"), ("x",): STRING}


def test_a_new_table_has_the_first_columns_that_fit() -> None:
    columns: dict[Path, Type] = {("b",): STRING, ("big",): TREE, ("a",): STRING}
    assert list(first_columns(limits(1, 3), columns)) == [("b",), ("a",)]
    assert first_columns(limits(1, 6), columns) == columns


def test_of_names_that_differ_in_case_only_that_of_most_records_becomes_a_column() -> None:
    unknown: dict[Path, Type] = {("KIND",): STRING, ("kind",): STRING, ("n",): STRING}
    seen: dict[Path, int] = {("KIND",): 1, ("kind",): 99, ("n",): 1}
    assert admit(limits(10, 20), TABLE, unknown, seen).fields == {("kind",): STRING, ("n",): STRING}
    assert admit(limits(10, 20), TABLE, unknown, {}).fields == {("KIND",): STRING, ("n",): STRING}
    assert new_table("demo.t", unknown, Creation(), seen)[0].column_names == ["kind", "n"]
    assert new_table("demo.t", unknown, Creation())[0].column_names == ["KIND", "n"]


def test_a_column_that_gets_wider_stays_among_the_chosen() -> None:
    unknown: dict[Path, Type] = {("id",): Scalar("long"), ("ID",): STRING}
    assert admit(limits(10, 20), TABLE, unknown, {}).fields == {("id",): Scalar("long")}
