"""`frazil.cdc.format=canal`: events of Canal, each with the rows of a statement."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from frazil.errors import BadRecord
from tests.connectors.iceberg.driver import CREATE, EVOLVE, TOLERANT, Driver, Memory

TABLE = "db.users"
CONFIG = {
    **{"iceberg.tables": TABLE, "frazil.cdc.format": "canal", "iceberg.tables.default-id-columns": "id"},
    **CREATE,
    **EVOLVE,
}
TYPES = {
    **{
        "id": "bigint(20) unsigned",
        "name": "varchar(50)",
        "price": "decimal(10, 2)",
        "share": "double",
        "n": "int(11)",
    },
    **{"on": "date", "at": "datetime(3)", "took": "time", "blob": "varbinary(9)", "flag": "tinyint(1)", "doc": "json"},
}

Row = dict[str, str | None]


def canal(type_: str, *rows: Row, old: Sequence[Row] | None = None, **more: Any) -> bytes:
    event: dict[str, Any] = {
        "data": list(rows) or None,
        "database": "shop",
        "es": 1_700_000_000_000,
        "id": 7,
        "isDdl": not rows,
    }
    event |= {"mysqlType": TYPES, "old": old, "pkNames": ["id"], "sql": "", "sqlType": {}, "table": "users", "ts": 1}
    return json.dumps({**event, "type": type_, **more}).encode()


def drained(given: Memory, config: dict[str, str], *events: bytes) -> Driver:
    driver = Driver(*given, config)
    given[0].send("t", events)
    driver.drain()
    return driver


@pytest.mark.parametrize("name", ["canal", "auto"])
def test_all_rows_of_an_event_follow_the_database(none: Memory, name: str) -> None:
    driver = drained(
        none,
        {**CONFIG, "frazil.cdc.format": name},
        canal("CREATE", sql="CREATE TABLE users"),
        canal("INSERT", {"id": "1", "name": "ann"}, {"id": "2", "name": "bob"}, {"id": "3", "name": "cid"}),
        canal("UPDATE", {"id": "1", "name": "x"}, {"id": "2", "name": "x"}, old=[{"name": "ann"}, {"name": "bob"}]),
        canal("DELETE", {"id": "3", "name": "cid"}, {"id": "1", "name": "x"}),
    )
    assert driver.rows(TABLE) == [{"id": 2, "name": "x"}]
    assert sum(report.stored for report in driver.reports) == 3
    none[0].send("t", [canal("TRUNCATE"), canal("INSERT", {"id": "4", "name": "dan"})])
    driver.drain()
    assert driver.rows(TABLE) == [{"id": 4, "name": "dan"}]


@pytest.mark.parametrize("each", [False, True])
def test_a_statement_that_moves_all_keys_leaves_no_row_behind(none: Memory, each: bool) -> None:
    """`UPDATE users SET id = id + 1 ORDER BY id DESC`."""
    rows: list[Row] = [{"id": str(number), "name": str(number)} for number in (1, 2, 3)]
    moved: list[Row] = [{"id": str(number + 1), "name": str(number)} for number in (3, 2, 1)]
    events = [canal("INSERT", *rows), canal("UPDATE", *moved, old=[{"id": "3"}, {"id": "2"}, {"id": "1"}])]
    driver = drained(none, CONFIG, *events[: 1 if each else 2])
    if each:
        none[0].send("t", events[1:])
        driver.drain()
    assert {row["id"]: row["name"] for row in driver.rows(TABLE)} == {2: "1", 3: "2", 4: "3"}


def test_values_are_of_the_types_of_their_columns(none: Memory) -> None:
    row = {"id": "1", "name": "1", "price": "12345678.90", "share": "0.5", "n": None, "on": "1969-12-31", "flag": "1"}
    row |= {"at": "2026-01-31 10:30:00.125", "took": "-838:59:59", "blob": "\u0000\u00ff", "doc": '{"a": 1}'}
    (found,) = drained(none, CONFIG, canal("INSERT", row), canal("INSERT", {"id": "2", "n": "5"})).rows(TABLE)[:1]
    assert found == {
        **{"id": 1, "name": "1", "price": Decimal("12345678.90"), "share": 0.5, "n": None, "on": dt.date(1969, 12, 31)},
        **{"at": dt.datetime(2026, 1, 31, 10, 30, 0, 125_000), "took": "-838:59:59", "blob": b"\x00\xff", "flag": 1},
        "doc": '{"a": 1}',
    }


def test_a_time_that_no_calendar_has_is_null(none: Memory) -> None:
    assert drained(none, CONFIG, canal("INSERT", {"id": "1", "on": "0000-00-00", "name": "a"})).rows(TABLE) == [
        {"id": 1, "name": "a"}
    ]


def test_an_event_of_which_one_row_is_bad_does_nothing(none: Memory) -> None:
    driver = drained(
        none, {**CONFIG, **TOLERANT, "errors.deadletterqueue.topic.name": "t-dlq"}, canal("INSERT", {"id": "1"})
    )
    none[0].send("t", [canal("INSERT", {"id": "2"}, {"id": None}, {"id": None})])
    driver.drain()
    assert driver.column(TABLE) == [1]
    assert driver.reports[-1].dead_letters == 1


def test_a_key_that_changes_is_refused_where_records_are_not_in_order(none: Memory) -> None:
    none[0].make("t", 2)
    driver = drained(none, CONFIG, canal("INSERT", {"id": "1"}))
    none[0].send("t", [canal("UPDATE", {"id": "2"}, old=[{"id": "1"}])])
    with pytest.raises(BadRecord, match="the update changes id, which is of the record's key"):
        driver.drain()


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (canal("MERGE", {"id": "1"}), "type is 'MERGE', which is no operation of Canal"),
        (canal("INSERT", data="x"), "an event of Canal has other data, old, mysqlType or pkNames"),
        (b'{"id": 1}', "is no change event as frazil.cdc.format=canal has them"),
    ],
)
def test_what_canal_does_not_say_is_refused(none: Memory, event: bytes, reason: str) -> None:
    with pytest.raises(BadRecord, match=reason):
        drained(none, CONFIG, event)
