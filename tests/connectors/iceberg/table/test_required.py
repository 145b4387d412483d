"""Required columns inside of structs, lists and maps: what hides them is stored, what lacks them is a dead letter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, ListType, LongType, MapType, NestedField, StringType, StructType

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
