"""Maintenance on the real catalog, store and Spark."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.table.commit import OFFSETS, TableBranch, history, summary_of
from frazil.errors import ConfigError, NotFound
from tests.connectors.iceberg.conftest import MakeTable
from tests.connectors.iceberg.driver import SIMPLE
from tests.connectors.iceberg.maintenance.conftest import BY_DAY, CONNECTOR, EVENTS, Maintain, Writer

pytestmark = pytest.mark.spark

ALL_AT_ONCE = Policy(hot_ms=0, keep_ms=0, keep_snapshots=1, orphan_age_ms=0, metadata_age_ms=0, force=True)


def only(*steps: Step, **more: int) -> Policy:
    return Policy(**{**vars(ALL_AT_ONCE), "steps": frozenset(steps), **more})


def files_by_day(table: Table) -> dict[int, int]:
    found: dict[int, int] = {}
    for task in table.scan().plan_files():
        found[task.file.partition[0]] = found.get(task.file.partition[0], 0) + 1
    return found


def names(table: Table) -> set[str]:
    return {task.file.file_path for task in table.scan().plan_files()}


def in_folder(table: Table) -> set[str]:
    from frazil.connectors.iceberg.maintenance.stored_objects import Objects

    return {stored.location for stored in Objects(table).below(table.location())}


def by_step(results: list[StepResult]) -> dict[Step, StepResult]:
    assert not [result for result in results if result.failed]
    return {result.step: result for result in results}


def test_everything_at_once_keeps_rows_and_position(writer: Writer, maintain: Maintain) -> None:
    """Only the snapshot of a compaction is left, and the position is read from the table's properties."""
    for number in range(12):
        writer.commit(rows=10, day=number % 2)
    before, floor = in_folder(writer.table()), writer.floor().offsets
    results = by_step(maintain(writer.target.name, ALL_AT_ONCE))
    table = writer.table()
    assert writer.ids() == list(range(120))
    assert files_by_day(table) == dict.fromkeys(files_by_day(table), 1)
    assert (results[Step.COMPACT].before, results[Step.COMPACT].after) == (12, 2)
    assert results[Step.COMPACT].bytes_removed
    assert len(table.metadata.snapshots) == 1
    assert not any(OFFSETS in summary_of(snapshot) for snapshot in history(table, "main"))
    assert writer.floor().offsets == floor == {("t", 0): 120}
    assert {name for name in in_folder(table) if "/data/" in name} == names(table)
    assert len(in_folder(table)) < len(before)
    writer.commit(rows=5)
    assert writer.ids() == list(range(125))
    assert writer.floor().offsets == {("t", 0): 125}


def test_partitions_that_are_written_now_are_left_alone(writer: Writer, maintain: Maintain) -> None:
    for _ in range(6):
        writer.commit(day=0)
    time.sleep(1.1)
    hot = int(time.time() * 1000)
    for _ in range(6):
        writer.commit(day=1)
    writer.commit(day=2, bucket=None)
    age = int(time.time() * 1000) - hot
    [result] = maintain(writer.target.name, only(Step.COMPACT, hot_ms=age + 500))
    assert "2 partitions left out" in result.note
    assert sorted(files_by_day(writer.table()).values()) == [1, 1, 6]
    assert writer.ids() == list(range(13))


def test_tables_without_a_time_in_their_partitions_are_compacted_whole(
    catalog: Catalog, make_table: MakeTable, maintain: Maintain
) -> None:
    table = make_table(SIMPLE)
    for number in range(6):
        table.append(pa.table({"id": [number], "text": ["x"]}))
    [result] = maintain(".".join(table.name()), only(Step.COMPACT, hot_ms=3_600_000))
    assert (result.before, result.after, result.note) == (6, 1, "")
    for dry_run in (True, False):
        [again] = maintain(".".join(table.name()), replace(only(Step.COMPACT, hot_ms=3_600_000), dry_run=dry_run))
        assert (again.before, again.after) == (1, 1)
        assert again.note.startswith("nothing to compact: no partition has 5 small files")


def test_a_dry_run_changes_nothing_and_says_what_would_be_done(writer: Writer, maintain: Maintain) -> None:
    for number in range(14):
        writer.commit(day=number % 2)
    before = writer.table()
    objects = in_folder(before)
    planned = by_step(maintain(writer.target.name, Policy(**{**vars(ALL_AT_ONCE), "dry_run": True})))
    now = writer.table()
    assert now.metadata_location == before.metadata_location
    assert in_folder(now) == objects
    assert (planned[Step.COMPACT].before, planned[Step.COMPACT].after) == (14, 2)
    assert (planned[Step.MANIFESTS].before, planned[Step.MANIFESTS].after) == (14, 1)
    assert (planned[Step.EXPIRE].before, planned[Step.EXPIRE].after) == (14, 1)
    assert planned[Step.ORPHANS].before == len(objects)


def test_manifests_become_few(writer: Writer, maintain: Maintain) -> None:
    for _ in range(12):
        writer.commit()
    result = by_step(maintain(writer.target.name, only(Step.MANIFESTS)))[Step.MANIFESTS]
    assert (result.before, result.after) == (12, 1)
    assert writer.ids() == list(range(12))
    again = by_step(maintain(writer.target.name, only(Step.MANIFESTS)))[Step.MANIFESTS]
    assert (again.before, again.after, again.note) == (1, 1, "few enough")


def test_tags_and_branches_keep_what_they_name(catalog: Catalog, writer: Writer, maintain: Maintain) -> None:
    for _ in range(3):
        writer.commit()
    table = writer.table()
    tagged = table.metadata.snapshots[1].snapshot_id
    table.manage_snapshots().create_tag(tagged, "audit").create_branch(tagged, "work").commit()
    for _ in range(3):
        writer.commit()
    maintain(writer.target.name, only(Step.EXPIRE, Step.ORPHANS))
    table = writer.table()
    assert {s.snapshot_id for s in table.metadata.snapshots} == {tagged, table.metadata.current_snapshot_id}
    assert table.scan(snapshot_id=tagged).to_arrow().num_rows == 2
    assert writer.ids() == list(range(6))


def test_a_position_that_only_a_snapshot_has_is_kept(catalog: Catalog, writer: Writer, maintain: Maintain) -> None:
    """After a rollback the copy in the properties is ahead: without the snapshot, records would be skipped."""
    for _ in range(4):
        writer.commit(rows=10)
    table = writer.table()
    second = table.metadata.snapshots[1].snapshot_id
    table.manage_snapshots().set_current_snapshot(snapshot_id=second).commit()
    table.append(pa.table({"id": [1000], "time": [None], "bucket": [None]}, schema=table.schema().as_arrow()))
    assert writer.floor().offsets == {("t", 0): 20}
    [result] = maintain(writer.target.name, only(Step.EXPIRE))
    assert CONNECTOR in result.note
    assert second in {s.snapshot_id for s in writer.table().metadata.snapshots}
    assert writer.floor().offsets == {("t", 0): 20}


def test_a_position_that_only_a_commit_taken_back_tells_is_kept(writer: Writer, maintain: Maintain) -> None:
    """All commits before the compaction are expired, and those after it are rolled back: its position is in theirs."""
    writer.commit(rows=10)
    nothing = pa.table({"id": [1000], "time": [None], "bucket": [None]}, schema=writer.table().schema().as_arrow())
    writer.table().append(nothing)
    maintain(writer.target.name, only(Step.EXPIRE))
    (foreign,) = writer.table().metadata.snapshots
    writer.commit(rows=10)
    taken = writer.table().metadata.current_snapshot_id
    writer.table().manage_snapshots().set_current_snapshot(snapshot_id=foreign.snapshot_id).commit()
    [result] = maintain(writer.target.name, only(Step.EXPIRE))
    assert CONNECTOR in result.note
    assert taken in {s.snapshot_id for s in writer.table().metadata.snapshots}
    assert writer.floor().offsets == {("t", 0): 10}


def test_orphans_of_this_table_alone_are_removed(
    catalog: Catalog, namespace: str, maintain: Maintain, stack: object
) -> None:
    name = f"{namespace}.prefix"
    table = catalog.create_table(name, EVENTS, partition_spec=BY_DAY)
    longer = catalog.create_table(f"{name}_and_more", EVENTS, partition_spec=BY_DAY)
    writer, other = Writer(catalog, table), Writer(catalog, longer)
    for each in (writer, other):
        each.commit()
    orphan = f"{table.location()}/data/orphan.parquet"
    with table.io.new_output(orphan).create() as stream:
        stream.write(b"left over")
    before = in_folder(longer)
    [kept] = maintain(name, Policy(steps=frozenset({Step.ORPHANS})))
    assert kept.before == kept.after
    assert orphan in in_folder(writer.table())
    [result] = maintain(name, only(Step.ORPHANS))
    assert result.before is not None
    assert result.after == result.before - 1
    assert result.bytes_removed == len(b"left over")
    assert orphan not in in_folder(writer.table())
    assert in_folder(longer) == before
    assert (writer.ids(), other.ids()) == ([0], [0])


def test_a_branch_can_be_compacted(catalog: Catalog, writer: Writer, maintain: Maintain) -> None:
    writer.commit()
    on_branch = Writer(catalog, writer.table(), "staging")
    for _ in range(6):
        on_branch.commit()
    main = writer.table().metadata.current_snapshot_id
    [result] = maintain(writer.target.name, only(Step.COMPACT, branch="staging"))  # type: ignore[arg-type]
    assert (result.before, result.after) == (6, 1)
    assert writer.table().metadata.current_snapshot_id == main
    assert on_branch.floor().offsets == {("t", 0): 6}


@pytest.mark.faults
def test_a_writer_and_maintenance_do_not_keep_each_other_from_their_work(
    catalog: Catalog, writer: Writer, maintain: Maintain
) -> None:
    """A writer that commits several times a second, while every step runs again and again."""
    stop, errors = threading.Event(), []

    def write() -> None:
        try:
            while not stop.is_set():
                writer.commit(rows=3, day=writer.count // 30)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        runs = [by_step(maintain(writer.target.name, only(*Step, orphan_age_ms=60_000))) for _ in range(3)]
    finally:
        stop.set()
        thread.join()
    assert not errors
    assert writer.count > 30
    assert writer.ids() == list(range(writer.count))
    assert writer.floor().offsets == {("t", 0): writer.count}
    compacted = [run[Step.COMPACT] for run in runs]
    assert any((step.before or 0) > (step.after or 0) for step in compacted)


def test_what_cannot_be_maintained_is_refused(
    catalog: Catalog, make_table: MakeTable, namespace: str, maintain: Maintain
) -> None:
    with pytest.raises(NotFound, match="missing"):
        maintain(f"{namespace}.missing", ALL_AT_ONCE)
    table = make_table(properties={"gc.enabled": "false"})
    with pytest.raises(ConfigError, match=r"gc\.enabled"):
        maintain(".".join(table.name()), ALL_AT_ONCE)


def test_an_empty_table_has_nothing_to_do(make_table: MakeTable, catalog: Catalog, maintain: Maintain) -> None:
    table = make_table()
    results = by_step(maintain(".".join(table.name()), Policy(orphan_age_ms=0, force=True)))
    assert set(results) == set(Step)
    assert TableBranch(catalog, ".".join(table.name()), "main").load().metadata.snapshots == []
