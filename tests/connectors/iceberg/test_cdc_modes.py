"""`frazil.cdc.mode`: tables that keep each change, or each version of a row, of what a PostgreSQL brings."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyiceberg.table.snapshots import Operation

from frazil.errors import BadRecord, ConfigError
from tests.connectors.iceberg.driver import Driver, Memory, memory
from tests.connectors.iceberg.test_cdc_format import FORMAT, TABLE, USERS, Source, event, read, send
from tests.connectors.iceberg.test_truncates import truncate

APPEND, HISTORY = ({**FORMAT, "frazil.cdc.mode": mode} for mode in ("append", "history"))
PLACEHOLDER = "__debezium_unavailable_value"
FILES = ["copy-on-write", "merge-on-read"]


def at(ms: int | None) -> datetime | None:
    return None if ms is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def history(driver: Driver, table: str = TABLE) -> dict[int, list[tuple[Any, ...]]]:
    """Operation, name, begin and end in milliseconds of the versions of each row, as they follow each other."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    rows = driver.rows(table)
    assert len({(row["id"], row["_position"]) for row in rows}) == len(rows)
    for row in sorted(rows, key=lambda row: (row["id"], row["_position"])):
        assert row["_current"] == (row["_valid_to"] is None)
        since, until = (
            moment and round(moment.timestamp() * 1000) for moment in (row["_valid_from"], row["_valid_to"])
        )
        found.setdefault(row["id"], []).append((row["_op"], row.get("name"), since, until))
    return found


STORY = [
    read(1, 100, name="ann"),
    read(2, 100, name="bob"),
    event("u", 1, 110, commit=105, name="anna"),
    event("u", 1, 120, commit=115, name="annika"),
    event("d", 2, 130, commit=125),
    event("c", 2, 140, commit=135, name="ben"),
    event("c", 3, 150, commit=145, name="cid"),
    event("d", 3, 160, commit=155),
]
VERSIONS: dict[int, list[tuple[Any, ...]]] = {
    1: [("R", "ann", 100, 110), ("U", "anna", 110, 120), ("U", "annika", 120, None)],
    2: [("R", "bob", 100, 130), ("I", "ben", 140, None)],
    3: [("I", "cid", 150, 160)],
}


@pytest.mark.parametrize("mode", FILES)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_each_change_begins_a_version_and_ends_the_one_before(none: Memory, size: int, mode: str) -> None:
    driver = Driver(*none, {**HISTORY, "iceberg.tables.auto-create-props.write.merge.mode": mode})
    for first in range(0, len(STORY), size):
        send(none, *STORY[first : first + size], None)
        driver.drain()
        driver.restart()
    assert history(driver) == VERSIONS
    schema = none[1].load_table(TABLE).schema()
    assert schema.identifier_field_names() == {"id", "_position"}
    assert [field.name for field in schema.fields] == [
        *("id", "name", "_op", "_ts", "_position", "_valid_from", "_valid_to", "_current", "_delete_position"),
    ]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_changes_that_come_again_add_no_version(none: Memory, size: int) -> None:
    driver = Driver(*none, HISTORY)
    send(none, *STORY)
    driver.drain()
    again = STORY[2:]
    for first in range(0, len(again), size):
        send(none, *again[first : first + size])
        driver.drain()
        assert history(driver) == VERSIONS


def test_a_snapshot_that_is_taken_again_adds_versions_of_rows_that_differ_only(none: Memory) -> None:
    driver = Driver(*none, HISTORY)
    send(none, *STORY)
    driver.drain()
    send(none, read(1, 500, name="annika"), read(2, 500, name="benjamin"), read(3, 500, name="cyd"))
    driver.drain()
    # The first transaction after it names the one before it, and may be committed while rows are read.
    send(none, event("u", 1, 510, commit=490, ts=499, name="ann"), event("u", 1, 520, commit=515, name="anna"))
    driver.drain()
    assert history(driver) == {
        1: [*VERSIONS[1][:2], ("U", "annika", 120, 499), ("U", "ann", 499, 520), ("U", "anna", 520, None)],
        2: [VERSIONS[2][0], ("I", "ben", 140, 500), ("R", "benjamin", 500, None)],
        3: [*VERSIONS[3], ("R", "cyd", 500, None)],
    }


def test_a_change_that_is_older_than_what_the_table_has_sets_nothing_back(none: Memory) -> None:
    none[0].make("t", 2)
    driver = Driver(*none, HISTORY)
    send(none, event("c", 1, 110, name="ann"), event("c", 2, 110, name="bob"), partition=0)
    send(none, event("u", 1, 130, commit=125, name="anna"), event("d", 2, 130, commit=125), partition=0)
    driver.drain()
    send(none, *(event("u", number, 120, commit=115, name="late") for number in (1, 2)), partition=1)
    driver.drain()
    expected: dict[int, list[tuple[Any, ...]]] = {
        1: [("I", "ann", 110, 130), ("U", "anna", 130, None)],
        2: [("I", "bob", 110, 130)],
    }
    assert history(driver) == expected
    # In one batch they are put in order.
    send(none, event("u", 1, 150, commit=145, name="last"), event("u", 2, 150, commit=145, name="last"), partition=0)
    send(none, event("u", 1, 140, commit=135, name="first"), event("u", 2, 140, commit=135, name="first"), partition=1)
    driver.drain()
    assert history(driver) == {
        1: [expected[1][0], ("U", "anna", 130, 140), ("U", "first", 140, 150), ("U", "last", 150, None)],
        2: [*expected[2], ("U", "first", 140, 150), ("U", "last", 150, None)],
    }


def test_what_a_snapshot_did_not_see_follows_it_and_a_restored_database_goes_on(none: Memory) -> None:
    driver = Driver(*none, HISTORY)
    send(none, read(1, 100, name="old"))
    driver.drain()
    send(none, event("u", 1, 90, commit=None, ts=105, name="new"))
    driver.drain()
    assert history(driver)[1] == [("R", "old", 100, 105), ("U", "new", 105, None)]
    send(none, read(1, 70, ts=2_000, name="restored"), event("u", 1, 90, commit=80, ts=3_000, name="after"))
    driver.drain()
    assert [row["name"] for row in driver.rows(TABLE) if row["_current"]] == ["after"]


def test_a_key_that_changes_ends_the_versions_of_the_former_one(none: Memory) -> None:
    driver = Driver(*none, HISTORY)
    send(
        none, event("c", 1, 110, name="ann"), event("d", 1, 120, commit=115), event("c", 9, 120, commit=115, name="ann")
    )
    driver.drain()
    assert history(driver) == {1: [("I", "ann", 110, 120)], 9: [("I", "ann", 120, None)]}


@pytest.mark.parametrize("mode", FILES)
@pytest.mark.parametrize("each", [False, True])
def test_a_truncate_ends_the_versions_of_all_rows(none: Memory, each: bool, mode: str) -> None:
    driver = Driver(*none, {**HISTORY, "iceberg.tables.auto-create-props.write.merge.mode": mode})
    events = [*STORY, truncate(170, commit=165), event("c", 1, 180, commit=175, name="new"), truncate(190, commit=185)]
    for several in [[one] for one in events] if each else [events]:
        send(none, *several)
        driver.drain()
    ended: dict[int, list[tuple[Any, ...]]] = {
        number: [*found[:-1], (*found[-1][:3], found[-1][3] or 170)] for number, found in VERSIONS.items()
    }
    assert history(driver) == {**ended, 1: [*ended[1], ("I", "new", 180, 190)]}
    send(none, *events[-3:])
    driver.drain()
    assert history(driver) == {**ended, 1: [*ended[1], ("I", "new", 180, 190)]}


def test_a_text_that_was_not_sent_is_that_of_the_version_before(none: Memory) -> None:
    driver = Driver(*none, HISTORY)
    send(none, read(1, 100, name="long"))
    driver.drain()
    send(none, *(event("u", 1, lsn, commit=lsn - 5, name=PLACEHOLDER, age=lsn) for lsn in (110, 120)))
    driver.drain()
    assert history(driver)[1] == [("R", "long", 100, 110), ("U", "long", 110, 120), ("U", "long", 120, None)]
    send(none, event("d", 1, 130, commit=125), event("u", 1, 140, commit=135, name=PLACEHOLDER))
    with pytest.raises(BadRecord, match="Debezium did not send the value"):
        driver.drain()


def test_a_new_column_is_empty_in_the_versions_before(none: Memory) -> None:
    driver = Driver(*none, HISTORY)
    send(none, read(1, 100, name="ann"))
    driver.drain()
    send(none, event("u", 1, 110, commit=105, name="ann", age=30), read(1, 200, name="ann", age=30))
    driver.drain()
    assert [row["age"] for row in sorted(driver.rows(TABLE), key=lambda row: row["_position"])] == [None, 30]


def test_events_without_a_place_in_a_log_have_their_offsets(none: Memory) -> None:
    driver = Driver(*none, HISTORY)
    for op, lsn, name in (("c", 100, "ann"), ("u", 100, "anna"), ("u", 90, "annika")):
        told = json.loads(event(op, 1, lsn, name=name))
        told["source"]["connector"] = "mysql"
        send(none, json.dumps(told).encode())
    driver.drain()
    assert [(row["_position"], row["name"], row["_current"]) for row in driver.rows(TABLE)] == [
        *((0, "ann", False), (1, "anna", False), (2, "annika", True)),
    ]


def test_a_log_has_a_row_for_each_change(none: Memory) -> None:
    driver = Driver(*none, APPEND)
    for one in (*STORY, None):
        send(none, one)
        driver.drain()
        driver.restart()
    send(none, *STORY[2:])
    driver.drain()
    found = sorted(driver.rows(TABLE), key=lambda row: (row["_position"], row["id"]))
    assert [(row["_op"], row["id"], row["name"], row["_position"], row["_ts"]) for row in found] == [
        *(("R", 1, "ann", 100, at(100)), ("R", 2, "bob", 100, at(100)), ("U", 1, "anna", 110, at(110))),
        *(("U", 1, "annika", 120, at(120)), ("D", 2, None, 130, at(130)), ("I", 2, "ben", 140, at(140))),
        *(("I", 3, "cid", 150, at(150)), ("D", 3, None, 160, at(160))),
    ]
    snapshots = none[1].load_table(TABLE).metadata.snapshots
    assert {one.summary and one.summary.operation for one in snapshots} == {Operation.APPEND}


def test_a_log_takes_rows_without_keys_and_texts_that_were_not_sent_and_no_truncates(none: Memory) -> None:
    driver = Driver(*none, {**APPEND, "errors.tolerance": "all"})
    none[0].send("t", [event("c", 1, 110, name="ann"), event("u", 1, 120, commit=115, name=PLACEHOLDER)])
    none[0].send("t", [truncate(130, commit=125)])
    driver.drain()
    assert [(row["id"], row["name"]) for row in driver.rows(TABLE)] == [(1, "ann"), (1, PLACEHOLDER)]
    assert sum(report.dead_letters for report in driver.reports) == 1


def test_each_table_has_a_mode_of_its_own(none: Memory) -> None:
    names = {"db.now": "replica", "db.log": "append", "db.then": "history"}
    own = {f"iceberg.table.{name}.cdc-mode": mode for name, mode in names.items() if mode != "append"}
    driver = Driver(*none, {**APPEND, **own, "iceberg.tables": ",".join(names)})
    send(none, *STORY)
    driver.drain()
    assert {row["id"]: row["name"] for row in driver.rows("db.now")} == {1: "annika", 2: "ben"}
    assert {column for row in driver.rows("db.now") for column in row} == {"id", "name"}
    assert len(driver.rows("db.log")) == len(STORY)
    assert history(driver, "db.then") == VERSIONS


@pytest.mark.parametrize(("made", "then"), [("append", "history"), ("history", "append"), ("history", "replica")])
def test_a_table_of_another_mode_is_refused(none: Memory, made: str, then: str) -> None:
    driver = Driver(*none, {**FORMAT, "frazil.cdc.mode": made})
    send(none, *STORY)
    driver.drain()
    with pytest.raises(ConfigError, match=f"a table with frazil.cdc.mode={then} "):
        Driver(*none, {**FORMAT, "frazil.cdc.mode": then})


def test_a_table_without_the_columns_is_refused_and_so_is_a_source_that_has_one(none: Memory) -> None:
    driver = Driver(*none, HISTORY)
    send(none, event("c", 1, 110, _current=True))
    with pytest.raises(BadRecord, match="has the column _current, which the tables with frazil.cdc.mode have"):
        driver.drain()
    lacks = pytest.raises(ConfigError, match="needs the columns .*_valid_to, and db.users has none of these")
    with memory({TABLE: USERS}) as other, lacks:
        Driver(*other, HISTORY)


@dataclass
class Database(Source):
    """A `Source` whose changes are noted, and that is read anew now and then, also where changes got lost."""

    versions: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)

    def note(self, value: bytes) -> None:
        """What a table of versions gets by an event: the oracle."""
        told = json.loads(value)
        row, ts = told["after"] or told["before"] or {}, told["source"]["ts_ms"]
        for number in [row["id"]] if row else list(self.versions):
            found = self.versions.setdefault(number, [])
            if told["op"] == "r" and found and found[-1][1] == row["name"] and found[-1][3] is None:
                continue
            if found and found[-1][3] is None:
                found[-1] = (*found[-1][:3], ts)
            if told["after"]:
                found.append(({"c": "I", "u": "U", "r": "R"}[told["op"]], row["name"], ts, None))

    def snapshot(self) -> list[bytes]:
        for number in self.rows:
            if self.chance.random() < 0.3:
                self.rows[number] = -self.lsn
        self.lsn += 10
        self.commit = self.lsn
        return [read(number, self.lsn, name=str(name)) for number, name in self.rows.items()]

    def truncate(self) -> list[bytes]:
        self.rows.clear()
        self.lsn += 10
        event_, self.commit = truncate(self.lsn, commit=self.commit), self.lsn + 3
        return [event_]


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("mode", FILES)
@pytest.mark.parametrize("seed", range(2))
def test_versions_are_those_of_the_database_whatever_comes_again(
    none: Memory, seed: int, mode: str, partitions: int
) -> None:
    chance = random.Random(seed)
    none[0].make("t", partitions)
    source = Database(chance)
    driver = Driver(*none, {**HISTORY, "iceberg.tables.auto-create-props.write.merge.mode": mode})
    sent: dict[int, list[bytes]] = {number: [] for number in range(partitions)}
    for _ in range(15):
        kind = chance.random()
        news = source.snapshot() if kind < 0.15 else source.truncate() if kind < 0.25 and partitions == 1 else []
        if news:
            sent = {number: [] for number in sent}
        for value in news or source.transaction():
            source.note(value)
            told = json.loads(value)
            row: Mapping[str, int] = told["after"] or told["before"] or {"id": 0}
            number = row["id"] % partitions
            send(none, value, partition=number)
            sent[number].append(value)
        if chance.random() < 0.3:
            for number, values in sent.items():
                repeated: Sequence[bytes] = values[chance.randrange(len(values)) :] if values else []
                send(none, *repeated, partition=number)
        if source.versions and chance.random() < 0.5:
            driver.drain()
            assert history(driver) == {number: found for number, found in source.versions.items() if found}
        if chance.random() < 0.3:
            driver.restart()
    driver.drain()
    assert history(driver) == {number: found for number, found in source.versions.items() if found}
