"""The driver of an Iceberg sink: positions, topics, the consumer group."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.iceberg import sink_task
from frazil.connectors.iceberg.table.commit import summary_of
from frazil.errors import (
    PositionLost,
    ServiceUnavailable,
    TerminalError,
)
from tests.connectors import broker as broker_module
from tests.connectors.broker import Killed
from tests.connectors.iceberg.driver import (
    DYNAMIC,
    SIMPLE,
    TABLE,
    TOLERANT,
    Driver,
    Memory,
    record,
)


def test_records_become_rows_and_the_position_is_in_the_table_and_in_the_group(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(n, text=str(n)) for n in range(20)], stamp=5)
    assert driver.step()
    assert driver.rows(TABLE) == [{"id": n, "text": str(n)} for n in range(20)]
    assert driver.task.position == {("t", 0): 20}
    assert broker.all_group_offsets("connect-c") == {("t", 0): 20}
    (report,) = driver.reports
    assert (report.connector, report.read, report.stored, report.files) == ("c", 20, 20, 1)
    assert (report.end_offsets, report.places, report.stored_by_topic) == ({("t", 0): 20}, (TABLE,), {"t": 20})
    assert report.newest == {TABLE: 5}
    head = catalog.load_table(TABLE).current_snapshot()
    assert head is not None
    assert summary_of(head)["frazil.offsets"] == '{"t":{"0":20}}'
    assert summary_of(head)["kafka.connect.vtts"] == "5"


def test_a_report_tells_the_schema_that_the_table_has_now(none: Memory) -> None:
    broker, catalog = none
    created = {"iceberg.tables.auto-create-enabled": "true", "iceberg.tables.evolve-schema-enabled": "true"}
    driver = Driver(broker, catalog, created)
    broker.send("t", [record(1)])
    driver.drain()
    broker.send("t", [record(2, more="x")])
    driver.drain()
    assert [report.schema_ids for report in driver.reports] == [{TABLE: 0}, {TABLE: 1}]
    assert catalog.load_table(TABLE).schema().schema_id == 1


def test_nothing_is_due_without_records_and_a_restart_goes_on_from_the_table(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    assert not driver.step()
    broker.send("t", [record(1)])
    driver.step()
    broker.groups.clear()
    broker.send("t", [record(2)])
    driver.restart()
    assert driver.task.position == {("t", 0): 1}
    assert broker.all_group_offsets("connect-c") == {("t", 0): 1}, "what a kill left out is copied at the start"
    driver.drain()
    assert driver.column(TABLE) == [1, 2]


def test_offsets_without_records_are_passed(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    broker.leave_out("t", 3)
    driver.drain()
    assert (driver.task.position, driver.column(TABLE)) == ({("t", 0): 4}, [1])
    driver.restart()
    assert driver.task.position == {("t", 0): 4}


def test_a_large_batch_is_divided_among_tasks_that_read_each_record_once(
    one: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    monkeypatch.setattr(sink_task, "ROWS_PER_TASK", 10)
    monkeypatch.setattr(driver.executor, "parallelism", 4, raising=False)
    broker.send("t", [record(n) for n in range(25)])
    driver.drain()
    assert driver.column(TABLE) == list(range(25))
    assert driver.reports[0].files == 3
    assert len(catalog.load_table(TABLE).snapshots()) == 1


def test_a_topic_that_is_made_again_while_it_is_read_is_not_stored(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    driver.step()
    broker.make("t")
    broker.send("t", [record(8), record(9)])
    with pytest.raises(PositionLost, match="made again"):
        driver.step()
    assert driver.column(TABLE) == [1]
    with pytest.raises(PositionLost, match="topic t was deleted and made again since table"):
        driver.restart()
    broker.delete("t")
    with pytest.raises(PositionLost, match="topic t was deleted at"):
        driver.restart()


def test_records_that_retention_took_before_they_were_read_lose_the_position(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(n) for n in range(5)])
    driver.step()
    broker.send("t", [record(n) for n in range(5, 9)])
    broker.retain("t", 7)
    with pytest.raises(PositionLost, match="2 records were deleted by retention"):
        driver.restart()


def test_ends_before_the_position_and_partitions_that_are_gone_are_found_before_a_batch(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1), record(2)])
    driver.step()
    with pytest.raises(PositionLost, match="was read up to offset 2, and ends at 1 now"):
        driver.task.find_due({("t", 0): 1}, 0)
    with pytest.raises(ServiceUnavailable, match="partition 0 of topic t is gone"):
        driver.task.find_due({}, 0)


def test_offsets_that_cannot_be_copied_to_the_group_are_no_harm(one: Memory, caplog: pytest.LogCaptureFixture) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    broker.faults["set_group_offsets"] = [TerminalError("the group has members")]
    driver.step()
    assert "offsets were not copied to connect-c: the group has members" in caplog.text
    assert (driver.task.position, driver.column(TABLE)) == ({("t", 0): 1}, [1])


def test_a_connector_that_still_runs_in_kafka_connect_does_not_start(one: Memory) -> None:
    broker, catalog = one
    broker.members["connect-c"] = 2
    with pytest.raises(ServiceUnavailable, match="has 2 members"):
        Driver(broker, catalog, {})


def test_a_new_topic_of_a_pattern_is_read_from_its_beginning(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.make("t2")
    broker.send("t2", [record(5)])
    due = driver.task.due(broker.ends("t", "t2"), 0)
    driver.task.step(due, driver.reports.append)
    assert driver.column(TABLE) == [5]
    head = catalog.load_table(TABLE).current_snapshot()
    assert head is not None
    assert json.loads(summary_of(head)["frazil.kafka.topic-ids"]).keys() == {"t", "t2"}


def test_the_maintenance_of_a_connector_is_told_its_tables_as_they_are(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, DYNAMIC)
    assert driver.task.maintained() is None
    driver = Driver(broker, catalog, {**DYNAMIC, "frazil.maintenance.interval.ms": "60000"})
    tables = driver.task.maintained()
    assert tables is not None
    assert tables.branches() == {}
    broker.send("t", [record(1, to="db.x")])
    driver.step()
    assert tables.branches() == {"db.x": "main"}


def test_a_named_table_that_cannot_have_changes_refuses_them(none: Memory) -> None:
    broker, catalog = none
    catalog.create_table("db.x", SIMPLE)
    keys = {"iceberg.tables.cdc-field": "op", "iceberg.table.db.y.id-columns": "id"}
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, **keys})
    broker.send("t", [record(1, to="db.x", op="I"), record(2, to="db.y", op="I")])
    driver.drain()
    assert (driver.column("db.x"), driver.column("db.y")) == ([], [2])
    assert list(broker.letters("t-dlq")) == [("t", 0, 0, "db.x")]


def test_dead_letters_are_found_whatever_clocks_say(one: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, TOLERANT)
    broker.send("t", [record(1), b"{", record(2)])
    driver.drain()
    broker.send("t", [b"{", record(3)])
    broker.produce_faults = ["killed"]
    with monkeypatch.context() as behind:
        behind.setattr(broker_module, "time", SimpleNamespace(time=lambda: 1.0))
        with pytest.raises(Killed):
            driver.step()
    driver.restart()
    driver.drain()
    assert driver.column(TABLE) == [1, 2, 3]
    assert {refusal: len(places) for refusal, places in broker.letters("t-dlq").items()} == {
        ("t", 0, 1, ""): 1,
        ("t", 0, 3, ""): 1,
    }
    summary = summary_of(catalog.load_table(TABLE).current_snapshot())  # type: ignore[arg-type]
    assert summary["frazil.deadletters.marks"] == '{"t-dlq":{"0":2}}'


def test_records_of_open_transactions_are_waited_for(one: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1), record(2)])
    driver.step()
    driver = Driver(broker, catalog, {"consumer.override.isolation.level": "read_committed"})
    monkeypatch.setattr(kafka_offsets, "end_offsets", lambda *_, committed=False: {("t", 0): 2 - committed})
    with pytest.raises(ServiceUnavailable, match="a transaction is open at offset 1 of t-0"):
        driver.restart()


@pytest.mark.parametrize("stamp", [1_772_323_200_000_000, 2**63 - 1, -(10**17)])
def test_a_time_that_no_calendar_has_stops_nothing_and_is_left_out_of_the_snapshot(one: Memory, stamp: int) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)], stamp=stamp)
    driver.drain()
    assert driver.column(TABLE) == [1]
    head = catalog.load_table(TABLE).current_snapshot()
    assert head is not None
    assert not {"kafka.connect.vtts", "kafka.connect.valid-through-ts"} & summary_of(head).keys()
