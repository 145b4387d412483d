"""Updates that change what a row is found by: no row is left behind under its former key, or in another table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from frazil.errors import BadRecord
from tests.connectors.iceberg.driver import CREATE, EVOLVE, TOLERANT, Driver, Memory

TABLE = "db.users"
FOLLOW = {"iceberg.tables": TABLE, "frazil.cdc.format": "debezium", **CREATE, **EVOLVE}
EMAIL = {**FOLLOW, "iceberg.tables.default-id-columns": "email"}
ICEBERG = "org.apache.iceberg.connect.transforms."
TRANSFORMED = {
    **{"iceberg.tables": TABLE, "iceberg.tables.upsert-mode-enabled": "true", "transforms": "x", **CREATE, **EVOLVE},
    **{"iceberg.tables.default-id-columns": "email"},
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
}

Event = tuple[Any, Any]


def change(op: str, before: Any, after: Any, connector: str = "postgresql") -> Event:
    row = after or before
    source = {"connector": connector, "db": "shop", "schema": "public", "table": "users"}
    return {"id": row["id"]}, {"before": before, "after": after, "op": op, "ts_ms": 1, "source": source}


def row(number: int, email: str | None, **more: Any) -> dict[str, Any]:
    return {"id": number, "email": email, **more}


def send(given: Memory, events: Sequence[Event], partition: int = 0) -> None:
    for key, value in events:
        given[0].send("t", [json.dumps(value).encode()], partition, key=json.dumps(key).encode())


def stored(given: Memory, config: dict[str, str], events: Sequence[Event], *, each: bool = False) -> Driver:
    driver = Driver(*given, config)
    for several in [[one] for one in events] if each else [events]:
        send(given, several)
        driver.drain()
    return driver


def emails(driver: Driver, table: str = TABLE) -> dict[str, int]:
    rows = driver.rows(table)
    assert len({one["email"] for one in rows}) == len(rows)
    return {one["email"]: one["id"] for one in rows}


MOVES = [
    change("c", None, row(1, "a@x")),
    change("c", None, row(2, "b@x")),
    change("u", row(1, "a@x"), row(1, "c@x")),
    change("u", row(2, "b@x"), row(2, "a@x")),
    change("u", row(1, "c@x"), row(1, "c@x", name="ann")),
]


@pytest.mark.parametrize("each", [False, True])
def test_the_row_under_the_former_key_goes(none: Memory, each: bool) -> None:
    driver = stored(none, EMAIL, MOVES, each=each)
    assert emails(driver) == {"a@x": 2, "c@x": 1}
    assert sum(report.stored for report in driver.reports) == len(MOVES), "a record counts once"


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("name", [ICEBERG + "DebeziumTransform", "io.debezium.transforms.ExtractNewRecordState"])
def test_the_row_under_the_former_key_goes_with_a_transformation_too(none: Memory, name: str, each: bool) -> None:
    assert emails(stored(none, {**TRANSFORMED, "transforms.x.type": name}, MOVES, each=each)) == {"a@x": 2, "c@x": 1}


def test_transformations_behind_reach_the_former_row(none: Memory) -> None:
    renamed = {
        **{"transforms": "x", "transforms.x.type": "org.apache.kafka.connect.transforms.ReplaceField$Value"},
        **{"transforms.x.renames": "email:mail", "iceberg.tables.default-id-columns": "mail"},
    }
    assert sorted(one["mail"] for one in stored(none, FOLLOW | renamed, MOVES).rows(TABLE)) == ["a@x", "c@x"]


@pytest.mark.parametrize("each", [False, True])
def test_a_row_goes_from_the_table_that_it_was_routed_to(none: Memory, each: bool) -> None:
    routed = {
        **FOLLOW,
        **{"iceberg.tables": "db.a,db.b", "iceberg.tables.route-field": "to"},
        **{"iceberg.table.db.a.route-regex": "a", "iceberg.table.db.b.route-regex": "b"},
    }
    events = [
        change("c", None, row(1, "a@x", to="a")),
        change("c", None, row(2, "b@x", to="b")),
        change("u", row(1, "a@x", to="a"), row(1, "a@x", to="b")),
        change("u", row(2, "b@x", to="b"), row(2, "b@x", to="c")),
    ]
    driver = stored(none, routed, events, each=each)
    assert (driver.rows("db.a"), emails(driver, "db.b")) == ([], {"a@x": 1})


@pytest.mark.parametrize(
    ("event", "config"),
    [
        (change("u", None, row(1, "b@x")), EMAIL),
        (change("d", row(1, "", name=None), None), EMAIL),
        (change("u", None, row(1, "b@x")), {**TRANSFORMED, "transforms.x.type": ICEBERG + "DebeziumTransform"}),
    ],
)
def test_an_event_that_does_not_tell_the_former_key_is_refused(
    none: Memory, event: Event, config: dict[str, str]
) -> None:
    driver = stored(none, config, [change("c", None, row(1, "a@x"))])
    send(none, [(None, change("c", None, row(1, "a@x"))[1]), event])
    with pytest.raises(BadRecord, match="rows are found by email, which the record's key does not have.*FULL"):
        driver.drain()
    assert emails(driver) == {"a@x": 1}


@pytest.mark.parametrize(
    ("event", "left"),
    [
        (change("d", row(1, "a@x"), None), {}),
        (change("d", row(1, "a@x", name=""), None, "mysql"), {}),
        (({"email": "a@x"}, change("u", None, row(2, "a@x"))[1]), {"a@x": 2}),
        ((None, change("u", None, row(2, "a@x"))[1]), {"a@x": 2}),
    ],
)
def test_an_event_that_tells_the_key_is_carried_out(none: Memory, event: Event, left: dict[str, int]) -> None:
    assert emails(stored(none, EMAIL, [change("c", None, row(1, "a@x")), event])) == left


def test_a_record_of_which_one_half_cannot_be_carried_out_does_nothing(none: Memory) -> None:
    events = [change("c", None, row(1, "a@x", n=1)), change("u", row(1, "a@x", n=1), row(1, "b@x", n="no number"))]
    driver = stored(none, {**EMAIL, **TOLERANT, "errors.deadletterqueue.topic.name": "t-dlq"}, events[:1])
    send(none, events[1:])
    driver.drain()
    assert emails(driver) == {"a@x": 1}
    assert driver.reports[-1].dead_letters == 1


def test_a_text_that_was_not_sent_comes_from_the_row_under_the_former_key(none: Memory) -> None:
    gap = "__debezium_unavailable_value"
    events = [
        change("c", None, row(1, "a@x", bio="long")),
        change("u", row(1, "a@x", bio=gap), row(1, "b@x", bio=gap)),
    ]
    (found,) = stored(none, EMAIL, events, each=True).rows(TABLE)
    assert found == row(1, "b@x", bio="long")


def maxwell(type_: str, number: int, **more: Any) -> Event:
    value = {"database": "shop", "table": "users", "type": type_, "ts": 1, "data": row(number, "a@x"), **more}
    return {"database": "shop", "table": "users", "pk.id": number}, value


def test_maxwell_tells_of_a_key_that_changes_where_records_are_in_order(none: Memory) -> None:
    config = {**FOLLOW, "frazil.cdc.format": "maxwell"}
    events = [maxwell("insert", 1), maxwell("update", 2, old={"id": 1})]
    driver = stored(none, config, events)
    assert driver.column(TABLE) == [2]
    none[0].make("t", 2)
    driver = Driver(*none, {**config, "name": "other"})
    send(none, events)
    with pytest.raises(BadRecord, match="the update changes id, which is of the record's key"):
        driver.drain()


@pytest.mark.parametrize("config", [FOLLOW, TRANSFORMED | {"transforms.x.type": ICEBERG + "DmsTransform"}])
def test_dms_tells_of_it_in_the_image_before(none: Memory, config: dict[str, str]) -> None:
    def dms(operation: str, number: int, **more: Any) -> Event:
        metadata = {"timestamp": "2026-01-31T10:30:00Z", "record-type": "data", "operation": operation}
        metadata |= {"schema-name": "shop", "table-name": "users"}
        return "shop.users", {"data": row(number, "a@x"), "metadata": metadata, **more}

    own = {"iceberg.tables.default-id-columns": "id"} | ({"frazil.cdc.format": "dms"} if config is FOLLOW else {})
    events = [dms("insert", 1), dms("update", 2, **{"before-image": {"id": 1}})]
    assert stored(none, config | own, events).column(TABLE) == [2]


def test_mongo_tells_of_it_in_the_document_before(none: Memory) -> None:
    def mongo(op: str, before: Any, after: Any) -> Event:
        value = {"before": before and json.dumps(before), "after": after and json.dumps(after), "op": op, "ts_ms": 1}
        return {"id": "1"}, value | {"source": {"connector": "mongodb", "db": "shop", "collection": "users"}}

    config = {**FOLLOW, "frazil.cdc.format": "mongo", "iceberg.tables.default-id-columns": "code"}
    old, new = {"_id": 1, "code": "a"}, {"_id": 1, "code": "b"}
    driver = stored(none, config, [mongo("c", None, old), mongo("u", old, new)])
    assert driver.column(TABLE, "code") == ["b"]
    send(none, [mongo("d", new, None)])
    driver.drain()
    assert driver.rows(TABLE) == []
    send(none, [mongo("u", None, old)])
    with pytest.raises(BadRecord, match="rows are found by code"):
        driver.drain()


def test_what_is_noted_of_it_is_no_column(none: Memory) -> None:
    asked = {"frazil.schema.path._cdc": "struct<op: string, ts: long, source: string>"}
    events = [*MOVES, (None, change("u", None, row(5, "d@x"))[1])]
    assert {tuple(one["_cdc"]) for one in stored(none, EMAIL | asked, events).rows(TABLE)} == {("op", "ts", "source")}


def test_keys_of_several_tables_in_one_topic_are_told_apart(none: Memory) -> None:
    """A column that is the key of one table may be any column of another one."""
    routed = {
        **{"iceberg.tables": "db.users,db.codes", "iceberg.tables.route-field": "_cdc.source"},
        **{"iceberg.table.db.users.route-regex": ".*users", "iceberg.table.db.codes.route-regex": ".*codes"},
        **{"iceberg.table.db.users.id-columns": "id", "iceberg.table.db.codes.id-columns": "email"},
    }
    code = change("c", None, {"id": 0, "email": "a@x"})[1]
    code["source"]["table"] = "codes"
    events = [change("c", None, row(1, "a@x")), ({"email": "a@x"}, code), change("u", None, row(1, "b@x"))]
    driver = stored(none, FOLLOW | routed, events, each=True)
    assert (emails(driver, "db.users"), emails(driver, "db.codes")) == ({"b@x": 1}, {"a@x": 0})
