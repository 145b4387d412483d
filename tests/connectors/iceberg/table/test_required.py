"""Required columns inside of structs, lists and maps: what hides them is stored, what lacks them is a dead letter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, FixedType, ListType, LongType, MapType, NestedField, StringType, StructType

from frazil.connectors.iceberg.table.required import holds_required, without_masked_nulls
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.pipeline.convert.arrow import arrow_schema
from tests.connectors.iceberg.driver import TABLE, TOLERANT, Driver, Memory, memory

INNER = StructType(
    NestedField(20, "src", StringType(), required=True),
    NestedField(21, "n", DecimalType(5, 2), required=True),
    NestedField(22, "note", StringType()),
)
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "s", INNER),
    NestedField(3, "deep", StructType(NestedField(30, "in", INNER, required=True), NestedField(31, "x", LongType()))),
    NestedField(4, "l", ListType(40, INNER, element_required=False)),
    NestedField(5, "m", MapType(50, StringType(), 51, INNER, value_required=False)),
    NestedField(6, "ints", StructType(NestedField(60, "l", ListType(61, LongType(), True), required=True))),
)
GOOD = {"src": "a", "n": 1.5}
READ = {"src": "a", "n": Decimal("1.50"), "note": None}


@pytest.fixture
def one() -> Iterator[Memory]:
    with memory({TABLE: SCHEMA}) as made:
        yield made


@pytest.mark.parametrize(
    ("record", "row"),
    [
        ({}, {}),
        ({"s": None, "deep": None, "l": None, "m": None, "ints": None}, {}),
        ({"s": GOOD}, {"s": READ}),
        ({"s": [], "m": []}, {}),
        ({"deep": {"in": GOOD}}, {"deep": {"in": READ, "x": None}}),
        ({"l": [GOOD, None]}, {"l": [READ, None]}),
        ({"m": {"k": GOOD, "none": None}}, {"m": [("k", READ), ("none", None)]}),
        ({"ints": {"l": [1]}}, {"ints": {"l": [1]}}),
    ],
)
def test_what_is_null_is_stored_whatever_is_required_inside_of_it(
    one: Memory, record: Mapping[str, Any], row: Mapping[str, Any]
) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, TOLERANT)
    broker.send("t", [json.dumps({"id": 1, **record}).encode(), b'{"id":2}'])
    driver.drain()
    assert sorted(driver.rows(TABLE), key=lambda found: found["id"]) == [
        dict.fromkeys(SCHEMA.as_arrow().names) | {"id": 1, **row}
    ] + [dict.fromkeys(SCHEMA.as_arrow().names) | {"id": 2}]
    assert not broker.letters("t-dlq")


@pytest.mark.parametrize(
    "record",
    [
        {"s": {"n": 1.5}},
        {"s": {"src": None, "n": 1.5}},
        {"deep": {"x": 1}},
        {"deep": {"in": {"src": "a"}}},
        {"l": [GOOD, {"src": "a"}]},
        {"m": {"k": {"n": 1.5}}},
        {"ints": {"l": [None]}},
        {"ints": {}},
        {"deep": {"in": []}},
    ],
)
def test_what_lacks_a_required_value_is_a_dead_letter(one: Memory, record: Mapping[str, Any]) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, TOLERANT)
    broker.send("t", [b'{"id":1}', json.dumps({"id": 2, **record}).encode(), b'{"id":3}'])
    driver.drain()
    assert driver.column(TABLE) == [1, 3]
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, "")]


def test_rows_that_are_read_back_can_be_written_again() -> None:
    """Parquet's reader has nulls where an outer null hides a required value, and parts of a table have an offset."""
    schema = arrow_schema(struct_of(SCHEMA))
    rows = [
        {"id": 1, "s": READ, "deep": {"in": READ}, "l": [READ], "m": [("k", READ)], "ints": {"l": [1]}},
        {"id": 2},
        {"id": 3, "l": [None, READ], "m": [("k", None), ("j", READ)]},
    ]
    target = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), target)
    read = pq.read_table(pa.BufferReader(target.getvalue()), schema=schema)
    for part in (read, read.slice(1), read.slice(1, 1)):
        again = pa.BufferOutputStream()
        pq.write_table(without_masked_nulls(part), again)
        assert pq.read_table(pa.BufferReader(again.getvalue())).to_pylist() == part.to_pylist()


def test_a_null_that_nothing_hides_stays_for_the_writer_to_refuse() -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    array = pa.StructArray.from_arrays([pa.array([1, None])], fields=list(inner))
    table = without_masked_nulls(pa.table({"s": array}))
    with pytest.raises(pa.ArrowInvalid, match="'x' is declared non-nullable but contains nulls"):
        pq.write_table(table, pa.BufferOutputStream())


@pytest.mark.parametrize(
    ("type_", "holds"),
    [
        (LongType(), False),
        (StructType(NestedField(1, "a", FixedType(2), required=True)), False),
        (StructType(NestedField(1, "a", INNER, required=True)), False),
        (StructType(NestedField(1, "a", INNER)), True),
        (StructType(NestedField(1, "a", ListType(2, INNER, element_required=True), required=True)), False),
        (StructType(NestedField(1, "a", ListType(2, INNER, element_required=False), required=True)), True),
        (StructType(NestedField(1, "a", MapType(2, StringType(), 3, INNER, True), required=False)), True),
    ],
)
def test_which_types_are_concerned(type_: Any, holds: bool) -> None:
    assert holds_required(type_) is holds
