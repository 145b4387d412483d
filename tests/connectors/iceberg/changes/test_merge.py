"""Changes into real tables: what is visible afterwards, in both ways to take rows out."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.io.pyarrow
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from frazil.connectors.iceberg.changes import match
from frazil.connectors.iceberg.changes.changes import ChangeFileWriter
from frazil.connectors.iceberg.changes.compaction import FEWEST
from frazil.connectors.iceberg.changes.merge import MERGE_MODE, Merge, look_up_all, rewrites, sorted_out
from frazil.connectors.iceberg.table.commit import COMMIT_ID, COMPACTED, OFFSETS, Commit, TableBranch
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import CommitConflict, ConfigError, Fenced
from frazil.pipeline.changes import DELETED, OFFSET, PARTITION, TIMESTAMP, TOPIC, Path
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.gaps import WantedRows
from frazil.pipeline.keys import Codes, Keys
from tests.connectors.iceberg.conftest import MakeTable
from tests.connectors.iceberg.proxy import CatalogProxy

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("quick_retries")]

MODES = ("copy-on-write", "merge-on-read")
ME = "iceberg-sink-test"
PEOPLE = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "name", StringType()),
    NestedField(3, "city", StringType()),
    identifier_field_ids=[1],
)
BY_CITY = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "city"))


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def here(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """As tasks would get it."""
    function = _travelled(function)
    return [_travelled(function(_travelled(item))) for item in items]


def _travelled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - of this process


def writer_for(table: Table) -> DataFileWriter:
    access = sorted((key, value) for key, value in table.io.properties.items() if isinstance(value, str))
    return DataFileWriter(table.metadata.model_dump_json(), tuple(access))


@dataclass
class Change:
    """A change of a row, or with `delete` the end of one; by default offsets grow with each."""

    row: Mapping[str, Any]
    delete: bool = False
    partition: int = 0
    offset: int | None = None
    timestamp: int = 0


def put(**row: Any) -> Change:
    return Change(row)


def delete(**row: Any) -> Change:
    return Change(row, delete=True)


def written(
    table: Table, tasks: Sequence[Sequence[Change]], keys: tuple[Path, ...]
) -> tuple[list[DataFile], Keys, dict[str, Codes]]:
    schema = arrow_schema(struct_of(table.schema()))
    result: list[DataFile] = []
    told: list[pa.Table] = []
    number = 0
    for changes in tasks:
        files = ChangeFileWriter(writer_for(table), keys).open()
        for change in changes:
            number += 1
            row = pa.Table.from_pylist([dict(change.row)], schema=pa.schema([f.with_nullable(True) for f in schema]))
            columns = dict(zip(row.column_names, row.columns, strict=True)) | {
                DELETED: pa.array([change.delete]),
                TOPIC: pa.array(["t"]),
                PARTITION: pa.array([change.partition], pa.int32()),
                OFFSET: pa.array([number if change.offset is None else change.offset]),
                TIMESTAMP: pa.array([change.timestamp]),
            }
            files.add(pa.table(columns))
        result += files.close()
        if (of_task := files.changes()) is not None:
            told.append(of_task)
    return result, *sorted_out(told)


class Applier:
    """Applies changes as a worker does that does nothing else."""

    def __init__(
        self,
        table: Table,
        keys: tuple[Path, ...] = (("id",),),
        branch: str = "main",
        *,
        me: str = ME,
        compacts: bool = False,
    ) -> None:
        self.me, self.compacts = me, compacts
        self.target = TableBranch(table.catalog, ".".join(table.name()), branch)
        self.keys = keys
        self.offset = 0

    def prepare(self, *tasks: Sequence[Change]) -> Callable[[], None]:
        """The commit of a run, with the table as it is now."""
        table = self.target.load()
        floor = self.target.floor(table, self.me)
        merge = Merge(*written(table, tasks, self.keys), self.keys, writer_for, here, compacts=self.compacts)
        self.offset += sum(map(len, tasks))
        batch = Commit(
            self.me, (), {("t", 0): 0}, {("t", 0): self.offset}, KafkaIdentity("c", {"t": "i"}), 1_684_408_953_007
        )
        return lambda: self.target.commit(table, floor, batch, merge.stage)

    def __call__(self, *tasks: Sequence[Change]) -> None:
        self.prepare(*tasks)()

    def floor(self) -> dict[tuple[str, int], int]:
        return self.target.floor(self.target.load(), ME).offsets


def rows(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.refresh().scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: json.dumps(row, default=str))


def people(table: Table) -> dict[int, str]:
    found = rows(table)
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["name"] for row in found}


def data_files(table: Table) -> set[str]:
    return {task.file.file_path for task in table.refresh().scan().plan_files()}


def delete_files(table: Table) -> set[str]:
    return {file.file_path for task in table.refresh().scan().plan_files() for file in task.delete_files}


def test_inserts_deletes_and_updates(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=1, name="one"), put(id=2, name="two"), put(id=3, name="three")])
    apply([delete(id=1), put(id=3, name="updated!")])
    assert people(table) == {2: "two", 3: "updated!"}


def test_rows_as_they_are(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    assert look_up(table, 1) == {}
    apply = Applier(table)
    apply([put(id=i, name=f"first {i}") for i in range(5)])
    apply([put(id=3, name="second"), delete(id=4), put(id=9, name=None)])
    assert look_up(table, 1, 3, 4, 9, 12) == {1: "first 1", 3: "second", 9: None}


def look_up(table: Table, *ids: int) -> dict[int, str | None]:
    wanted = WantedRows(pa.table({"0": pa.array(ids, pa.int64())}), ("name",))
    table.refresh()
    found = look_up_all(table, "main", (("id",),), wanted, writer_for(table), here)
    assert found.column_names == ["0", "name"]
    return {row["0"]: row["name"] for row in found.to_pylist()}


def test_one_run_with_everything(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    Applier(table)([put(id=1, name="a"), put(id=2, name="b"), put(id=1, name="c"), delete(id=2), put(id=3, name="d")])
    assert people(table) == {1: "c", 3: "d"}


def test_files_are_kept_or_written_again_as_the_table_says(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=i, name="first") for i in range(10)])
    before = data_files(table)
    apply([put(id=3, name="second")])
    assert people(table)[3] == "second"
    assert len(data_files(table)) == 2
    kept = before <= data_files(table)
    assert (kept, len(delete_files(table))) == ((True, 1) if mode == "merge-on-read" else (False, 0))
    summary = table.refresh().snapshots()[-1].summary
    assert summary is not None
    assert summary.operation.value == "overwrite"
    counts = ("added-data-files", "deleted-data-files", "added-delete-files", "added-position-deletes")
    assert [summary[name] for name in counts] == (
        ["1", None, "1", "1"] if mode == "merge-on-read" else ["2", "1", None, None]
    )


def test_a_file_of_which_nothing_is_left_goes(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=1, name="a"), put(id=2, name="b")])
    gone = data_files(table)
    apply([put(id=1, name="c")])
    apply([put(id=2, name="d")])
    assert people(table) == {1: "c", 2: "d"}
    assert not gone & data_files(table)
    apply([delete(id=1), delete(id=2)])
    assert (people(table), data_files(table)) == ({}, set())


def test_position_and_commit_id_are_in_the_same_snapshot(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=1, name="a"), put(id=2, name="b")])
    apply([put(id=1, name="c")])
    first, second = table.refresh().snapshots()
    assert second.parent_snapshot_id == first.snapshot_id
    assert second.summary is not None
    assert second.summary[OFFSETS] == '{"t":{"0":3}}'
    assert len(second.summary[COMMIT_ID] or "") == 36
    assert second.summary["kafka.connect.vtts"] == "1684408953007"
    assert second.summary["kafka.connect.valid-through-ts"] == "2023-05-18T11:22:33.007+00:00"
    assert OFFSETS in json.loads(table.properties[f"{OFFSETS}.{ME}.main"])
    assert apply.floor() == {("t", 0): 3}


def test_a_row_moves_to_another_partition_of_the_table(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, BY_CITY, {MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=i, name="first", city="Graz" if i % 2 else "Linz") for i in range(6)])
    apply([put(id=1, name="moved", city="Wien"), put(id=2, name="stays", city="Linz"), delete(id=3)])
    assert people(table) == {0: "first", 1: "moved", 2: "stays", 4: "first", 5: "first"}
    in_wien = table.refresh().scan(row_filter="city == 'Wien'").to_arrow().column("id").to_pylist()
    in_graz = table.scan(row_filter="city == 'Graz'").to_arrow().column("id").to_pylist()
    assert (in_wien, in_graz) == ([1], [5])


def test_the_last_change_of_all_tasks_wins(make_table: MakeTable, mode: str) -> None:
    """The same key in several tasks: a partition is divided, and a key is in several partitions."""
    table = make_table(PEOPLE, BY_CITY, {MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=i, name="old", city="Graz") for i in range(5)])
    one = [
        Change({"id": 0, "name": "lost", "city": "Graz"}, offset=10),
        Change({"id": 1, "name": "lost", "city": "Linz"}, offset=11, timestamp=9),
        Change({"id": 2, "name": "last", "city": "Linz"}, partition=1, offset=5, timestamp=2),
        Change({"id": 3, "name": "lost", "city": "Graz"}, offset=12),
    ]
    other = [
        Change({"id": 0, "name": "last", "city": "Graz"}, offset=20),
        Change({"id": 1, "name": "last", "city": "Linz"}, offset=21),
        Change({"id": 2, "name": "lost", "city": "Linz"}, partition=0, offset=50, timestamp=1),
        Change({"id": 3}, delete=True, offset=22),
    ]
    apply(one, other)
    assert people(table) == {0: "last", 1: "last", 2: "last", 4: "old"}


def test_many_random_changes_as_a_dictionary_has_them(make_table: MakeTable, mode: str) -> None:
    chance = random.Random(mode)
    table = make_table(PEOPLE, BY_CITY, {MERGE_MODE: mode})
    apply = Applier(table)
    expected: dict[int, str] = {}
    offset = 0
    for number in range(6):
        tasks: list[list[Change]] = [[], [], []]
        for _ in range(40):
            offset += 1
            key, city = chance.randrange(25), chance.choice(["Graz", "Linz", None])
            if chance.random() < 0.3:
                change = Change({"id": key}, delete=True, offset=offset)
                expected.pop(key, None)
            else:
                change = Change({"id": key, "name": f"{number}-{offset}", "city": city}, offset=offset)
                expected[key] = f"{number}-{offset}"
            chance.choice(tasks).append(change)
        apply(*tasks)
        assert people(table) == expected
    assert table.refresh().scan().count() == len(expected)


def test_delete_files_are_as_the_specification_wants(make_table: MakeTable) -> None:
    table = make_table(PEOPLE, BY_CITY, {MERGE_MODE: "merge-on-read"})
    apply = Applier(table)
    for name in ("a", "b"):
        apply([put(id=i + (100 if name == "b" else 0), name=name, city="Graz") for i in range(20)])
    apply([put(id=7, name="c", city="Linz"), delete(id=9), delete(id=3), delete(id=104)])
    head = table.refresh().current_snapshot()
    assert head is not None
    [manifest] = [one for one in head.manifests(table.io) if one.content == ManifestContent.DELETES]
    [entry] = manifest.fetch_manifest_entry(table.io)
    file = entry.data_file
    assert (file.content, file.spec_id, file.partition[0], file.record_count) == (
        DataFileContent.POSITION_DELETES, 0, "Graz", 4
    )  # fmt: skip
    with table.io.new_input(file.file_path).open() as stream:
        content = pq.read_table(stream)
    assert [(f.name, f.nullable, f.metadata[b"PARQUET:field_id"]) for f in content.schema] == [
        ("file_path", False, b"2147483546"),
        ("pos", False, b"2147483545"),
    ]
    places = [(row["file_path"], row["pos"]) for row in content.to_pylist()]
    assert places == sorted(places)
    assert len({path for path, _ in places}) == 2
    assert (file.lower_bounds[2147483546], file.upper_bounds[2147483546]) == (
        places[0][0].encode(), places[-1][0].encode()
    )  # fmt: skip
    assert file.file_size_in_bytes == len(table.io.new_input(file.file_path))


ALL_KEYS = Schema(
    NestedField(1, "who", UUIDType(), required=True),
    NestedField(2, "day", DateType(), required=True),
    NestedField(3, "at", TimestamptzType(), required=True),
    NestedField(4, "clock", TimeType(), required=True),
    NestedField(5, "amount", DecimalType(12, 3), required=True),
    NestedField(6, "raw", BinaryType(), required=True),
    NestedField(7, "inner", StructType(NestedField(8, "code", StringType(), required=True)), required=True),
    NestedField(9, "count", IntegerType()),
    NestedField(10, "tags", ListType(11, StringType(), element_required=False)),
    NestedField(12, "labels", MapType(13, StringType(), 14, LongType(), value_required=False)),
)


def test_keys_of_many_types_and_other_columns_of_all(make_table: MakeTable, mode: str) -> None:
    spec = PartitionSpec(
        PartitionField(3, 1000, DayTransform(), "at_day"), PartitionField(1, 1001, BucketTransform(4), "who_bucket")
    )
    table = make_table(ALL_KEYS, spec, {MERGE_MODE: mode})
    keys: tuple[Path, ...] = (("who",), ("day",), ("at",), ("clock",), ("amount",), ("raw",), ("inner", "code"))
    apply = Applier(table, keys)

    def row(n: int, count: int) -> dict[str, Any]:
        return {
            "who": bytes([n]) * 16,
            "day": date(2026, 1, 1 + n),
            "at": datetime(2026, 1, 1, n, tzinfo=UTC),
            "clock": time(n),
            "amount": Decimal(n) / 8,
            "raw": bytes([n]),
            "inner": {"code": f"c{n}"},
            "count": count,
            "tags": ["x", None],
            "labels": [("k", count)],
        }

    apply([Change(row(n, 0)) for n in range(8)])
    apply([Change(row(2, 20)), Change(row(3, 0), delete=True), Change({**row(4, 40), "raw": b"other"})])
    assert sorted(r["count"] for r in rows(table)) == [0] * 6 + [20, 40]
    found = next(r for r in rows(table) if r["count"] == 20)
    assert (found["tags"], dict(found["labels"]), found["inner"]) == (["x", None], {"k": 20}, {"code": "c2"})


def test_only_files_that_can_hold_a_key_are_read(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    for first in (0, 100, 200):
        apply([put(id=first + i, name="a") for i in range(5)])
    looked: list[str] = []
    now = apply.target.load()

    def watching(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        looked.extend(item.file.file_path for item in items)
        return here(function, items)

    merge = Merge(
        *written(now, [[put(id=102, name="b"), put(id=150, name="c")]], apply.keys), apply.keys, writer_for, watching
    )
    batch = Commit(ME, (), {}, {("t", 0): 99}, KafkaIdentity("c", {"t": "i"}), None)
    apply.target.commit(now, apply.target.floor(now, ME), batch, merge.stage)
    assert len(looked) == 1
    assert people(table)[102] == "b"


@pytest.mark.parametrize("compacts", [False, True])
def test_a_delete_file_is_read_once_for_all_data_files(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch, compacts: bool
) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: "merge-on-read"})
    apply = Applier(table)
    expected: dict[int, str] = {}
    for round_ in range(4):
        apply([put(id=i, name=f"{round_}") for i in range(round_, 12, 2)])
        expected |= {i: f"{round_}" for i in range(round_, 12, 2)}
    read: list[str] = []

    def watching(io: Any, data_file: DataFile) -> Any:
        read.append(data_file.file_path)
        return of_one(io, data_file)

    of_one = pyiceberg.io.pyarrow._read_deletes  # noqa: SLF001
    with monkeypatch.context() as patch:
        patch.setattr(match, "_read_deletes", watching)
        Applier(table, compacts=compacts)([put(id=i, name="last") for i in range(3)])
    assert len(read) == len(set(read)) == 2
    assert people(table) == expected | dict.fromkeys(range(3), "last")


def test_foreign_commits_meanwhile(make_table: MakeTable, mode: str) -> None:
    """The keys are looked for in what came in since, and nothing is looked through twice."""
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=i, name="old") for i in range(5)])
    commit_it = apply.prepare([put(id=1, name="new"), put(id=7, name="new")])
    foreign = pa.Table.from_pylist(
        [{"id": 7, "name": "foreign", "city": None}, {"id": 8, "name": "foreign", "city": None}],
        schema=arrow_schema(struct_of(table.schema())),
    )
    table.refresh().append(foreign)
    commit_it()
    assert people(table) == {0: "old", 1: "new", 2: "old", 3: "old", 4: "old", 7: "new", 8: "foreign"}


def test_the_table_is_compacted_meanwhile(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=i, name="old") for i in range(5)])
    apply([put(id=5, name="old"), put(id=0, name="newer")])
    commit_it = apply.prepare([put(id=1, name="new"), delete(id=5)])
    everything = table.refresh().scan().to_arrow().cast(arrow_schema(struct_of(table.schema())))
    table.overwrite(everything)
    commit_it()
    assert people(table) == {0: "newer", 1: "new", 2: "old", 3: "old", 4: "old"}


def test_a_column_is_added_meanwhile(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=i, name="old") for i in range(3)])
    commit_it = apply.prepare([put(id=1, name="new")])
    with table.refresh().update_schema() as update:
        update.add_column("age", IntegerType())
    added = pa.Table.from_pylist([{"id": 9, "name": "x", "age": 44}, {"id": 1, "name": "y", "age": 45}],
                                 schema=arrow_schema(struct_of(table.refresh().schema())))  # fmt: skip
    table.append(added)
    commit_it()
    assert {r["id"]: (r["name"], r["age"]) for r in rows(table)} == {
        0: ("old", None), 1: ("new", None), 2: ("old", None), 9: ("x", 44)
    }  # fmt: skip


def test_a_second_worker_is_fenced(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    first, second = Applier(table), Applier(table)
    first([put(id=1, name="a"), put(id=2, name="b")])
    late = second.prepare([put(id=1, name="zombie")])
    first([put(id=1, name="c")])
    with pytest.raises(Fenced):
        late()
    assert people(table) == {1: "c", 2: "b"}


@pytest.mark.parametrize("faults", [["500 after"], ["409 before", "close after"], ["503 before"]], ids=str)
def test_a_lost_answer_makes_one_snapshot(
    make_table: MakeTable, proxy: CatalogProxy, proxied: Any, mode: str, faults: list[Any]
) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=1, name="a"), put(id=2, name="b")])
    apply.target = TableBranch(proxied, apply.target.name, "main")
    commit_it = apply.prepare([put(id=1, name="c"), put(id=3, name="d")])
    proxy.faults = list(faults)
    commit_it()
    assert people(table) == {1: "c", 2: "b", 3: "d"}
    assert len(table.refresh().snapshots()) == 2


def test_retries_end_without_a_change(make_table: MakeTable, proxy: CatalogProxy, proxied: Any, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=1, name="a"), put(id=2, name="b")])
    apply.target = TableBranch(proxied, apply.target.name, "main")
    commit_it = apply.prepare([delete(id=1)])
    proxy.faults = ["409 before"] * 100
    with pytest.raises(CommitConflict):
        commit_it()
    proxy.faults = []
    assert people(table) == {1: "a", 2: "b"}


def test_a_branch_is_changed_alone(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: mode})
    Applier(table)([put(id=1, name="a"), put(id=2, name="b")])
    audit = Applier(table, branch="audit")
    audit.target.with_branch(audit.target.load())
    audit([put(id=1, name="c"), delete(id=2)])
    assert people(table) == {1: "a", 2: "b"}
    head = table.refresh().snapshot_by_name("audit")
    assert head is not None
    assert table.scan(snapshot_id=head.snapshot_id).to_arrow().to_pylist() == [{"id": 1, "name": "c", "city": None}]


def test_tables_that_cannot_be_changed(make_table: MakeTable) -> None:
    with pytest.raises(ConfigError, match="has format version 1, which cannot be changed row by row"):
        rewrites(make_table(PEOPLE, properties={"format-version": "1"}))
    with pytest.raises(ConfigError, match="has write.merge.mode=copy; set it to copy-on-write or merge-on-read"):
        rewrites(make_table(PEOPLE, properties={MERGE_MODE: "copy"}))


def test_files_of_an_older_partition_spec(make_table: MakeTable, mode: str) -> None:
    table = make_table(PEOPLE, BY_CITY, {MERGE_MODE: mode})
    apply = Applier(table)
    apply([put(id=i, name="old", city="Graz" if i % 2 else "Linz") for i in range(6)])
    table.refresh().update_spec().remove_field("city").add_field("name", IdentityTransform(), "by_name").commit()
    apply([put(id=1, name="new", city="Graz"), delete(id=2)])
    apply([put(id=3, name="new", city="Graz")])
    assert people(table) == {0: "old", 1: "new", 3: "new", 4: "old", 5: "old"}
    assert table.refresh().scan(row_filter="name == 'new'").count() == 2


def test_a_table_under_constant_change_keeps_few_files(make_table: MakeTable) -> None:
    """Each commit compacts what needs it, and the rows are those of a dictionary all the time."""
    chance = random.Random(7)
    table = make_table(PEOPLE, BY_CITY, {MERGE_MODE: "merge-on-read"})
    apply = Applier(table, compacts=True)
    apply([put(id=i, name="first", city=chance.choice(["Graz", "Linz"])) for i in range(200)])
    expected = dict.fromkeys(range(200), "first")
    for number in range(14):
        keys = chance.sample(range(200), 12)
        changes = [put(id=key, name=f"{number}", city=chance.choice(["Graz", "Linz"])) for key in keys[:10]]
        apply([*changes, *(delete(id=key) for key in keys[10:])])
        expected |= dict.fromkeys(keys[:10], f"{number}")
        expected = {key: name for key, name in expected.items() if key not in keys[10:]}
        assert people(table) == expected
        assert len(data_files(table)) <= 14
        assert len(delete_files(table)) <= 8
    summaries = [snapshot.summary for snapshot in table.refresh().snapshots()]
    assert any(summary is not None and COMPACTED in summary for summary in summaries)
    head = table.current_snapshot()
    assert head is not None
    assert head.summary is not None
    manifests = head.manifests(table.io)
    live = [entry.data_file for one in manifests for entry in one.fetch_manifest_entry(table.io)]
    counted = {int(head.summary[name] or 0) for name in ("total-data-files", "total-delete-files")}
    assert counted == {len(data_files(table)), sum(file.content != DataFileContent.DATA for file in live)}
    assert sum(file.content == DataFileContent.DATA for file in live) == len(data_files(table))
    records, positions = (int(head.summary[f"total-{name}"] or 0) for name in ("records", "position-deletes"))
    assert records - positions == len(expected)


def test_a_foreign_commit_beside_a_compaction(make_table: MakeTable) -> None:
    table = make_table(PEOPLE, properties={MERGE_MODE: "merge-on-read"})
    apply = Applier(table, compacts=True)
    for number in range(FEWEST + 1):
        apply([put(id=i, name=f"{number}") for i in range(number, number + 3)])
    expected = people(table)
    commit_it = apply.prepare([put(id=1, name="new"), put(id=7, name="new")])
    other = Applier(table, branch="main", me="other")
    other([put(id=2, name="foreign"), delete(id=3)])
    commit_it()
    del expected[3]
    assert people(table) == expected | {1: "new", 2: "foreign", 7: "new"}
