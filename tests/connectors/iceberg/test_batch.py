"""Rounds of one batch: more columns, bad records, pieces, commits without an answer."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from frazil.clients.kafka.headers import Headers
from frazil.errors import (
    BadRecord,
    CommitStateUnknown,
    ServiceUnavailable,
    TerminalError,
)
from frazil.pipeline import bookings
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.converter import Run
from tests.clients.registry.server import served
from tests.connectors.broker import Killed
from tests.connectors.iceberg.driver import (
    CHANGES,
    CREATE,
    DYNAMIC,
    EVOLVE,
    SIMPLE,
    TABLE,
    TOLERANT,
    Driver,
    Memory,
    memory,
    record,
    strays,
)


def test_a_null_for_a_required_field_of_a_schema_is_a_dead_letter_alone(one: Memory) -> None:
    broker, catalog = one
    fields = [{"field": "id", "type": "int64"}, {"field": "text", "type": "string"}]
    converter = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
    }
    driver = Driver(broker, catalog, TOLERANT | converter)
    schema = {"type": "struct", "fields": fields}
    payloads = [{"id": 1, "text": "a"}, {"id": 2, "text": None}, {"id": 3}, {"id": 4, "text": ""}]
    broker.send("t", [json.dumps({"schema": schema, "payload": payload}).encode() for payload in payloads])
    driver.drain()
    assert driver.column(TABLE) == [1, 4]
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, ""), ("t", 0, 2, "")]


@pytest.mark.parametrize("force", ["true", "false"])
def test_columns_of_required_fields_are_optional_in_new_tables_and_new_columns(force: str) -> None:
    inside = [{"field": "x", "type": "int64"}]
    new: list[dict[str, Any]] = [
        {"field": "n", "type": "int64"},
        {"field": "s", "type": "struct", "fields": inside},
        {"field": "l", "type": "array", "items": {"type": "int64"}},
    ]
    converter = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
        "iceberg.tables.schema-force-optional": force,
    }
    known: list[dict[str, Any]] = [{"field": "id", "type": "int64"}]
    for before in ([], known):
        with memory({}) as (broker, catalog):
            driver = Driver(broker, catalog, {**CREATE, **EVOLVE, **converter})
            payload: dict[str, Any] = {"id": 1, "n": 1, "s": {"x": 1}, "l": [1]}
            for fields in (before, [*before, *new]) if before else (new,):
                schema = {"type": "struct", "fields": fields}
                own = {str(field["field"]): payload[str(field["field"])] for field in fields}
                broker.send("t", [json.dumps({"schema": schema, "payload": own}).encode()])
                driver.drain()
            schema_ = catalog.load_table(TABLE).schema()
            names = [name for name in ("id", "n", "s", "s.x", "l", "l.element") if before or name != "id"]
            assert [schema_.find_field(name).required for name in names] == [False] * len(names)


def test_a_record_of_a_recursive_schema_is_a_dead_letter_alone(one: Memory) -> None:
    broker, catalog = one
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "child", "type": ["null", "Tree"]}]}
    plain = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
    answers = {f"/schemas/ids/{n}": {"schema": json.dumps(schema)} for n, schema in ((1, plain), (2, tree))}
    with served({**answers, "/schemas/ids/1/versions": []}) as registry:
        converter = {
            "value.converter": "io.confluent.connect.avro.AvroConverter",
            "value.converter.schema.registry.url": registry.url,
        }
        driver = Driver(broker, catalog, TOLERANT | converter)
        broker.send("t", [b"\0\0\0\0\1\2", b"\0\0\0\0\2\0", b"\0\0\0\0\1\4"])
        driver.drain()
    assert driver.column(TABLE) == [1, 2]
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, "")]


def test_unknown_fields_become_columns_and_the_records_are_read_again(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, EVOLVE)
    broker.send("t", [record(1), record(2, new="x"), record(3, other=1.5)])
    driver.drain()
    assert driver.rows(TABLE) == [
        {"id": 1, "text": None, "new": None, "other": None},
        {"id": 2, "text": None, "new": "x", "other": None},
        {"id": 3, "text": None, "new": None, "other": 1.5},
    ]
    assert [(report.read, report.stored) for report in driver.reports] == [(3, 3)]


# What is refused only where its fields have columns, beside records that are stored.
NEVER_STORED = {
    "half a character": b'{"id":2,"only":"\\ud800"}',
    "a number that is too large": b'{"id":2,"only":1e999}',
    "digits that a fraction cannot have": b'{"id":2,"v":9007199254740993,"only":1}',
    "a name in another case": b'{"id":2,"V":1,"only":1}',
}


@pytest.mark.parametrize("value", NEVER_STORED.values(), ids=NEVER_STORED)
@pytest.mark.parametrize("made", [True, False], ids=["a table that is there", "a new table"])
def test_columns_come_from_records_that_are_stored(value: bytes, made: bool) -> None:
    with memory({TABLE: SIMPLE} if made else {}) as (broker, catalog):
        driver = Driver(broker, catalog, {**TOLERANT, **EVOLVE, **CREATE})
        broker.send("t", [record(1, v=0.5), value, record(3, v=0.25)])
        driver.drain()
        names = [field.name for field in catalog.load_table(TABLE).schema().fields]
        assert names == (["id", "text", "v"] if made else ["id", "v"])
        assert [(row["id"], row["v"]) for row in driver.rows(TABLE)] == [(1, 0.5), (3, 0.25)]
        assert list(broker.letters("t-dlq")) == [("t", 0, 1, "")]
        (report,) = driver.reports
        assert (report.read, report.stored, report.dead_letters) == (3, 2, 1)


def test_a_column_is_as_wide_as_its_stored_values() -> None:
    """Of a record that is refused neither a new column nor a wider one nor an optional one is left."""
    schema = Schema(NestedField(1, "id", IntegerType(), required=True), NestedField(2, "n", IntegerType()))
    with memory({TABLE: schema}) as (broker, catalog):
        driver = Driver(broker, catalog, {**TOLERANT, **EVOLVE, "iceberg.tables.schema-force-optional": "true"})
        bad = b'{"n":3000000000,"new":"\\ud800"}'
        broker.send("t", [record(1, new="x"), bad])
        driver.drain()
        types = [
            (field.name, str(field.field_type), field.required) for field in catalog.load_table(TABLE).schema().fields
        ]
        assert types == [("id", "int", True), ("n", "int", False), ("new", "string", False)]
        assert list(broker.letters("t-dlq")) == [("t", 0, 1, "")]


def test_tables_that_records_name_get_columns_from_records_that_are_stored() -> None:
    with memory({}) as (broker, catalog):
        driver = Driver(broker, catalog, {**TOLERANT, **EVOLVE, **DYNAMIC})
        broker.send("t", [record(1, to="db.a"), b'{"id":2,"to":"db.a","only":1e999}', record(3, to="db.b")])
        driver.drain()
        assert [field.name for field in catalog.load_table("db.a").schema().fields] == ["id", "to"]
        assert (driver.column("db.a"), driver.column("db.b")) == ([1], [3])
        assert list(broker.letters("t-dlq")) == [("t", 0, 1, "db.a")]


def test_a_new_table_of_changes_gets_no_column_of_a_record_without_a_key() -> None:
    with memory({}) as (broker, catalog):
        driver = Driver(broker, catalog, {**TOLERANT, **CREATE, **EVOLVE, **CHANGES})
        broker.send("t", [record(1, op="c"), b'{"op":"c","only":1}'])
        driver.drain()
        assert "only" not in [field.name for field in catalog.load_table(TABLE).schema().fields]
        assert (driver.column(TABLE), list(broker.letters("t-dlq"))) == ([1], [("t", 0, 1, "")])


def test_a_record_that_no_column_holds_is_a_wall_where_bad_records_are_not_tolerated(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, EVOLVE)
    broker.send("t", [record(1, v=0.5), NEVER_STORED["half a character"], record(3)])
    with pytest.raises(BadRecord, match=r"partition 0, offset 1"):
        driver.drain()
    driver.restart()
    assert (driver.column(TABLE), driver.task.position) == ([1], {("t", 0): 1})
    assert "only" not in [field.name for field in catalog.load_table(TABLE).schema().fields]


def test_bad_records_are_dead_letters_before_the_commit_that_passes_them(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, TOLERANT)
    broker.send("t", [record(1), b"{", None, b'{"id":"x"}', record(2)])
    catalog.faults = ["killed before"]
    with pytest.raises(Killed):
        driver.step()
    assert broker.letters("t-dlq") == {("t", 0, 1, ""): [0], ("t", 0, 3, ""): [1]}
    assert driver.rows(TABLE) == []
    driver.restart()
    driver.drain()
    assert broker.letters("t-dlq") == {("t", 0, 1, ""): [0], ("t", 0, 3, ""): [1]}, "written once"
    assert driver.column(TABLE) == [1, 2]
    (report,) = driver.reports
    assert (report.read, report.stored, report.dead_letters, report.skipped) == (5, 2, 2, 1)
    assert (report.dead_by_topic, report.skipped_by_reason) == ({"t": 2}, {"tombstone": 1})


@pytest.mark.parametrize("fault", ["refused", "lost"])
def test_nothing_is_committed_while_a_dead_letter_is_not_acknowledged(one: Memory, fault: str) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, TOLERANT)
    broker.send("t", [record(1), b"{"])
    broker.produce_faults = [fault]
    with pytest.raises(ServiceUnavailable, match="1 of 1 dead letters were not acknowledged"):
        driver.step()
    assert (driver.rows(TABLE), driver.reports) == ([], [])
    driver.restart()
    assert driver.task.position == {("t", 0): 0}
    driver.drain()
    assert (driver.column(TABLE), list(broker.letters("t-dlq"))) == ([1], [("t", 0, 1, "")])


def test_a_dead_letter_of_a_record_that_is_stored_after_all_is_closed(one: Memory) -> None:
    """Its table was changed between a worker that was killed and the next one."""
    broker, catalog = one
    driver = Driver(broker, catalog, TOLERANT)
    broker.send("t", [b'{"id":1,"size":"x"}', b"{"])
    catalog.load_table(TABLE).update_schema().add_column("size", LongType()).commit()
    catalog.faults = ["killed before"]
    with pytest.raises(Killed):
        driver.step()
    assert len(broker.letters("t-dlq")) == 2
    with catalog.load_table(TABLE).update_schema() as update:
        update.delete_column("size").add_column("size", StringType())
    driver.restart()
    driver.drain()
    assert driver.rows(TABLE) == [{"id": 1, "text": None, "size": "x"}]
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, "")]


def test_a_failed_closing_of_a_dead_letter_does_not_end_the_connector(
    one: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {**TOLERANT, **EVOLVE})
    broker.send("t", [b'{"id":"x"}'])
    catalog.faults = ["killed before"]
    with pytest.raises(Killed):
        driver.step()
    with catalog.load_table(TABLE).update_schema() as update:
        update.delete_column("id").add_column("id", StringType())
    driver.restart()
    broker.produce_faults = ["refused"]
    driver.drain()
    assert driver.rows(TABLE) == [{"text": None, "id": "x"}]
    assert "has stored records whose dead letters stay open; drop these" in caplog.text


def test_a_bad_record_that_is_not_tolerated_is_a_wall(one: Memory) -> None:
    broker, catalog = one
    broker.make("t", 2)
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1), record(2), b"{", record(3)])
    broker.send("t", [record(11), b"[", record(12)], partition=1)
    with pytest.raises(BadRecord, match=r"partition 1, offset 1: .*; topic t, partition 0, offset 2: .*tolerance=all"):
        driver.step()
    assert driver.column(TABLE) == [1, 2, 11]
    assert [(report.read, report.stored) for report in driver.reports] == [(3, 3)]
    driver.restart()
    assert driver.task.position == {("t", 0): 2, ("t", 1): 1}
    with pytest.raises(BadRecord):
        driver.step()
    assert driver.column(TABLE) == [1, 2, 11]
    assert strays(catalog, TABLE) == set()


def test_too_many_dead_letters_for_one_task_divide_the_batch(one: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    broker, catalog = one
    monkeypatch.setattr(bookings, "MAX_DEAD_BYTES", 2000)
    driver = Driver(broker, catalog, TOLERANT)
    broker.send("t", [b"{" if n % 2 else record(n) for n in range(40)])
    driver.step()
    assert driver.column(TABLE) == list(range(0, 40, 2))
    assert list(broker.letters("t-dlq")) == [("t", 0, n, "") for n in range(1, 40, 2)]
    assert len(catalog.load_table(TABLE).snapshots()) > 4
    (report,) = driver.reports
    assert (report.read, report.stored, report.dead_letters) == (40, 20, 20)


@pytest.mark.parametrize("fault", ["refused", "lost before", "lost after"])
def test_a_commit_is_made_once_whatever_its_answer_was(one: Memory, fault: str) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    catalog.faults = [fault]
    driver.drain()
    assert (driver.column(TABLE), len(catalog.load_table(TABLE).snapshots())) == ([1], 1)


def test_a_commit_that_nobody_confirms_is_found_at_the_next_start(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    catalog.faults = ["lost after"]
    catalog.meanwhile = lambda: setattr(catalog, "away", 99)
    with pytest.raises(CommitStateUnknown, match="the position in the table decides"):
        driver.step()
    assert driver.reports == []
    catalog.away = 0
    driver.restart()
    assert driver.task.position == {("t", 0): 1}
    assert driver.column(TABLE) == [1]


def test_a_table_that_is_dropped_and_made_again_under_a_batch_gets_none_of_its_files(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])

    def again() -> None:
        catalog.drop_table(TABLE)
        catalog.create_table(TABLE, SIMPLE)

    catalog.meanwhile = again
    with pytest.raises(TerminalError, match="was dropped and made again"):
        driver.step()
    assert catalog.load_table(TABLE).snapshots() == []
    driver.restart()
    driver.drain()
    assert driver.column(TABLE) == [1], "the batch is stored in the new table"


class _Columnar:
    """An envelope that reads all records of a chunk as columns, as that of Avro does when they are many."""

    of_json = False
    SCHEMA = b'{"type":"struct","fields":[{"field":"id","type":"int64"},{"field":"text","type":"string"}]}'

    def split(self, value: bytes, headers: Headers, topic: str) -> tuple[bytes, bytes]:
        return self.SCHEMA, value

    def runs(self, rows: Rows) -> list[Run]:
        type_ = pa.struct([("id", pa.int64()), ("text", pa.string())])
        struct = pa.array([json.loads(value or b"null") for value in rows.values], type_)
        return [Run(self.SCHEMA, np.arange(len(rows)), struct)]


@pytest.mark.parametrize("own", [CREATE, {**CREATE, "iceberg.tables.upsert-mode-enabled": "true"}])
def test_records_that_are_read_as_columns_are_in_a_table_that_is_made_for_them(own: dict[str, str]) -> None:
    with memory({}) as (broker, catalog):
        driver = Driver(broker, catalog, {**own, "iceberg.tables.default-id-columns": "id"})
        driver.config = replace(driver.config, envelope=_Columnar())
        driver.restart()
        broker.send("t", [record(n % 20, text=f"{n}") for n in range(40)])
        driver.drain()
        numbers = range(20, 40) if driver.config.row_changes is not None else range(40)
        assert Counter((row["id"], row["text"]) for row in driver.rows(TABLE)) == Counter(
            (n % 20, f"{n}") for n in numbers
        )
