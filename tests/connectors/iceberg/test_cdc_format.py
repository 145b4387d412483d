"""`frazil.cdc.format`: Debezium's events of a PostgreSQL, as they come, come again and come from a new snapshot."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.table.commit import Commit, TableBranch, summary_of
from frazil.connectors.iceberg.table.taken import commit_taken
from frazil.connectors.iceberg.table.writers import file_writer
from frazil.connectors.iceberg.tools.problems import without_keys
from frazil.connectors.iceberg.tools.sample import sample
from frazil.connectors.sink import Due
from frazil.errors import BadRecord, ConfigError
from frazil.pipeline.source_positions import Taken
from tests.connectors.iceberg.driver import CREATE, EVOLVE, SIMPLE, TOLERANT, Driver, Memory

TABLE = "db.users"
USERS = Schema(
    NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType()), identifier_field_ids=[1]
)
FORMAT = {"iceberg.tables": TABLE, "frazil.cdc.format": "debezium", **CREATE, **EVOLVE}


def key_of(number: int) -> bytes:
    return json.dumps({"id": number}).encode()


def event(
    op: str,
    number: int,
    lsn: int,
    *,
    commit: int | None = 0,
    ts: int | None = None,
    snapshot: str = "false",
    tx: int | None = None,
    **row: Any,
) -> bytes:
    """An event as Debezium writes it without schemas; `commit` is the end of the transaction before."""
    state = {"id": number, **row}
    sequence = json.dumps([None if commit is None else str(commit), str(lsn)])
    source = {
        **{"version": "3.6.1.Final", "connector": "postgresql", "name": "dbz", "ts_ms": lsn if ts is None else ts},
        **{"snapshot": snapshot, "db": "shop", "sequence": sequence, "schema": "public", "table": "users", "lsn": lsn},
        "txId": tx,
    }
    before, after = (state, None) if op == "d" else (None, state)
    return json.dumps({"before": before, "after": after, "source": source, "op": op, "ts_ms": lsn}).encode()


def read(number: int, lsn: int, **row: Any) -> bytes:
    """A row of a snapshot."""
    return event("r", number, lsn, commit=None, snapshot="true", **row)


def messages(memory: Memory, end: int) -> list[Message]:
    return [one for part in memory[0].read_ranges({("t", 0): 0}, {("t", 0): end}) for one in part]


def send(memory: Memory, *values: bytes | None, partition: int = 0) -> None:
    for value in values:
        number = 0
        if value is not None:
            told = json.loads(value)
            number = (told.get("after") or told.get("before") or {"id": 0})["id"]
        memory[0].send("t", [value], partition, key=key_of(number))


def state(driver: Driver) -> dict[int, Any]:
    rows = driver.rows(TABLE)
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row.get("name") for row in rows}


def test_rows_follow_the_database_by_the_record_key(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    send(none, read(1, 100, name="ann"), read(2, 100, name="bob"), event("c", 3, 110, name="cid"))
    driver.drain()
    table = none[1].load_table(TABLE)
    assert table.schema().identifier_field_names() == {"id"}
    assert {field.name for field in table.schema().fields} == {"id", "name"}
    send(none, event("u", 1, 120, commit=111, name="anna"), event("d", 2, 130, commit=121), None)
    driver.drain()
    assert state(driver) == {1: "anna", 3: "cid"}
    # A key that changes is a delete of the old one and an insert of the new one.
    send(none, event("d", 1, 140, commit=131), None, event("c", 9, 140, commit=131, name="anna"))
    driver.drain()
    assert state(driver) == {3: "cid", 9: "anna"}
    assert driver.reports[-1].skipped_by_reason.get("tombstone") == 1


def test_records_about_no_row_are_left_out(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    heartbeat = b'{"ts_ms":1}'
    begin = b'{"status":"BEGIN","id":"7:1","event_count":null,"data_collections":null,"ts_ms":1}'
    schema = b'{"source":{},"ts_ms":1,"databaseName":"shop","schemaName":"public","ddl":"","tableChanges":[]}'
    message = b'{"op":"m","ts_ms":1,"source":{"connector":"postgresql"},"message":{"prefix":"p","content":""}}'
    send(none, read(1, 100, name="ann"))
    none[0].send("t", [heartbeat, begin, schema, message])
    driver.drain()
    assert state(driver) == {1: "ann"}
    assert sum(report.skipped_by_reason.get("transform", 0) for report in driver.reports) == 4


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"id": 1}', "is no change event as frazil.cdc.format=debezium has them. Set frazil.cdc.format=auto"),
        (event("x", 1, 5), "op is 'x', which is no operation of Debezium"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(none: Memory, value: bytes, reason: str) -> None:
    driver = Driver(*none, FORMAT)
    send(none, value)
    with pytest.raises(BadRecord, match=reason):
        driver.drain()


def test_auto_takes_other_records_for_rows(none: Memory) -> None:
    driver = Driver(*none, {**FORMAT, "frazil.cdc.format": "auto"})
    send(none, event("c", 1, 5, name="ann"))
    none[0].send("t", [b'{"id":2,"name":"bob"}', b'{"id":2,"name":"bobby"}'], key=key_of(2))
    driver.drain()
    assert state(driver) == {1: "ann", 2: "bobby"}


UNCHANGED = "__debezium_unavailable_value"


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("epoch", [0, 1 << 32, 5 << 32])
def test_rows_that_were_taken_from_the_database_have_what_was_committed_before(
    none: Memory, size: int, epoch: int
) -> None:
    driver = Driver(*none, FORMAT)
    table = none[1].create_table(TABLE, USERS)
    files = file_writer(driver.config, table).open()
    files.add(pa.table({"id": [1, 3], "name": ["anna", "cid"]}, schema_to_pyarrow(USERS)))
    taken = Taken("slot", 200, 1_000, epoch + 16, frozenset({epoch + 14}))
    branch = TableBranch(none[1], TABLE, "main")
    commit_taken(branch, table, "c", files.close(), {"t": taken}, {})
    changes = [
        event("u", 1, 110, tx=10, name="ann"),
        event("u", 2, 120, tx=11, name=UNCHANGED),
        event("d", 2, 130, tx=12),
        event("u", 3, 140, tx=14, name="sid"),
        event("c", 4, 150, tx=15, ts=1_001, name="dan"),
        event("u", 1, 190, tx=16, name="annika"),
        event("d", 4, 200, tx=9),
        event("c", 5, 210, tx=17, name="eve"),
    ]
    for first in range(0, len(changes), size):
        send(none, *changes[first : first + size])
        driver.step()
        driver.restart()
    driver.drain()
    assert state(driver) == {1: "annika", 3: "sid", 5: "eve"}
    assert sum(report.skipped_by_reason.get("replayed", 0) for report in driver.reports) == 3


def test_rows_are_not_taken_into_a_table_that_has_some_or_has_been_written_to(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    send(none, event("d", 1, 110))
    none[1].create_table(TABLE, USERS)
    driver.drain()
    branch, taken = TableBranch(none[1], TABLE, "main"), {"t": Taken("slot", 200, 1_000, 16, frozenset())}
    with pytest.raises(ConfigError, match="was written by connector c already"):
        commit_taken(branch, branch.load(), "c", [], taken, {})
    send(none, event("c", 1, 120, name="ann"))
    driver.drain()
    with pytest.raises(ConfigError, match="has 1 rows already"):
        commit_taken(branch, branch.load(), "other", [], taken, {})


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_events_that_come_again_set_no_row_back(none: Memory, size: int) -> None:
    """A capture that was killed sends again what it had sent since it last noted its position."""
    driver = Driver(*none, FORMAT)
    history = [
        read(1, 100, name="one"),
        event("c", 2, 110, commit=None, name="two"),
        event("u", 1, 120, commit=111, name="uno"),
        event("d", 2, 130, commit=121),
        event("c", 3, 140, commit=131, name="three"),
    ]
    send(none, *history)
    driver.drain()
    expected = {1: "uno", 3: "three"}
    assert state(driver) == expected
    again = history[1:]
    for first in range(0, len(again), size):
        send(none, *again[first : first + size])
        driver.step()
        assert state(driver) == expected
        driver.restart()
    assert sum(report.skipped_by_reason.get("replayed", 0) for report in driver.reports) == len(again) - 1, (
        "the newest one is as good once more"
    )


def test_a_snapshot_behind_others_is_told_since_rows_that_went_before_it_stay(
    none: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Driver(*none, FORMAT)
    send(none, read(1, 100, name="one"), read(2, 100, name="two"), read(2, 100, name="two"))
    driver.drain()
    assert "anew" not in caplog.text
    send(none, read(1, 200, name="uno"))
    driver.drain()
    assert state(driver) == {1: "uno", 2: "two"}
    assert "a snapshot has read the database anew. Rows that were deleted before it" in caplog.text
    caplog.clear()
    send(none, read(3, 200, name="three"), event("u", 1, 210, commit=None, name="one"))
    driver.drain()
    assert "anew" not in caplog.text


def test_a_topic_that_is_read_again_sets_no_row_back(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    send(none, read(1, 100, name="one"), event("u", 1, 120, commit=111, name="uno"), event("d", 1, 130, commit=121))
    send(none, event("c", 1, 140, commit=131, name="back"))
    driver.drain()
    target = TableBranch(none[1], TABLE, "main")
    table = target.load()
    head = table.current_snapshot()
    assert head is not None
    assert json.loads(summary_of(head)["frazil.source.positions"]) == {"t": {"0": [131, 140, 140, False]}}
    floor = target.floor(table, "c")
    target.commit(table, floor, Commit("c", [], {}, {("t", 0): 0}, floor.identity, None, altered=True))
    driver.restart()
    assert driver.task.position == {("t", 0): 0}
    for end in (1, 2, 3, 4):
        driver.task.step(Due({("t", 0): end}), driver.reports.append)
        assert state(driver) == {1: "back"}, end


def test_a_change_that_a_snapshot_did_not_see_is_newer_although_it_was_logged_before(none: Memory) -> None:
    """A transaction that was open when the snapshot was taken commits behind it, with places in the log before it."""
    driver = Driver(*none, FORMAT)
    send(none, read(1, 100, name="old"), read(2, 100, name="old"))
    driver.drain()
    send(none, event("u", 1, 90, commit=None, ts=105, name="new"))
    driver.drain()
    send(none, event("u", 2, 95, commit=108, ts=110, name="new"))
    driver.drain()
    assert state(driver) == {1: "new", 2: "new"}


def test_a_new_snapshot_counts_and_so_does_what_follows(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    send(none, event("c", 1, 400, commit=390, name="before"))
    driver.drain()
    send(none, read(1, 500, name="snapshot"))
    driver.drain()
    assert state(driver) == {1: "snapshot"}
    send(none, event("u", 1, 410, commit=405, name="older than the snapshot"))
    driver.drain()
    assert state(driver) == {1: "snapshot"}
    send(none, event("u", 1, 510, commit=505, name="after"))
    driver.drain()
    assert state(driver) == {1: "after"}


def test_a_database_that_was_restored_counts_from_lower_places(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    send(none, event("c", 1, 4000, commit=3900, ts=1_000, name="before"))
    driver.drain()
    send(none, read(1, 70, ts=2_000, name="restored"))
    driver.drain()
    send(none, event("u", 1, 90, commit=80, ts=3_000, name="after"))
    driver.drain()
    assert state(driver) == {1: "after"}


def test_a_text_that_was_not_sent_keeps_its_value(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    send(none, read(1, 100, name="ann", bio="long"))
    driver.drain()
    send(none, event("u", 1, 120, commit=110, name="anna", bio="__debezium_unavailable_value"))
    driver.drain()
    (row,) = driver.rows(TABLE)
    assert (row["name"], row["bio"]) == ("anna", "long")


def test_a_table_that_would_get_the_fields_of_record_keys_is_no_problem(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(catalogs, "connect", lambda properties, name: none[1])
        assert without_keys(driver.config) == []
        none[1].create_table(TABLE, SIMPLE)
        (text,) = without_keys(driver.config)
    assert "has no identifier fields" in text


def test_a_table_without_record_keys_is_not_made_and_a_sample_says_so(
    none: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(*none, FORMAT)
    none[0].send("t", [event("c", 1, 5, name="ann")])
    monkeypatch.setattr(catalogs, "connect", lambda properties, name: none[1])
    with pytest.raises(ConfigError, match="has no identifier fields"):
        sample(driver.config, messages(none, 1), 1)
    with pytest.raises(ConfigError, match="has no identifier fields"):
        driver.drain()


def test_a_sample_has_the_columns_of_the_record_keys_as_the_table_gets_them(
    none: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(*none, FORMAT)
    send(none, event("c", 1, 5, name="ann"))
    monkeypatch.setattr(catalogs, "connect", lambda properties, name: none[1])
    (told,) = sample(driver.config, messages(none, 1), 1).tables
    assert told.changes == {"id": "long not null", "name": "string"}
    driver.drain()
    assert none[1].load_table(TABLE).schema().identifier_field_names() == {"id"}


def test_tables_by_topic_have_the_keys_of_their_topics(none: Memory) -> None:
    config = {**FORMAT, "iceberg.tables": "", "frazil.tables.topic-pattern": "db.{topic}"}
    driver = Driver(*none, config)
    none[0].send("t", [event("c", 1, 5, line=2, name="ann")], key=b'{"schema":{},"payload":{"id":1,"line":2}}')
    driver.drain()
    assert none[1].load_table("db.t").schema().identifier_field_names() == {"id", "line"}


@dataclass
class Source:
    """A PostgreSQL with one table, and a capture that is killed now and then: it sends again what it does not know."""

    chance: random.Random
    rows: dict[int, int] = field(default_factory=dict)
    lsn: int = 1000
    commit: int | None = None
    sent: list[bytes] = field(default_factory=list)

    def transaction(self) -> list[bytes]:
        events = []
        for _ in range(self.chance.randint(1, 4)):
            number = self.chance.randrange(6)
            self.lsn += self.chance.randint(1, 5)
            if number in self.rows and self.chance.random() < 0.3:
                del self.rows[number]
                events.append(event("d", number, self.lsn, commit=self.commit))
            else:
                op = "u" if number in self.rows else "c"
                self.rows[number] = self.lsn
                events.append(event(op, number, self.lsn, commit=self.commit, name=str(self.lsn)))
        self.lsn += 3
        self.commit = self.lsn
        return events


@pytest.mark.parametrize("seed", range(3))
def test_a_capture_that_is_killed_again_and_again(none: Memory, seed: int) -> None:
    chance = random.Random(seed)
    source, driver = Source(chance), Driver(*none, {**FORMAT, **TOLERANT})
    send(none, read(99, 1000, name="kept"))
    source.rows[99] = 0
    driver.drain()
    newest: dict[int, int] = {}
    for _ in range(12):
        if chance.random() < 0.3 and source.sent:
            send(none, *source.sent[-chance.randint(1, len(source.sent)) :])
        else:
            events = source.transaction()
            source.sent += events
            send(none, *events)
        if chance.random() < 0.7:
            driver.step()
            for number, name in state(driver).items() if driver.rows(TABLE) else ():
                if number != 99:
                    assert int(name) >= newest.get(number, 0), "a row was set back"
                    newest[number] = int(name)
        if chance.random() < 0.3:
            driver.restart()
    driver.drain()
    assert {number: name for number, name in state(driver).items() if number != 99} == {
        number: str(lsn) for number, lsn in source.rows.items() if number != 99
    }


def test_changes_of_the_first_transaction_behind_a_new_snapshot_count(none: Memory) -> None:
    """It names the transaction before it, and may be committed while rows are read."""
    driver = Driver(*none, FORMAT)
    send(none, event("c", 1, 400, commit=390, name="before"), read(1, 500, ts=600, name="snapshot"))
    driver.drain()
    first = [event("u", 1, 510, commit=490, ts=505, name="first"), event("u", 1, 512, commit=490, ts=505, name="then")]
    for number in (0, 1):
        send(none, first[number])
        driver.drain()
        assert state(driver) == {1: ("first", "then")[number]}
    send(none, first[0], event("u", 1, 495, commit=490, ts=498, name="seen"))
    driver.drain()
    assert state(driver) == {1: "then"}
