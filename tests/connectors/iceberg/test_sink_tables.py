"""Several tables of a connector, which records go to which, and tables that records name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.exceptions import BadRequestError, ForbiddenError
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from frazil.connectors.iceberg import sink_tables, sink_task
from frazil.errors import (
    BadRecord,
    CommitConflict,
    ConfigError,
    PositionLost,
)
from tests.connectors.iceberg.driver import (
    DYNAMIC,
    ROUTED,
    SIMPLE,
    TOLERANT,
    TWO,
    Driver,
    Memory,
    memory,
    record,
    strays,
)


@pytest.fixture
def two() -> Iterator[Memory]:
    with memory({"db.a": SIMPLE, "db.b": SIMPLE}) as made:
        yield made


def test_every_record_goes_to_every_table_without_a_route(two: Memory) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, {**TWO, **TOLERANT})
    broker.send("t", [record(1), b"{", record(2)])
    driver.drain()
    assert driver.column("db.a") == driver.column("db.b") == [1, 2]
    assert set(broker.letters("t-dlq")) == {("t", 0, 1, "db.a"), ("t", 0, 1, "db.b")}
    assert [(r.read, r.stored, r.dead_letters) for r in driver.reports] == [(6, 4, 2)]


def test_a_table_whose_commit_fails_leaves_the_others_their_share(two: Memory) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, {**TWO, "iceberg.control.commit.threads": "1"})
    broker.send("t", [record(1)])
    catalog.faults = ["none", *["refused"] * 8]
    with pytest.raises(CommitConflict, match="db.b was changed by others 8 times"):
        driver.step()
    assert (driver.column("db.a"), driver.column("db.b")) == ([1], [])
    (report,) = driver.reports
    assert (report.read, report.stored, report.end_offsets) == (1, 1, {("t", 0): 0})
    driver.restart()
    broker.send("t", [record(2)])
    driver.drain()
    assert driver.column("db.a") == driver.column("db.b") == [1, 2]


def test_records_go_where_they_are_routed_and_the_others_are_counted(
    two: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, {**ROUTED, **TOLERANT})
    broker.send(
        "t",
        [
            record(1, to="a"),
            record(2, to="b"),
            record(3, to="ab"),
            record(4, to="-"),
            b"{",
            None,
            b'{"id":"x","to":"b"}',
        ],
    )
    driver.drain()
    assert (driver.column("db.a"), driver.column("db.b")) == ([1, 3], [2, 3])
    assert set(broker.letters("t-dlq")) == {("t", 0, 4, ""), ("t", 0, 6, "db.b")}
    (report,) = driver.reports
    assert (report.read, report.stored, report.dead_letters, report.skipped) == (8, 4, 2, 2)
    assert report.skipped_by_reason == {"unrouted": 1, "tombstone": 1}
    assert "1 records of this batch were left out, for they match no table" in caplog.text


def test_a_table_without_records_in_the_batch_gets_no_commit(two: Memory) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, ROUTED)
    broker.send("t", [record(1, to="a")])
    driver.drain()
    assert len(catalog.load_table("db.a").snapshots()) == 1
    assert catalog.load_table("db.b").snapshots() == []
    broker.groups.clear()
    driver.restart()
    assert driver.task.position == {("t", 0): 0}, "b does not say that it wanted none of them"
    driver.drain()
    assert driver.column("db.a") == [1]


def test_a_table_that_had_no_records_for_long_is_not_read_for_again(two: Memory) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, ROUTED)
    for number, to in enumerate(["b", "a", "a"]):
        broker.send("t", [record(number, to=to)])
        driver.step()
    broker.groups.clear()
    driver.restart()
    assert driver.task.position == {("t", 0): 2}, "the last commit of a says what both had before it"


def test_a_bad_record_that_goes_to_no_table_is_a_wall_for_all(two: Memory) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, ROUTED)
    broker.send("t", [record(1, to="a"), record(2, to="b"), b"{", record(3, to="a")])
    with pytest.raises(BadRecord, match="offset 2"):
        driver.step()
    assert (driver.column("db.a"), driver.column("db.b")) == ([1], [2])
    assert strays(catalog, "db.a") | strays(catalog, "db.b") == set()
    driver.restart()
    with pytest.raises(BadRecord, match="offset 2"):
        driver.step()
    assert (driver.column("db.a"), driver.column("db.b")) == ([1], [2])


def test_a_connector_whose_records_match_no_table_notes_its_position_now_and_then(
    two: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, ROUTED)
    broker.send("t", [record(1, to="-")])
    driver.step()
    assert catalog.load_table("db.a").snapshots() == []
    monkeypatch.setattr(sink_task, "_LONGEST_SILENCE_S", 0.0)
    broker.send("t", [record(2, to="-")])
    driver.step()
    driver.restart()
    assert len(catalog.load_table("db.a").snapshots()) == 1
    broker.send("t", [record(3, to="-")])
    driver.step()
    driver.restart()
    broker.retain("t", 2)
    driver.restart()


def test_a_rolled_back_table_of_a_route_moves_on_until_it_is_where_it_was(two: Memory) -> None:
    broker, catalog = two
    driver = Driver(broker, catalog, ROUTED)
    for number in (1, 2):
        broker.send("t", [record(number, to="ab")])
        driver.step()
    table = catalog.load_table("db.a")
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshots()[0].snapshot_id).commit()
    broker.send("t", [record(3, to="b")])
    with pytest.raises(CommitConflict, match="was rolled back"):
        driver.step()
    driver.restart()
    driver.drain()
    assert (driver.column("db.a"), driver.column("db.b")) == ([1, 2], [1, 2, 3])


def test_tables_that_records_name_are_made_when_the_first_one_comes(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, DYNAMIC)
    broker.send("t", [record(1, to="db.x"), record(2, to="db.y"), record(3, to="db.x", more=True)])
    driver.drain()
    assert (driver.column("db.x"), driver.column("db.y")) == ([1, 3], [2])
    assert [row["more"] for row in driver.rows("db.x")] == [None, True]
    assert driver.reports[0].places == ("db.x", "db.y")
    broker.send("t", [record(4, to="db.z"), record(5, to="db.x")])
    driver.drain()
    assert (driver.column("db.z"), driver.column("db.x")) == ([4], [1, 3, 5])


def test_a_table_that_records_name_and_nobody_may_make_refuses_them(none: Memory) -> None:
    broker, catalog = none
    catalog.create_table("db.x", SIMPLE)
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, "iceberg.tables.auto-create-enabled": "false"})
    broker.send("t", [record(1, to="db.x"), record(2, to="db.y")])
    driver.drain()
    assert driver.column("db.x") == [1]
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, "db.y")]
    assert "table db.y does not exist" in str(dict(broker.records("t-dlq")[0].headers() or []))
    catalog.create_table("db.y", SIMPLE)
    broker.send("t", [record(3, to="db.y")])
    driver.drain()
    assert driver.column("db.y") == [3]


def test_tables_that_records_do_not_name_any_more_are_forgotten_until_they_do(
    none: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, catalog = none
    monkeypatch.setattr(sink_tables, "_IDLE_BATCHES", 2)
    driver = Driver(broker, catalog, DYNAMIC)
    for table in ("db.x", "db.y"):
        broker.send("t", [record(1, to=table)])
        driver.step()
    broker.send("t", [record(1, to="db.y")])
    driver.step()
    assert [report.places for report in driver.reports] == [("db.x",), ("db.x", "db.y"), ("db.y",)]
    broker.send("t", [record(2, to="db.x")])
    driver.step()
    assert driver.column("db.x") == [1, 2]


def rolled_back(memory_: Memory) -> Driver:
    """A connector whose table db.x had two records in two snapshots, and has the first one only."""
    broker, catalog = memory_
    driver = Driver(broker, catalog, DYNAMIC)
    for number in (1, 2):
        broker.send("t", [record(number, to="db.x")])
        driver.step()
    table = catalog.load_table("db.x")
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshots()[0].snapshot_id).commit()
    return driver


def test_a_table_that_was_rolled_back_under_records_that_name_it_loses_what_it_lost(
    none: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, _ = none
    driver = rolled_back(none)
    broker.send("t", [record(3, to="db.x")])
    driver.step()
    assert driver.column("db.x") == [1, 3]
    assert "table db.x was rolled back. What it lost is not stored again" in caplog.text


def test_a_table_that_was_rolled_back_and_gets_no_more_records_moves_on_all_the_same(
    none: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, _ = none
    driver = rolled_back(none)
    told = []
    for number in (3, 4):
        broker.send("t", [record(number, to="db.y")])
        driver.step()
        told.append(caplog.text.count("db.x was rolled back"))
    assert told == [1, 1]
    assert driver.column("db.x") == [1]


def sent(driver: Driver, *names: str) -> None:
    """One batch of a record for each table."""
    driver.broker.send("t", [record(number, to=name) for number, name in enumerate(names)])
    driver.drain()


def test_records_name_only_tables_that_are_allowed(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, "frazil.tables.allowed": r"shop\..*|demo\.orders"})
    sent(driver, "shop.a", "finance.salaries", "Demo.Orders", "demo.orders2", "xshop.a")
    assert catalog.list_namespaces() == [("demo",), ("shop",)]
    assert [*catalog.list_tables("demo"), *catalog.list_tables("shop")] == [("demo", "orders"), ("shop", "a")]
    assert {refusal[2] for refusal in broker.letters("t-dlq")} == {1, 3, 4}
    told = str(dict(broker.records("t-dlq")[0].headers() or []))
    assert "'finance.salaries' is not a table of this connector: frazil.tables.allowed does not match it" in told


def test_records_have_only_so_many_tables_made_between_two_starts(none: Memory) -> None:
    broker, catalog = none
    catalog.create_table("db.old", SIMPLE)
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, "frazil.tables.max.new": "3"})
    sent(driver, "db.a", "db.b")
    sent(driver, *(f"db.n{number:03}" for number in range(100)), "db.old", "db.a")
    assert catalog.list_tables("db") == [("db", name) for name in ("a", "b", "n000", "old")]
    assert (driver.column("db.old"), driver.column("db.a")) == ([100], [0, 101])
    assert {refusal[2] for refusal in broker.letters("t-dlq")} == set(range(3, 102))
    told = str(dict(broker.records("t-dlq")[0].headers() or []))
    assert "'db.n001' is not a table of this connector: it does not exist, and frazil.tables.max.new allows 3" in told
    driver.restart()
    sent(driver, "db.c")
    assert driver.column("db.c") == [0]


def test_names_that_are_no_tables_are_looked_for_together(none: Memory) -> None:
    broker, catalog = none
    catalog.create_table("db.old", SIMPLE)
    config = {"iceberg.tables.auto-create-enabled": "false", "frazil.tables.max.new": "2"}
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, **config})
    asked: set[str | Identifier] = set()
    load = catalog.load_table

    def noted(identifier: str | Identifier) -> Table:
        asked.add(identifier)
        return load(identifier)

    catalog.load_table = noted  # type: ignore[method-assign]
    sent(driver, *(f"db{number}.x.n{number}" for number in range(200)), "db.old")
    assert driver.column("db.old") == [200]
    assert asked == {"db.old", "db0.x.n0", "db1.x.n1"}
    assert len(broker.letters("t-dlq")) == 200


@pytest.mark.parametrize("error", [BadRequestError("no such name"), ForbiddenError("not yours")])
def test_a_name_that_the_catalog_refuses_stops_nobody_else(none: Memory, error: Exception) -> None:
    broker, catalog = none
    load = catalog.load_table

    def refuse(identifier: str | Identifier) -> Table:
        if "secret" in identifier:
            raise error
        return load(identifier)

    catalog.load_table = refuse  # type: ignore[method-assign]
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT})
    sent(driver, "db.a", "db.secret", "db.b")
    assert (driver.column("db.a"), driver.column("db.b")) == ([0], [2])
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, "db.secret")]


def test_a_catalog_that_refuses_everything_is_no_matter_of_a_name(none: Memory) -> None:
    broker, catalog = none

    def refuse(*_: object) -> Table:
        raise ForbiddenError("the keys are wrong")

    catalog.load_table = catalog.list_namespaces = refuse  # type: ignore[method-assign, assignment]
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT})
    with pytest.raises(ConfigError, match="the keys are wrong"):
        sent(driver, "db.a")
    assert broker.letters("t-dlq") == {}


def test_a_table_that_its_first_record_cannot_make_stops_nobody_else(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, "iceberg.tables.default-partition-by": "kind"})
    broker.send("t", [record(1, to="db.a", kind="x"), record(2, to="db.b")])
    driver.drain()
    assert driver.column("db.a") == [1]
    assert list(broker.letters("t-dlq")) == [("t", 0, 1, "db.b")]
    broker.send("t", [record(3, to="db.b", kind="x")])
    driver.drain()
    assert driver.column("db.b") == [3]


@pytest.mark.parametrize("reset", ["latest", "earliest"])
def test_a_group_that_kafka_has_forgotten_loses_and_doubles_nothing_of_tables_that_records_name(
    none: Memory, reset: str
) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**DYNAMIC, "consumer.override.auto.offset.reset": "earliest"})
    sent(driver, "db.x", "db.y")
    sent(driver, "db.x")
    broker.groups.clear()
    broker.send("t", [record(7, to="db.x"), record(8, to="db.z")])
    again = Driver(broker, catalog, {**DYNAMIC, "consumer.override.auto.offset.reset": reset})
    assert again.task.position == {("t", 0): 2}, "what all tables had before the newest commit"
    again.drain()
    assert (driver.column("db.x"), driver.column("db.y"), driver.column("db.z")) == ([0, 0, 7], [1], [8])


def test_one_forgotten_partition_of_several_is_remembered_by_the_tables(none: Memory) -> None:
    broker, catalog = none
    broker.make("t", 2)
    driver = Driver(broker, catalog, DYNAMIC)
    for partition in (0, 1):
        broker.send("t", [record(partition, to="db.x")], partition)
    driver.drain()
    broker.send("t", [record(2, to="db.x")], 1)
    driver.drain()
    del broker.groups["connect-c"]["t", 0]
    driver = Driver(broker, catalog, {**DYNAMIC, "consumer.override.auto.offset.reset": "latest"})
    assert driver.task.position == {("t", 0): 1, ("t", 1): 2}


def test_what_the_tables_remember_and_the_topic_has_no_more_is_told(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, DYNAMIC)
    sent(driver, "db.x")
    sent(driver, "db.x")
    broker.groups.clear()
    broker.send("t", [record(5, to="db.x")])
    broker.retain("t", 3)
    with pytest.raises(PositionLost, match="every table of the connector"):
        driver.restart()


def test_a_position_that_no_table_remembers_is_not_replaced(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    driver.drain()
    broker.groups.clear()
    with pytest.raises(PositionLost, match=r"table db.landing has records of topic t, partition 0, and .* resume it"):
        Driver(broker, catalog, {**DYNAMIC, "consumer.override.auto.offset.reset": "latest"})
