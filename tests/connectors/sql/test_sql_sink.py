"""The SQL sink on a cluster and a catalog in memory: rows, positions, dead letters, counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.clients.kafka.headers import headers_of
from frazil.connectors.sql.runs import StatementRuns
from frazil.errors import BadRecord, ConfigError, TerminalError, UsageError
from frazil.pipeline.executor import InlineExecutor
from tests.connectors.broker import Killed
from tests.connectors.iceberg.driver import CREATE, EVOLVE, SIMPLE, TABLE, TOLERANT, Memory, memory, strays
from tests.connectors.sql.driver import ROWS, PythonQuery, Rows, SqlDriver, failure


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def record(number: int, **more: Any) -> bytes:
    return json.dumps({"id": number, **more}).encode()


def same(row: dict[str, Any]) -> Rows:
    return [{"id": row["id"], "text": row["text"]}]


def test_each_record_gives_no_row_one_or_several_and_the_position_moves_past_all(
    patched: pytest.MonkeyPatch, one: Memory
) -> None:
    def exploded(row: dict[str, Any]) -> Rows:
        return [{"id": item, "text": row["text"]} for item in row["items"] or ()]

    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, {}, PythonQuery(exploded))
    broker.send("t", [record(n, text="x", items=list(range(n))) for n in range(4)], stamp=5)
    broker.send("t", [None])
    driver.drain()
    assert driver.column(TABLE) == [0, 0, 0, 1, 1, 2]
    (report,) = driver.reports
    assert (report.read, report.stored, report.skipped_by_reason) == (5, 6, {"statement": 1, "tombstone": 1})
    assert driver.task.position == {("t", 0): 5}
    driver.restart()
    assert driver.task.position == {("t", 0): 5}, "the table has the position, behind records without rows as well"


def test_all_topics_of_a_pattern_are_one_table_also_those_that_are_new(
    patched: pytest.MonkeyPatch, one: Memory
) -> None:
    broker, catalog = one
    broker.make("u")
    config = {"topics": "", "topics.regex": ".", "frazil.sql": "SELECT id, _topic AS text FROM records"}
    query = PythonQuery(lambda row: [{"id": row["id"], "text": row["_topic"]}])
    driver = SqlDriver(patched, broker, catalog, config, query)
    broker.send("t", [record(1), record(2)])
    broker.send("u", [record(3)])
    driver.drain()
    broker.make("v")
    broker.send("v", [record(4)])
    driver.task.step(driver.task.due(broker.ends("t", "u", "v"), 0), driver.reports.append)
    assert sorted((row["id"], row["text"]) for row in driver.rows(TABLE)) == [(1, "t"), (2, "t"), (3, "u"), (4, "v")]
    assert driver.task.position == {("t", 0): 2, ("u", 0): 1, ("v", 0): 1}


def test_bad_records_are_dead_letters_before_the_statement_sees_them(patched: pytest.MonkeyPatch, one: Memory) -> None:
    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, TOLERANT, PythonQuery(same))
    broker.send("t", [record(1), b"no json", b'{"id": "x"}', b'{"text": "no id"}', record(2, other=5)], key=b"k")
    driver.drain()
    assert driver.column(TABLE) == [1, 2]
    assert sorted(broker.letters("t-dlq")) == [("t", 0, offset, "") for offset in (1, 2, 3)]
    assert [one.value() for one in broker.records("t-dlq")][0] == b"no json"


def test_records_that_no_row_can_come_of_are_looked_at_all_the_same(patched: pytest.MonkeyPatch, one: Memory) -> None:
    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, TOLERANT, PythonQuery(same, never=True))
    broker.send("t", [record(1), b"no json"])
    driver.drain()
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, "")]
    (report,) = driver.reports
    assert (report.read, report.dead_letters, report.skipped_by_reason) == (2, 1, {"statement": 1})


def test_records_that_the_statement_fails_on_are_dead_letters_alone(patched: pytest.MonkeyPatch, one: Memory) -> None:
    def divided(row: dict[str, Any]) -> Rows:
        if row["id"] % 10 == 3:
            raise failure()
        return same(row)

    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, TOLERANT, PythonQuery(divided))
    broker.send("t", [record(n) for n in range(40)], key=b"k", headers=[("h", b"v")])
    driver.drain()
    assert driver.column(TABLE) == [n for n in range(40) if n % 10 != 3]
    assert sorted(broker.letters("t-dlq")) == [("t", 0, offset, "") for offset in (3, 13, 23, 33)]
    first = broker.records("t-dlq")[0]
    assert (first.value(), first.key()) == (record(3), b"k")
    said = dict(headers_of(first))["__connect.errors.exception.message"] or b""
    assert b"the statement of frazil.sql fails on it: [DIVIDE_BY_ZERO] Division by zero." in said


def test_without_tolerance_what_is_before_is_stored_and_the_error_names_the_record(
    patched: pytest.MonkeyPatch, one: Memory
) -> None:
    def divided(row: dict[str, Any]) -> Rows:
        if row["id"] == 5:
            raise failure()
        return same(row)

    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, {}, PythonQuery(divided))
    broker.send("t", [record(n) for n in range(9)])
    with pytest.raises(BadRecord, match=r"topic t, partition 0, offset 5: the statement .*DIVIDE_BY_ZERO"):
        driver.step()
    assert driver.column(TABLE) == [0, 1, 2, 3, 4]


def test_a_statement_that_fails_on_every_record_stops_the_connector(patched: pytest.MonkeyPatch, one: Memory) -> None:
    def never(row: dict[str, Any]) -> Rows:
        raise failure("[CAST_INVALID_INPUT] The value 'x' cannot be cast. SQLSTATE: 22018")

    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, TOLERANT, PythonQuery(never))
    broker.send("t", [record(n) for n in range(500)])
    with pytest.raises(TerminalError, match=r"every one of \d+ records .* fails alike.*CAST_INVALID_INPUT"):
        driver.step()
    assert (driver.rows(TABLE), broker.letters("t-dlq")) == ([], {})


def test_an_error_that_says_nothing_of_a_record_is_raised_as_it_is(patched: pytest.MonkeyPatch, one: Memory) -> None:
    def broken(row: dict[str, Any]) -> Rows:
        raise ZeroDivisionError("not Spark's")

    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, TOLERANT, PythonQuery(broken))
    broker.send("t", [record(1)])
    with pytest.raises(ZeroDivisionError):
        driver.step()


def test_a_record_is_refused_whole_where_the_table_refuses_one_of_its_rows(patched: pytest.MonkeyPatch) -> None:
    def exploded(row: dict[str, Any]) -> Rows:
        return [{"id": item, "text": row["text"]} for item in row["items"]]

    narrow = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "text", StringType()))
    with memory({TABLE: narrow}) as (broker, catalog):
        driver = SqlDriver(patched, broker, catalog, TOLERANT, PythonQuery(exploded))
        broker.send("t", [record(0, items=[1, 2]), record(1, items=[3, None, 4]), record(2, items=[5])])
        driver.drain()
        assert driver.column(TABLE) == [1, 2, 5]
        assert list(broker.letters("t-dlq")) == [("t", 0, 1, "")]
        assert broker.records("t-dlq")[0].value() == record(1, items=[3, None, 4])
        (report,) = driver.reports
        assert (report.read, report.stored, report.dead_letters) == (3, 3, 1)
        assert strays(catalog, TABLE) == set(), "the files of the first run are removed"


def test_columns_that_the_table_lacks_come_with_the_first_batch(patched: pytest.MonkeyPatch, one: Memory) -> None:
    schema = pa.schema([*ROWS, pa.field("at", pa.timestamp("us", tz="UTC")), pa.field("price", pa.decimal128(10, 2))])

    def more(row: dict[str, Any]) -> Rows:
        return [{"id": row["id"], "text": "x", "at": row["_timestamp"], "price": None}]

    broker, catalog = one
    config = {**EVOLVE, "frazil.sql": "SELECT id, text, _timestamp AS at, price FROM t"}
    driver = SqlDriver(patched, broker, catalog, config, PythonQuery(more, schema))
    broker.send("t", [record(1)], stamp=1_700_000_000_123)
    driver.drain()
    (row,) = driver.rows(TABLE)
    assert row["at"].isoformat() == "2023-11-14T22:13:20.123000+00:00"
    types = {field.name: str(field.field_type) for field in catalog.load_table(TABLE).schema().fields}
    assert types == {"id": "long", "text": "string", "at": "timestamptz", "price": "decimal(10, 2)"}


def test_a_table_is_made_with_the_columns_of_the_statement(patched: pytest.MonkeyPatch) -> None:
    with memory({}) as (broker, catalog):
        driver = SqlDriver(patched, broker, catalog, CREATE, PythonQuery(same))
        broker.send("t", [record(1, text="a")])
        driver.drain()
        assert driver.rows(TABLE) == [{"id": 1, "text": "a"}]


def test_rows_replace_those_with_their_key_and_the_last_record_wins(patched: pytest.MonkeyPatch, one: Memory) -> None:
    broker, catalog = one
    config = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
    driver = SqlDriver(patched, broker, catalog, config, PythonQuery(same))
    broker.send("t", [record(n % 3, text=f"first {n}") for n in range(9)])
    driver.drain()
    broker.send("t", [record(1, text="last")])
    driver.drain()
    assert {row["id"]: row["text"] for row in driver.rows(TABLE)} == {0: "first 6", 1: "last", 2: "first 8"}


def test_tables_are_joined_as_they_are_when_a_batch_begins(patched: pytest.MonkeyPatch) -> None:
    def named(row: dict[str, Any]) -> Rows:
        names = {each["id"]: each["text"] for each in row["tables"][0]}
        return [{"id": row["id"], "text": names.get(row["id"])}]

    with memory({TABLE: SIMPLE, "db.names": SIMPLE}) as (broker, catalog):
        config = {"frazil.sql": "SELECT t.id, n.text FROM t LEFT JOIN db.names n ON t.id = n.id"}
        driver = SqlDriver(patched, broker, catalog, config, PythonQuery(named))
        broker.send("t", [record(1)])
        driver.drain()
        catalog.load_table("db.names").append(pa.Table.from_pylist([{"id": 1, "text": "one"}], ROWS))
        broker.send("t", [record(1)])
        driver.drain()
        assert Counter(row["text"] for row in driver.rows(TABLE)) == {None: 1, "one": 1}


def test_a_table_that_is_not_there_is_an_error_at_the_start(patched: pytest.MonkeyPatch, one: Memory) -> None:
    broker, catalog = one
    with pytest.raises(ConfigError, match=r"reads table db\.gone, and the catalog has no such table"):
        SqlDriver(
            patched, broker, catalog, {"frazil.sql": "SELECT t.id FROM t JOIN db.gone g USING (id)"}, PythonQuery(same)
        )


def test_a_kill_before_or_after_the_commit_stores_nothing_twice(patched: pytest.MonkeyPatch, one: Memory) -> None:
    broker, catalog = one
    driver = SqlDriver(patched, broker, catalog, {}, PythonQuery(same))
    for fault in ("killed before", "killed after"):
        broker.send("t", [record(n) for n in range(10)])
        catalog.faults = [fault]
        with pytest.raises(Killed):
            driver.step()
        driver.restart()
        driver.drain()
    assert Counter(driver.column(TABLE)) == dict.fromkeys(range(10), 2)


def test_a_statement_needs_spark() -> None:
    with pytest.raises(UsageError, match=r"drain\(spark=…\)"):
        StatementRuns(None, [], InlineExecutor(), list)  # type: ignore[arg-type]
