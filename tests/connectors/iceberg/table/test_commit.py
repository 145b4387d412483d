from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.transforms import IdentityTransform

from frazil.clients.catalog import connect
from frazil.connectors.iceberg.table.commit import COMMIT_ID, CONNECTOR, OFFSETS, Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sink import Runs
from frazil.errors import (
    CommitConflict,
    CommitStateUnknown,
    ConfigError,
    Fenced,
    FrazilError,
    NotFound,
    ServiceUnavailable,
)
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.offsets import Offsets
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable, written
from tests.connectors.iceberg.proxy import CatalogProxy, Fault

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("quick_retries")]

ME = "iceberg-sink-test"
IDENTITY = KafkaIdentity("cluster-1", {"t": "topic-id-1"})


def rows(table: Table, ids: Sequence[int]) -> pa.Table:
    return pa.Table.from_pylist([{"id": i} for i in ids], schema=arrow_schema(struct_of(table.schema())))


def write(table: Table, ids: Sequence[int]) -> list[DataFile]:
    writer = DataFileWriter(table.metadata.model_dump_json(), tuple(sorted(table.io.properties.items())))
    return written(writer, rows(table, ids))


def batch(
    table: Table, ids: Sequence[int], offsets: Offsets, connector: str = ME, valid_through_ms: int | None = None
) -> Commit:
    begin = dict.fromkeys(offsets, 0)
    return Commit(connector, write(table, ids), begin, offsets, IDENTITY, valid_through_ms)


def target(table: Table, catalog: Catalog | None = None, branch: str = MAIN_BRANCH) -> TableBranch:
    return TableBranch(catalog or table.catalog, ".".join(table.name()), branch)


def store(table: Table, ids: Sequence[int], offsets: Offsets, connector: str = ME, branch: str = MAIN_BRANCH) -> None:
    """Commit as a worker does that does nothing else."""
    to = target(table, branch=branch)
    now = to.load()
    to.commit(now, to.floor(now, connector), batch(now, ids, offsets, connector))


def ids_in(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow().column("id").to_pylist())


def floor(table: Table, connector: str = ME, branch: str = MAIN_BRANCH) -> Offsets:
    to = target(table, branch=branch)
    return to.floor(to.load(), connector).offsets


def expire_all_but_head(table: Table) -> Table:
    head = table.refresh().current_snapshot()
    assert head is not None
    for snapshot in table.snapshots():
        if snapshot.snapshot_id != head.snapshot_id:
            table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    return table.refresh()


def test_files_and_position_are_one_snapshot(make_table: MakeTable) -> None:
    table = make_table()
    to = target(table)
    assert to.floor(table, ME) == Floor()
    to.commit(table, Floor(), batch(table, [1, 2], {("t", 0): 3}, valid_through_ms=1_684_408_953_007))
    (snapshot,) = table.refresh().snapshots()
    summary = snapshot.summary
    assert summary is not None
    assert summary.operation.value == "append"
    assert {key: summary[key] for key in (CONNECTOR, OFFSETS)} == {CONNECTOR: ME, OFFSETS: '{"t":{"0":3}}'}
    assert len(summary[COMMIT_ID] or "") == 36
    assert summary["kafka.connect.vtts"] == "1684408953007"
    assert summary["kafka.connect.valid-through-ts"] == "2023-05-18T11:22:33.007+00:00"
    assert (summary["added-records"], summary["added-data-files"]) == ("2", "1")
    assert ids_in(table) == [1, 2]
    found = to.floor(table, ME)
    assert found == Floor({("t", 0): 3}, IDENTITY, snapshot.timestamp_ms)
    assert abs(found.committed_ms - time.time() * 1000) < 60_000


def test_no_valid_through_when_a_partition_was_idle(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 1})
    summary = table.refresh().snapshots()[0].summary
    assert summary is not None
    assert "kafka.connect.vtts" not in summary.additional_properties


def test_a_commit_of_kafka_connect_supersedes_the_position(make_table: MakeTable) -> None:
    mark = "kafka.connect.offsets.control-iceberg.connect-me"
    table = make_table()
    to = TableBranch(table.catalog, ".".join(table.name()), MAIN_BRANCH, [mark])
    table.append(rows(table, [1]), snapshot_properties={mark: '{"0":3}'})
    assert to.floor(to.load(), ME).superseded
    store(table, [2], {("t", 0): 5})
    found = to.floor(to.load(), ME)
    assert (found.offsets, found.superseded) == ({("t", 0): 5}, False)
    table.refresh().append(rows(table, [3]), snapshot_properties={f"{mark}-2": '{"0":3}'})
    assert not to.floor(to.load(), ME).superseded
    table.refresh().append(rows(table, [4]), snapshot_properties={mark: '{"0":9}'})
    found = to.floor(to.load(), ME)
    assert (found.offsets, found.superseded) == ({("t", 0): 5}, True)
    expire_all_but_head(table)
    found = to.floor(to.load(), ME)
    assert (found.offsets, found.superseded) == ({("t", 0): 5}, True)


def test_partitions_without_data_are_carried(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 1): 7})
    store(table, [2], {("t", 0): 3})
    store(table, [], {("u", 5): 1})
    assert floor(table) == {("t", 0): 3, ("t", 1): 7, ("u", 5): 1}
    assert ids_in(table) == [1, 2]


def test_a_position_without_files_is_committed_too(make_table: MakeTable) -> None:
    """A batch of dead letters only still moves the floor past them."""
    table = make_table()
    store(table, [], {("t", 0): 9})
    assert (floor(table), ids_in(table)) == ({("t", 0): 9}, [])


def test_a_branch_has_its_own_position(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 1})
    store(table, [2], {("t", 0): 5}, branch="staging")
    assert (floor(table), floor(table, branch="staging")) == ({("t", 0): 1}, {("t", 0): 5})
    assert ids_in(table) == [1]
    staging = table.refresh().snapshot_by_name("staging")
    assert staging is not None
    assert staging.summary is not None
    assert staging.summary[OFFSETS] == '{"t":{"0":5}}'


def test_two_connectors_of_one_table_have_their_own_positions(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 1}, "first")
    store(table, [2], {("t", 0): 5}, "second")
    store(table, [3], {("t", 0): 2}, "first")
    assert (floor(table, "first"), floor(table, "second"), floor(table, "third")) == ({("t", 0): 2}, {("t", 0): 5}, {})


def test_the_position_survives_the_snapshots_of_others_and_expiry(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 4})
    for i in range(3):
        table.refresh().append(rows(table, [100 + i]))
    assert floor(table) == {("t", 0): 4}
    table = expire_all_but_head(table)
    assert all(CONNECTOR not in (s.summary.additional_properties if s.summary else {}) for s in table.snapshots())
    assert target(table).floor(table, ME) == Floor({("t", 0): 4}, IDENTITY, 0)
    store(table, [2], {("t", 1): 1})
    assert floor(table) == {("t", 0): 4, ("t", 1): 1}
    assert ids_in(table) == [1, 2, 100, 101, 102]


def test_expiry_by_age_leaves_the_position(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 4})
    time.sleep(0.05)
    table.refresh().append(rows(table, [100]))
    head = table.refresh().current_snapshot()
    assert head is not None
    moment = datetime.fromtimestamp(head.timestamp_ms / 1000, UTC) - timedelta(milliseconds=1)
    table.maintenance.expire_snapshots().older_than(moment.replace(tzinfo=None)).commit()
    assert floor(table.refresh()) == {("t", 0): 4}


def test_a_rolled_back_branch_has_the_position_of_its_head(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 1})
    first = table.refresh().current_snapshot()
    assert first is not None
    store(table, [2], {("t", 0): 2})
    table.refresh().manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    assert floor(table) == {("t", 0): 1}


def test_rolled_back_to_before_the_first_commit_it_begins_where_that_began(make_table: MakeTable) -> None:
    table = make_table()
    table.append(rows(table, [100]))
    foreign = table.refresh().current_snapshot()
    assert foreign is not None
    for partition, (begin, end) in enumerate([(7, 9), (3, 5)]):
        to = target(table)
        now = to.load()
        files = write(now, [end])
        to.commit(
            now,
            to.floor(now, ME),
            Commit(ME, files, {("t", partition): begin}, {("t", partition): end}, IDENTITY, None),
        )
    store(table, [3], {("t", 0): 12})
    table.refresh().manage_snapshots().rollback_to_snapshot(foreign.snapshot_id).commit()
    assert target(table).floor(table.refresh(), ME) == Floor({("t", 0): 7, ("t", 1): 3}, IDENTITY, 0)
    store(table, [5], {("t", 0): 8, ("t", 1): 4})
    assert floor(table) == {("t", 0): 8, ("t", 1): 4}
    assert ids_in(table) == [5, 100]


def test_rolled_back_to_what_others_left_when_all_before_was_expired(make_table: MakeTable) -> None:
    """The copy of the position is that of commits which are not in the table any more."""
    table = make_table()
    store(table, [1, 2], {("t", 0): 2})
    table.refresh().append(rows(table, [100]))
    compacted = expire_all_but_head(table).current_snapshot()
    assert compacted is not None
    for end in (3, 4):
        store(table, [end], {("t", 0): end})
    table.refresh().manage_snapshots().set_current_snapshot(snapshot_id=compacted.snapshot_id).commit()
    found = target(table).floor(table.refresh(), ME)
    assert (found.offsets, found.rolled_back) == ({("t", 0): 2}, True)
    table.append(rows(table, [101]))
    assert floor(table) == {("t", 0): 2}
    store(table, [3], {("t", 0): 3})
    assert (floor(table), ids_in(table)) == ({("t", 0): 3}, [1, 2, 3, 100, 101])


def test_a_foreign_append_meanwhile_is_no_obstacle(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 1})
    to = target(table)
    before = to.load()
    work = batch(before, [2], {("t", 0): 2})
    held = to.floor(before, ME)
    table.refresh().append(rows(table, [100]))
    store(table, [200], {("t", 0): 50}, "another connector")
    to.commit(before, held, work)
    assert ids_in(table) == [1, 2, 100, 200]
    assert floor(table) == {("t", 0): 2}
    assert len(table.refresh().snapshots()) == 4


def test_a_foreign_append_before_the_first_commit(make_table: MakeTable) -> None:
    table = make_table()
    work = batch(table, [2], {("t", 0): 2})
    target(table).load().append(rows(table, [100]))
    target(table).commit(table, Floor(), work)
    assert (ids_in(table), floor(table)) == ([2, 100], {("t", 0): 2})


@pytest.mark.parametrize("first", [True, False], ids=["first commit", "later commit"])
def test_a_second_worker_is_fenced(make_table: MakeTable, first: bool) -> None:
    table = make_table()
    if not first:
        store(table, [1], {("t", 0): 1})
    to = target(table)
    before = to.load()
    held, work = to.floor(before, ME), batch(before, [2, 3], {("t", 0): 3})
    store(table, [2], {("t", 0): 2})
    with pytest.raises(Fenced, match="another worker has committed to .* for connector iceberg-sink-test"):
        to.commit(before, held, work)
    assert ids_in(table) == ([2] if first else [1, 2])
    assert floor(table) == {("t", 0): 2}


@pytest.mark.parametrize(
    ("runs", "error", "message"),
    [
        (Runs("killed"), CommitConflict, "only now applied an earlier commit of this worker"),
        (Runs("next", frozenset({"killed"})), CommitConflict, "only now applied an earlier commit of this worker"),
        (Runs("next", frozenset({"older"})), Fenced, "another worker has committed"),
        (None, Fenced, "another worker has committed"),
    ],
    ids=["same run", "run after it", "other worker", "no worker"],
)
def test_a_worker_knows_its_own_commits(
    make_table: MakeTable, runs: Runs | None, error: type[FrazilError], message: str
) -> None:
    table = make_table()
    before = target(table).load()
    first, second = batch(before, [1, 2], {("t", 0): 2}), batch(before, [1, 2, 3], {("t", 0): 3})
    name = ".".join(table.name())
    TableBranch(table.catalog, name, MAIN_BRANCH, runs=Runs("killed")).commit(before, Floor(), first)
    store(table, [9], {("t", 0): 9}, connector="another")
    to = TableBranch(table.catalog, name, MAIN_BRANCH, runs=runs)
    with pytest.raises(error, match=message):
        to.commit(before, Floor(), second)
    assert (ids_in(table), floor(table)) == ([1, 2, 9], {("t", 0): 2})
    now = to.load()
    to.commit(now, to.floor(now, ME), batch(now, [3], {("t", 0): 3}))
    assert ids_in(table) == [1, 2, 3, 9]


def test_of_workers_that_commit_at_once_one_wins(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [0], {("t", 0): 1})
    to = target(table)
    before = to.load()
    held = to.floor(before, ME)
    works = [batch(before, [1 + i], {("t", 0): 2 + i}) for i in range(4)]
    outcomes: list[FrazilError | None] = []

    def work(index: int) -> None:
        try:
            target(table).commit(before, held, works[index])
            outcomes.append(None)
        except FrazilError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Fenced", "Fenced", "Fenced", "NoneType"]
    assert len(ids_in(table)) == len(table.refresh().snapshots()) == 2


@pytest.mark.parametrize(
    ("faults", "commits"),
    [
        (["500 after"], 1),
        (["close after"], 1),
        (["409 after"], 1),
        (["503 before"], 1),
        (["500 before", "503 before"], 1),
        (["409 before", "500 after"], 1),
        (["503 before", "close after"], 1),
    ],
    ids=str,
)
def test_a_lost_answer_makes_one_snapshot(
    make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog, faults: list[Fault], commits: int
) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 1})
    to = target(table, proxied)
    before = to.load()
    work = batch(before, [2], {("t", 0): 2})
    proxy.faults = list(faults)
    to.commit(before, to.floor(before, ME), work)
    assert (proxy.faults, proxy.commits) == ([], commits)
    assert ids_in(table) == [1, 2]
    assert len(table.refresh().snapshots()) == 2
    assert floor(table) == {("t", 0): 2}


def test_a_commit_that_cannot_be_looked_up_is_not_written_again(
    make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog
) -> None:
    table = make_table()
    to = target(table, proxied)
    before = to.load()
    work = batch(before, [1], {("t", 0): 1})
    proxy.faults = ["drop all"]
    with pytest.raises(CommitStateUnknown, match="did not confirm a commit .* the position in the table decides"):
        to.commit(before, Floor(), work)
    assert (proxy.requested, proxy.commits) == (1, 1)
    assert (ids_in(table), floor(table)) == ([1], {("t", 0): 1})


@pytest.mark.parametrize(
    ("fault", "error", "told"),
    [
        ("409 before", CommitConflict, "nothing was committed, the batch will be read again"),
        ("429 before", ServiceUnavailable, "nothing was committed, the batch will be read again"),
        ("503 before", CommitStateUnknown, "did not confirm a commit .* the position in the table decides"),
        ("500 before", CommitStateUnknown, "did not confirm a commit .* the position in the table decides"),
    ],
)
def test_retries_end(
    make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog, fault: Fault, error: type[FrazilError], told: str
) -> None:
    table = make_table()
    to = target(table, proxied)
    before = to.load()
    work = batch(before, [1], {("t", 0): 1})
    proxy.faults = [fault] * 100
    with pytest.raises(error, match=told):
        to.commit(before, Floor(), work)
    assert 1 < proxy.requested < 20
    assert proxy.commits == 0
    assert (table.refresh().snapshots(), floor(table)) == ([], {})


def test_a_table_that_is_not_there(make_table: MakeTable, catalog: Catalog) -> None:
    table = make_table()
    work = batch(table, [1], {("t", 0): 1})
    catalog.drop_table(table.name())
    for attempt in (lambda: target(table).load(), lambda: target(table).commit(table, Floor(), work)):
        with pytest.raises(
            NotFound, match=r"does not exist; create it, or set iceberg.tables.auto-create-enabled=true"
        ):
            attempt()


def test_a_catalog_that_does_not_answer(make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog) -> None:
    table = make_table()
    proxy.down = True
    with pytest.raises(ServiceUnavailable, match=r"does not answer \(ConnectionError\) when asked for table "):
        target(table, proxied).load()


def test_wrong_access_keys_are_no_passing_failure(make_table: MakeTable, stack: LocalStack) -> None:
    table = make_table()
    catalog = connect({**stack.settings.catalog_properties(), "rest.secret-access-key": "mistaken"})
    with pytest.raises(ConfigError, match=r"refused table .*Check the warehouse's name and the access keys") as caught:
        target(table, catalog).load()
    assert "mistaken" not in str(caught.value)


@pytest.mark.parametrize("conflict", [False, True])
def test_files_keep_the_spec_they_were_written_for(make_table: MakeTable, conflict: bool) -> None:
    table = make_table(spec=PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "by_id")))
    to = target(table)
    before = to.load()
    work = batch(before, [1, 2], {("t", 0): 2})
    table.update_spec().remove_field("by_id").add_field("text", IdentityTransform(), "by_text").commit()
    if conflict:
        table.refresh().append(rows(table, [100]))
    to.commit(before, Floor(), work)
    store(table.refresh(), [3], {("t", 0): 3})
    assert ids_in(table) == ([1, 2, 3, 100] if conflict else [1, 2, 3])
    for i in (1, 2, 3):
        assert table.scan(row_filter=f"id == {i}").to_arrow().column("id").to_pylist() == [i]
    partitions = {task.file.file_path: task.file.spec_id for task in table.scan().plan_files()}
    assert sorted(partitions.values()) == ([0, 0, 1, 1] if conflict else [0, 0, 1])


@pytest.mark.parametrize(("enabled", "manifests"), [("true", 1), ("false", 4)])
def test_manifests_are_merged_where_the_table_says_so(make_table: MakeTable, enabled: str, manifests: int) -> None:
    table = make_table(properties={"commit.manifest-merge.enabled": enabled, "commit.manifest.min-count-to-merge": "2"})
    for i in range(4):
        store(table, [i], {("t", 0): i + 1})
    head = table.refresh().current_snapshot()
    assert head is not None
    assert len(head.manifests(table.io)) == manifests
    assert ids_in(table) == [0, 1, 2, 3]


def test_the_number_of_retries_of_the_table_is_left_as_it_is(make_table: MakeTable) -> None:
    table = make_table(properties={"commit.retry.num-retries": "17"})
    store(table, [1], {("t", 0): 1})
    assert table.refresh().properties["commit.retry.num-retries"] == "17"
    assert set(json.loads(table.properties[f"{OFFSETS}.{ME}.main"])) == {
        OFFSETS,
        "frazil.kafka.cluster-id",
        "frazil.kafka.topic-ids",
        "frazil.begin",
    }


def test_a_long_history_of_others_is_searched_quickly(make_table: MakeTable) -> None:
    table = make_table()
    store(table, [1], {("t", 0): 4})
    raw = json.loads(table.refresh().metadata.model_dump_json())
    (first,) = raw["snapshots"]
    history = [
        {
            **first,
            "snapshot-id": i,
            "parent-snapshot-id": i - 1 if i > 1 else first["snapshot-id"],
            "summary": {"operation": "append"},
        }
        for i in range(1, 4001)
    ]
    raw["snapshots"] += history
    raw["current-snapshot-id"] = 4000
    raw["refs"]["main"]["snapshot-id"] = 4000
    metadata = TableMetadataUtil.parse_obj(raw)
    long = Table(table.name(), metadata, table.metadata_location, table.io, table.catalog)
    started = time.process_time()
    assert target(table).floor(long, ME).offsets == {("t", 0): 4}
    assert time.process_time() - started < 0.5


def test_what_all_tables_had_is_in_the_snapshot(make_table: MakeTable) -> None:
    table = make_table()
    to = target(table)
    to.commit(table, Floor(), replace(batch(table, [1], {("t", 0): 3}), complete={("t", 0): 1}))
    found = to.floor(to.load(), ME)
    assert (found.offsets, found.complete, found.rolled_back) == ({("t", 0): 3}, {("t", 0): 1}, False)

    first = table.refresh().current_snapshot()
    assert first is not None
    store(table, [2], {("t", 0): 5})
    assert to.floor(to.load(), ME).complete == {}
    table.refresh().manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    found = to.floor(to.load(), ME)
    assert (found.offsets, found.complete, found.rolled_back) == ({("t", 0): 3}, {("t", 0): 1}, True)
