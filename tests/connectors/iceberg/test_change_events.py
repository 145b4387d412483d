"""Change events of Debezium and AWS DMS in a connector that replaces rows: deletes, and what becomes a column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.connectors.iceberg.driver import CREATE, EVOLVE, TABLE, Driver, Memory

IDS = {"iceberg.tables.default-id-columns": "id"}
UPSERT = {"iceberg.tables.upsert-mode-enabled": "true"}
CDC = {"iceberg.tables.cdc-field": "_cdc.op"}
PACKAGE = "org.apache.iceberg.connect.transforms."


def chain(name: str) -> dict[str, str]:
    return {
        **CREATE,
        **EVOLVE,
        **IDS,
        "transforms": "x",
        "transforms.x.type": PACKAGE + name,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    }


def debezium(operation: str, number: int, **row: Any) -> bytes:
    state = {"id": number, **row}
    before, after = (state, None) if operation == "d" else (None, state)
    source = {"schema": "public", "table": "users"}
    return json.dumps({"op": operation, "ts_ms": 1, "before": before, "after": after, "source": source}).encode()


def dms(operation: str, number: int, **row: Any) -> bytes:
    metadata = {"operation": operation, "schema-name": "public", "table-name": "users", "timestamp": "2026-01-01"}
    return json.dumps({"data": {"id": number, **row}, "metadata": metadata}).encode()


DEBEZIUM = [debezium("c", 1, name="a"), debezium("c", 2, name="b"), debezium("u", 1, name="c"), debezium("d", 1)]
DMS = [dms("insert", 1, name="a"), dms("load", 2, name="b"), dms("update", 1, name="c"), dms("delete", 1)]


@pytest.mark.parametrize("mode", [UPSERT, CDC, {**UPSERT, **CDC}])
@pytest.mark.parametrize(("name", "events"), [("DebeziumTransform", DEBEZIUM), ("DmsTransform", DMS)])
@pytest.mark.parametrize("size", [1, 4])
def test_a_deleted_row_is_gone_and_the_operation_is_no_column(
    none: Memory, name: str, events: list[bytes], mode: Mapping[str, str], size: int
) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**chain(name), **mode})
    for first in range(0, len(events), size):
        broker.send("t", events[first : first + size])
        driver.drain()
    assert driver.rows(TABLE) == [{"id": 2, "name": "b"}]


def test_the_operation_is_a_column_where_that_is_asked_for(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**chain("DebeziumTransform"), **UPSERT, "frazil.schema.path._cdc": "json"})
    broker.send("t", DEBEZIUM)
    driver.drain()
    (row,) = driver.rows(TABLE)
    assert (row["id"], json.loads(row["_cdc"])["op"]) == (2, "I")


def test_rows_that_are_appended_keep_their_operation(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {key: text for key, text in chain("DebeziumTransform").items() if key not in IDS})
    broker.send("t", DEBEZIUM)
    driver.drain()
    assert sorted((row["id"], row["_cdc"]["op"]) for row in driver.rows(TABLE)) == [
        (1, "D"),
        (1, "I"),
        (1, "U"),
        (2, "I"),
    ]
