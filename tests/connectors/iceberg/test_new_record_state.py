"""Rows that follow a database through Debezium's ExtractNewRecordState and upserts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.connectors.iceberg.driver import CREATE, EVOLVE, Driver, Memory, memory, record
from tests.connectors.iceberg.test_cdc_format import TABLE, event, read

UNWRAP = {
    "iceberg.tables": TABLE,
    "iceberg.tables.upsert-mode-enabled": "true",
    "iceberg.tables.default-id-columns": "id",
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    **CREATE,
    **EVOLVE,
}
MODE = "transforms.unwrap.delete.tombstone.handling.mode"
HISTORY = (
    *(read(1, 100, name="ann"), read(2, 100, name="bob"), event("c", 3, 110, name="cid")),
    *(
        event("u", 1, 120, name="anna"),
        event("d", 2, 130),
        None,
        event("u", 3, 140, name="__debezium_unavailable_value"),
    ),
)


def rows(given: Memory, config: dict[str, str], *, each: bool = False) -> dict[int, Any]:
    driver = Driver(*given, config)
    for value in HISTORY:
        given[0].send("t", [value])
        if each:
            driver.drain()
    driver.drain()
    return {row.pop("id"): row for row in driver.rows(TABLE)}


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("mode", ["tombstone", "delete-to-tombstone"])
def test_a_delete_deletes_the_row_and_a_text_that_was_not_sent_stays(mode: str, each: bool) -> None:
    with memory({}) as given:
        assert rows(given, {**UNWRAP, MODE: mode}, each=each) == {1: {"name": "anna"}, 3: {"name": "cid"}}


def test_later_transformations_reach_the_key_of_a_deleted_row() -> None:
    rename = {
        "transforms": "unwrap,rename",
        "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.rename.renames": "id:number",
        "iceberg.tables.default-id-columns": "number",
    }
    with memory({}) as given:
        driver = Driver(*given, UNWRAP | rename)
        given[0].send("t", HISTORY)
        driver.drain()
        assert driver.column(TABLE, "number") == [1, 3]


def test_a_row_that_is_marked_as_deleted_stays() -> None:
    with memory({}) as given:
        found = rows(given, {**UNWRAP, MODE: "rewrite"})
        assert found[2]["__deleted"] == "true"
        assert found[1] == {"name": "anna", "__deleted": "false"}


def test_dropped_deletes_leave_the_row() -> None:
    with memory({}) as given:
        assert set(rows(given, {**UNWRAP, MODE: "drop"})) == {1, 2, 3}


def test_rows_that_the_source_connector_has_unwrapped_tell_their_deletes_in_a_field() -> None:
    config = {key: value for key, value in UNWRAP.items() if not key.startswith("transforms")}
    with memory({}) as given:
        driver = Driver(*given, {**config, "iceberg.tables.cdc-field": "__op"})
        rows = [(1, "ann", "r", "false"), (2, "bob", "c", "false"), (1, "anna", "u", "false"), (2, None, "d", "true")]
        for number, name, op, deleted in rows:
            given[0].send("t", [record(number, name=name, __op=op, __deleted=deleted)])
        given[0].send("t", [None])
        driver.drain()
        assert driver.column(TABLE) == [1]
