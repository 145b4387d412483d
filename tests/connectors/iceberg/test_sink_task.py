"""The driver of an Iceberg sink: batches, positions, dead letters and what is left when one fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.iceberg import sink_tables, sink_task
from frazil.connectors.iceberg.table.commit import append_files, summary_of
from frazil.errors import (
    BadRecord,
    CommitConflict,
    CommitStateUnknown,
    ConfigError,
    Fenced,
    NotFound,
    PositionLost,
    ServiceUnavailable,
    TerminalError,
)
from frazil.pipeline import bookings
from tests.connectors.broker import Broker, Killed
from tests.connectors.iceberg.driver import TOLERANT, Driver, memory
from tests.connectors.iceberg.memory import MemoryCatalog

SIMPLE = Schema(NestedField(1, "id", LongType()), NestedField(2, "text", StringType()))
TABLE = "db.landing"
TWO = {"iceberg.tables": "db.a,db.b"}
ROUTED = {
    **TWO,
    "iceberg.tables.route-field": "to",
    "iceberg.table.db.a.route-regex": "a|ab",
    "iceberg.table.db.b.route-regex": "b|ab",
}
DYNAMIC = {
    "iceberg.tables": "",
    "iceberg.tables.dynamic-enabled": "true",
    "iceberg.tables.route-field": "to",
    "iceberg.tables.auto-create-enabled": "true",
}
EVOLVE = {"iceberg.tables.evolve-schema-enabled": "true"}
CREATE = {"iceberg.tables.auto-create-enabled": "true"}


def record(number: int, **more: Any) -> bytes:
    return json.dumps({"id": number, **more}).encode()


def strays(catalog: MemoryCatalog, name: str) -> set[str]:
    """Data files in a table's folder that are not in the table."""
    table = catalog.load_table(name)
    files = {f"file://{path}" for path in Path(table.location().removeprefix("file://")).rglob("*.parquet")}
    return files - {task.file.file_path for task in table.scan().plan_files()}


Memory = tuple[Broker, MemoryCatalog]


@pytest.fixture
def one() -> Iterator[Memory]:
    with memory({TABLE: SIMPLE}) as made:
        yield made


@pytest.fixture
def two() -> Iterator[Memory]:
    with memory({"db.a": SIMPLE, "db.b": SIMPLE}) as made:
        yield made


@pytest.fixture
def none() -> Iterator[Memory]:
    with memory({}) as made:
        yield made


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
    head = catalog.load_table(TABLE).current_snapshot()
    assert head is not None
    assert summary_of(head)["frazil.offsets"] == '{"t":{"0":20}}'
    assert summary_of(head)["kafka.connect.vtts"] == "5"


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


def test_another_worker_that_has_committed_meanwhile_fences_this_one(one: Memory) -> None:
    broker, catalog = one
    first, second = Driver(broker, catalog, {}), Driver(broker, catalog, {})
    second.runs = ("elsewhere",)
    second.restart()
    broker.send("t", [record(1)])
    catalog.meanwhile = second.drain
    with pytest.raises(Fenced, match="another worker has committed"):
        first.step()
    assert (first.column(TABLE), first.reports, len(second.reports)) == ([1], [], 1)


def test_a_late_commit_of_the_same_worker_is_no_other_worker(one: Memory) -> None:
    broker, catalog = one
    first = Driver(broker, catalog, {})
    second = Driver(broker, catalog, {})
    second.runs = first.runs
    second.restart()
    broker.send("t", [record(1)])
    catalog.meanwhile = first.drain
    with pytest.raises(CommitConflict, match="an earlier commit of this worker"):
        second.step()
    assert second.column(TABLE) == [1]


def test_a_rollback_while_the_connector_runs_ends_it_and_the_next_start_stores_what_was_lost(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    for number in (1, 2):
        broker.send("t", [record(number)])
        driver.step()
    table = catalog.load_table(TABLE)
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshots()[0].snapshot_id).commit()
    broker.send("t", [record(3)])
    with pytest.raises(CommitConflict, match=r"was rolled back: it has t-0 up to offset 1, and 2 was read"):
        driver.step()
    driver.restart()
    assert driver.task.position == {("t", 0): 1}
    driver.drain()
    assert driver.column(TABLE) == [1, 2, 3]


def test_the_commits_of_kafka_connects_sink_while_this_one_runs_fence_it(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    driver.step()
    table = catalog.load_table(TABLE)
    transaction = table.transaction()
    mark = {driver.config.connect_sink.properties[0]: '{"0":7}'}
    append_files(transaction.update_snapshot(snapshot_properties=mark), table, [])
    transaction.commit_transaction()
    broker.send("t", [record(2)])
    with pytest.raises(Fenced, match="Kafka Connect's sink has committed to"):
        driver.step()
    assert driver.column(TABLE) == [1]


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
        driver.task.due({("t", 0): 1}, 0)
    with pytest.raises(ServiceUnavailable, match="partition 0 of topic t is gone"):
        driver.task.due({}, 0)


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


def test_a_missing_table_is_an_error_unless_it_may_be_made(none: Memory) -> None:
    broker, catalog = none
    with pytest.raises(NotFound, match="does not exist; create it"):
        Driver(broker, catalog, {})
    driver = Driver(broker, catalog, CREATE)
    broker.send("t", [record(1, text="x"), record(2, size=1.5)])
    driver.drain()
    assert driver.rows(TABLE) == [{"id": 1, "text": "x", "size": None}, {"id": 2, "text": None, "size": 1.5}]


def test_records_that_show_no_column_for_a_new_table_are_dead_letters(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**CREATE, **TOLERANT})
    broker.send("t", [b"{}"])
    driver.drain()
    assert list(broker.letters("t-dlq")) == [("t", 0, 0, "")]
    assert "Unable to create table from empty object" in str(broker.records("t-dlq")[0].headers())
    broker.send("t", [record(1)])
    driver.drain()
    assert driver.column(TABLE) == [1]


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


def test_a_table_that_was_rolled_back_under_records_that_name_it_loses_what_it_lost(
    none: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, DYNAMIC)
    for number in (1, 2):
        broker.send("t", [record(number, to="db.x")])
        driver.step()
    table = catalog.load_table("db.x")
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshots()[0].snapshot_id).commit()
    broker.send("t", [record(3, to="db.x")])
    driver.step()
    assert driver.column("db.x") == [1, 3]
    assert "table db.x was rolled back. What it lost is not stored again" in caplog.text


def test_a_table_that_was_rolled_back_and_gets_no_more_records_moves_on_all_the_same(
    none: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, DYNAMIC)
    for number in (1, 2):
        broker.send("t", [record(number, to="db.x")])
        driver.step()
    table = catalog.load_table("db.x")
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshots()[0].snapshot_id).commit()
    told = []
    for number in (3, 4):
        broker.send("t", [record(number, to="db.y")])
        driver.step()
        told.append(caplog.text.count("db.x was rolled back"))
    assert told == [1, 1]
    assert driver.column("db.x") == [1]


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


def test_a_branch_is_made_and_gets_the_rows(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {"iceberg.tables.default-commit-branch": "staging"})
    broker.send("t", [record(1)])
    driver.drain()
    table = catalog.load_table(TABLE)
    assert driver.rows(TABLE) == []
    snapshot = table.metadata.snapshot_by_name("staging")
    assert snapshot is not None
    assert table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows == 1


CHANGES = {"iceberg.tables.cdc-field": "op", "iceberg.tables.default-id-columns": "id"}


def test_changes_replace_and_delete_rows_by_their_keys(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, CHANGES)
    broker.send("t", [record(1, text="a", op="I"), record(2, text="b", op="I"), record(1, text="c", op="U")])
    driver.step()
    broker.send("t", [record(2, op="D"), record(3, text="d", op="I")])
    driver.step()
    assert sorted((row["id"], row["text"]) for row in driver.rows(TABLE)) == [(1, "c"), (3, "d")]


def test_a_value_that_debezium_left_out_is_that_of_the_row_as_the_pieces_of_a_batch_have_left_it(
    one: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, catalog = one
    monkeypatch.setattr(bookings, "MAX_DEAD_BYTES", 3000)
    driver = Driver(broker, catalog, {**CHANGES, **TOLERANT})
    broker.send("t", [record(1, text="old", op="I"), record(2, text="kept", op="I")])
    driver.step()
    gap = "__debezium_unavailable_value"
    last = [record(1, text=gap, op="U"), record(2, text=gap, op="U")]
    broker.send("t", [record(1, text="new", op="U"), *[b"{"] * 10, *last])
    driver.step()
    assert len(catalog.load_table(TABLE).snapshots()) > 2, "the batch was divided"
    assert sorted((row["id"], row["text"]) for row in driver.rows(TABLE)) == [(1, "new"), (2, "kept")]


def test_a_table_without_keys_cannot_have_changes(one: Memory) -> None:
    broker, catalog = one
    with pytest.raises(ConfigError, match="has no identifier fields"):
        Driver(broker, catalog, {"iceberg.tables.upsert-mode-enabled": "true"})
    with pytest.raises(ConfigError, match=r"cannot find rows by nothing \(.*correct iceberg.tables.default-id-columns"):
        Driver(broker, catalog, {**CHANGES, "iceberg.tables.default-id-columns": "nothing"})


def test_a_named_table_that_cannot_have_changes_refuses_them(none: Memory) -> None:
    broker, catalog = none
    catalog.create_table("db.x", SIMPLE)
    keys = {"iceberg.tables.cdc-field": "op", "iceberg.table.db.y.id-columns": "id"}
    driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, **keys})
    broker.send("t", [record(1, to="db.x", op="I"), record(2, to="db.y", op="I")])
    driver.drain()
    assert (driver.column("db.x"), driver.column("db.y")) == ([], [2])
    assert list(broker.letters("t-dlq")) == [("t", 0, 0, "db.x")]


def test_records_of_open_transactions_are_waited_for(one: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1), record(2)])
    driver.step()
    monkeypatch.setattr(broker, "source", lambda: Broker.source(broker, committed=True))
    driver.restart()
    monkeypatch.setattr(kafka_offsets, "end_offsets", lambda *_, committed=False: {("t", 0): 2 - committed})
    with pytest.raises(ServiceUnavailable, match="a transaction is open at offset 1 of t-0"):
        driver.restart()
