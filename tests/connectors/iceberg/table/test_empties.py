"""Empty objects and arrays in new columns: null beside objects, text beside what they have nothing in common with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.connectors.iceberg.driver import CREATE, EVOLVE, TABLE, TOLERANT, Driver, Memory

AUTO = {**CREATE, **EVOLVE, **TOLERANT}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("values", "type_", "expected"),
    [
        ([[], {"a": 1}], "struct<", [None, {"a": 1}]),
        ([{"b": []}, {"b": {"a": 1}}], "struct<", [{"b": None}, {"b": {"a": 1}}]),
        ([[[]], [{"a": 1}]], "list<", [[None], [{"a": 1}]]),
        ([{}, {"a": 1}], "struct<", [{"a": None}, {"a": 1}]),
        ([[], [1]], "list<", [[], [1]]),
        ([[], 5], "string", ["[]", "5"]),
        ([{}, 5], "string", ["{}", "5"]),
        ([{"x": None}, ["a"]], "string", ['{"x": null}', '["a"]']),
        ([[None], {"a": 1}], "string", ["[null]", '{"a": 1}']),
        ([{"l": [[], 1]}, {"l": []}], "struct<", [{"l": ["[]", "1"]}, {"l": []}]),
    ],
)
def test_empty_values_beside_others(
    none: Memory, values: Sequence[Any], type_: str, expected: list[Any], turned: bool, new: bool, apart: bool
) -> None:
    """In one chunk or in two, in either order, in a new table or in one that is there."""
    broker, catalog = none
    driver = Driver(broker, catalog, AUTO)
    if not new:
        broker.send("t", [b'{"id":9}'])
        driver.drain()
    records = [json.dumps({"id": i, "v": value}).encode() for i, value in enumerate(values)]
    between = [b'{"id":9}'] * 9 if apart else []
    first, second = reversed(records) if turned else records
    broker.send("t", [first, *between, second])
    driver.drain()
    assert not broker.letters("t-dlq")
    assert str(catalog.load_table(TABLE).schema().find_field("v").field_type).startswith(type_)
    rows = sorted((row for row in driver.rows(TABLE) if row["id"] < 9), key=lambda row: row["id"])
    assert [row["v"] for row in rows] == expected


def test_what_shows_no_type_makes_no_column(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, AUTO)
    for records in ([b'{"id":1,"a":[],"b":{},"c":[[]],"d":{"e":[]}}', b'{"id":2}'], [b'{"id":3,"a":[],"d":{"e":{}}}']):
        broker.send("t", records)
        driver.drain()
    assert catalog.load_table(TABLE).schema().column_names == ["id"]
    assert driver.column(TABLE) == [1, 2, 3]


def test_a_table_may_have_no_more_columns_and_still_take_records_with_empty_fields(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**AUTO, "frazil.schema.max.columns": "1"})
    broker.send("t", [b'{"id":1}'])
    driver.drain()
    broker.send("t", [b'{"id":2,"a":[]}', b'{"id":3,"a":[1]}', b'{"id":4,"b":{"c":[]}}'])
    driver.drain()
    assert driver.column(TABLE) == [1, 2, 4]


@pytest.mark.parametrize("empty", ["[]", "[ ]"])
def test_an_empty_array_is_null_in_a_map_too(none: Memory, empty: str) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**AUTO, "frazil.schema.path.m": "map<string, long>"})
    broker.send("t", [b'{"id":1,"m":{"k":1}}', b'{"id":2,"m":%b}' % empty.encode(), b'{"id":3,"m":[1]}'])
    driver.drain()
    assert {row["id"]: row["m"] for row in driver.rows(TABLE)} == {1: [("k", 1)], 2: None}
