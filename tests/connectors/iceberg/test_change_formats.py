"""`frazil.cdc.format` for events of Maxwell, AWS DMS and Debezium for MongoDB."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import parse_iceberg_sink
from frazil.errors import BadRecord
from tests.connectors.iceberg.driver import CREATE, EVOLVE, Driver, Memory
from tests.connectors.samples import MINIMAL_SINK

TABLE = "db.users"
CONFIG = {"iceberg.tables": TABLE, **CREATE, **EVOLVE}
ID = {"iceberg.tables.default-id-columns": "id"}


def send(given: Memory, *events: tuple[Any, Any]) -> None:
    """Records by key and value."""
    for key, value in events:
        given[0].send("t", [None if value is None else json.dumps(value).encode()], key=json.dumps(key).encode())


def maxwell(type_: str, number: int, old: dict[str, Any] | None = None, **data: Any) -> tuple[Any, Any]:
    value = {"database": "shop", "table": "users", "type": type_, "ts": 1_700_000_000, "data": {"id": number, **data}}
    return {"database": "shop", "table": "users", "pk.id": number}, value | ({} if old is None else {"old": old})


def test_maxwell(none: Memory) -> None:
    driver = Driver(*none, {**CONFIG, "frazil.cdc.format": "maxwell"})
    ddl = {"type": "table-alter", "database": "shop", "table": "users", "old": {}, "def": {}, "ts": 1, "sql": "…"}
    send(
        none,
        maxwell("bootstrap-start", 0),
        maxwell("bootstrap-insert", 1, name="ann"),
        maxwell("bootstrap-complete", 0),
        maxwell("insert", 2, name="bob"),
        maxwell("update", 1, {"name": "ann"}, name="anna"),
        ({}, ddl),
        maxwell("delete", 2, name="bob"),
        ({"database": "shop", "table": "users", "pk.id": 2}, None),
    )
    driver.drain()
    assert driver.rows(TABLE) == [{"id": 1, "name": "anna"}]
    assert none[1].load_table(TABLE).schema().identifier_field_names() == {"id"}
    assert driver.reports[0].skipped_by_reason["transform"] == 3


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (maxwell("merge", 2), "type is 'merge', which is no operation of Maxwell"),
        (({}, {"id": 1}), "is no change event as frazil.cdc.format=maxwell has them"),
    ],
)
def test_what_maxwell_tells_and_cannot_be_carried_out_is_refused(
    none: Memory, event: tuple[Any, Any], reason: str
) -> None:
    driver = Driver(*none, {**CONFIG, **ID, "frazil.cdc.format": "maxwell"})
    send(none, event)
    with pytest.raises(BadRecord, match=reason):
        driver.drain()


def dms(operation: str, kind: str = "data", **data: Any) -> tuple[Any, Any]:
    metadata = {"timestamp": "2026-01-31T10:30:00.000000Z", "record-type": kind, "operation": operation}
    metadata |= {"partition-key-type": "schema-table", "schema-name": "shop", "table-name": "users"}
    return "shop.users", {"data": data, "metadata": metadata} if data else {"metadata": metadata}


@pytest.mark.parametrize("name", ["dms", "auto"])
def test_dms(none: Memory, name: str) -> None:
    driver = Driver(*none, {**CONFIG, **ID, "frazil.cdc.format": name})
    send(
        none,
        dms("create-table", "control"),
        dms("load", id=1, name="ann"),
        dms("insert", id=2, name="bob"),
        dms("update", id=1, name="anna"),
        dms("delete", id=2, name="bob"),
    )
    driver.drain()
    assert driver.rows(TABLE) == [{"id": 1, "name": "anna"}]
    send(none, dms("truncate-table", "control"))
    driver.drain()
    assert driver.rows(TABLE) == []


def mongo(op: str, id_: str, after: Any = None) -> tuple[Any, Any]:
    source = {"connector": "mongodb", "db": "shop", "collection": "users", "ord": 1}
    text = None if after is None else json.dumps(after)
    return {"id": id_}, {"before": None, "after": text, "op": op, "ts_ms": 1, "source": source}


@pytest.mark.parametrize("key_schemas", [False, True])
def test_mongo(none: Memory, key_schemas: bool) -> None:
    driver = Driver(*none, {**CONFIG, "frazil.cdc.format": "mongo"})
    first = {
        "_id": {"$oid": "65a"},
        "n": {"$numberLong": "9007199254740993"},
        "at": {"$date": {"$numberLong": "-1"}},
        "on": {"$date": "2026-01-31T10:30:00Z"},
        "price": {"$numberDecimal": "1.50"},
        "blob": {"$binary": {"base64": "AQI=", "subType": "00"}},
        "inner": {"list": [{"$numberInt": "1"}, {"$numberInt": "2"}], "gone": {"$undefined": True}},
    }
    events = [mongo("r", '{"$oid": "65a"}', first), mongo("c", "5", {"_id": {"$oid": "5"}})]
    events[1] = mongo("c", '{"$oid": "65b"}', {"_id": {"$oid": "65b"}, "n": 1})
    events += [mongo("u", '{"$oid": "65a"}', first | {"n": 2}), mongo("d", '{"$oid": "65b"}')]
    if key_schemas:
        events = [({"schema": {"type": "struct"}, "payload": key}, value) for key, value in events]
    send(none, *events)
    driver.drain()
    (row,) = driver.rows(TABLE)
    assert none[1].load_table(TABLE).schema().identifier_field_names() == {"_id"}
    assert (row["_id"], row["n"], row["price"], row["blob"]) == ("65a", 2, 1.5, "AQI=")
    assert row["at"] == dt.datetime(1969, 12, 31, 23, 59, 59, 999000, dt.UTC)
    assert row["on"] == dt.datetime(2026, 1, 31, 10, 30, tzinfo=dt.UTC)
    assert row["inner"]["list"] == [1, 2]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (mongo("u", "1"), "Set capture.mode=change_streams_update_full"),
        (mongo("u", "1", [1]), "after is no document"),
        ((None, mongo("d", "1")[1]), "a delete has no key with the field id"),
        (mongo("c", "1", {"_id": 1, "at": {"$date": {"$numberLong": "9223372036854775807"}}}), "beyond the years"),
    ],
)
def test_what_mongo_tells_and_cannot_be_carried_out_is_refused(
    none: Memory, event: tuple[Any, Any], reason: str
) -> None:
    driver = Driver(*none, {**CONFIG, "iceberg.tables.default-id-columns": "_id", "frazil.cdc.format": "mongo"})
    send(none, event)
    with pytest.raises(BadRecord, match=reason):
        driver.drain()


def test_events_of_mongo_under_another_name_say_which_one_they_need(none: Memory) -> None:
    driver = Driver(*none, {**CONFIG, **ID, "frazil.cdc.format": "debezium"})
    send(none, mongo("c", "1", {"_id": 1}))
    with pytest.raises(BadRecord, match=r"Events of MongoDB need frazil\.cdc\.format=mongo"):
        driver.drain()


@pytest.mark.parametrize(("name", "refused"), [("mongo", True), ("maxwell", True), ("debezium", False)])
def test_a_format_that_reads_keys_needs_keys_that_can_be_read(name: str, refused: bool) -> None:
    keys = {"frazil.cdc.format": name, "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}
    errors = parse_iceberg_sink({**MINIMAL_SINK, **keys}).error_texts()
    assert [text for text in errors if f"frazil.cdc.format={name} reads keys. Set one of" in text] == errors
    assert bool(errors) is refused
