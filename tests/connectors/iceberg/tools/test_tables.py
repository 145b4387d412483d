"""What is shown of tables, and changes of them, on a catalog in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DecimalType, IntegerType, ListType, LongType, NestedField, StringType, StructType

from frazil.connectors.iceberg.config.creation import partition_terms
from frazil.connectors.iceberg.table.commit import COMPACTED, CONNECTOR, Commit, TableBranch
from frazil.connectors.iceberg.tools.alter import Changes, alter, parse_type
from frazil.connectors.iceberg.tools.describe import (
    committers,
    own_properties,
    schema_history,
    shown_snapshot,
    told_rows,
    totals,
    writers,
)
from frazil.connectors.iceberg.tools.refs import add_ref, plan_rollback, remove_ref, roll_back
from frazil.connectors.iceberg.tools.replayed import DEADLETTERS
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import AlreadyExists, CommitConflict, CommitStateUnknown, NotFound, UsageError
from tests.connectors.iceberg.memory import MemoryCatalog

NAME = "n.t"
SCHEMA = Schema(
    NestedField(1, "id", IntegerType(), required=True),
    NestedField(2, "price", DecimalType(9, 2)),
    NestedField(3, "city", StringType()),
    NestedField(4, "lines", ListType(5, StructType(NestedField(6, "n", IntegerType())), False)),
)


@pytest.fixture
def catalog(tmp_path: Path) -> MemoryCatalog:
    return MemoryCatalog(tmp_path, {NAME: SCHEMA})


def committed(catalog: MemoryCatalog, connector: str, *ends: int) -> Table:
    """The table after a commit of a connector for each end of its topic."""
    for end in ends:
        place = TableBranch(catalog, NAME, "main")
        table = place.load()
        commit = Commit(connector, [], {("t", 0): 0}, {("t", 0): end}, KafkaIdentity("c", {"t": "id"}), None)
        place.commit(table, place.floor(table, connector), commit)
    return catalog.load_table(NAME)


def position(catalog: MemoryCatalog, connector: str) -> int | None:
    place = TableBranch(catalog, NAME, "main")
    return place.floor(place.load(), connector).offsets.get(("t", 0))


def at(number: int) -> Callable[[list[Snapshot]], Snapshot]:
    """The snapshot that is so many before the newest."""
    return lambda known: known[number]


def test_all_changes_of_columns_are_one_schema_and_its_history_tells_them(catalog: MemoryCatalog) -> None:
    changes = Changes(
        added={("note",): parse_type("string"), ("lines", "element", "tags"): parse_type("list<string>")},
        renamed={("city",): "town"},
        widened={("price",): parse_type("decimal(12,2)"), ("lines", "element", "n"): parse_type("long")},
        optional=[("id",)],
        properties={"comment": "x"},
    )
    alter(catalog.load_table(NAME), changes)
    table = catalog.load_table(NAME)
    schema = table.schema()
    assert schema.find_type("price") == DecimalType(12, 2)
    assert schema.find_type("lines.element.n") == LongType()
    assert [field.name for field in schema.fields] == ["id", "price", "town", "lines", "note"]
    assert not schema.find_field("id").required
    assert own_properties(table)["comment"] == "x"
    first, second = schema_history(table)
    assert first.changes == ("4 columns",)
    assert sorted(second.changes) == sorted(
        [
            "id: optional",
            "price: decimal(9, 2) → decimal(12, 2)",
            "city → town",
            "lines.element.n: int → long",
            "+ lines.element.tags list",
            "+ lines.element.tags.element string",
            "+ note string",
        ]
    )
    assert list(changes.told())[0] == "+ note string"
    alter(table, Changes(dropped=[("note",)], unset=["comment"]))
    assert schema_history(catalog.load_table(NAME))[-1].changes == ("- note",)
    assert "comment" not in catalog.load_table(NAME).properties


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (Changes(), "nothing to change"),
        (Changes(dropped=[("nope",)]), "n.t has no column nope; it has .*id.*. Nothing was changed"),
        (Changes(partition=partition_terms("ciy")), "n.t has no column ciy; did you mean city[?]. Nothing was changed"),
        (
            Changes(partition=partition_terms("day(id)")),
            r"partitioned by day\(id\): the column is of type int. Nothing",
        ),
        (Changes(added={("id",): LongType()}), "cannot be changed so: .*[Nn]ame already exists"),
        (Changes(widened={("city",): LongType()}), "cannot be changed so: "),
        (Changes(widened={("city",): parse_type("list<int>")}), "only plain types widen"),
        (
            Changes(properties={"write.merge.mode": "merge-on-reed"}),
            "write.merge.mode of n.t is copy-on-write or merge-on-read, not merge-on-reed. Nothing was changed",
        ),
        (Changes(properties={"frazil.offsets.c.main": "{}"}), "is a connector's position: `offsets` moves it"),
    ],
)
def test_what_cannot_be_changed_leaves_the_table_as_it_is(
    catalog: MemoryCatalog, changes: Changes, reason: str
) -> None:
    table = catalog.load_table(NAME)
    with pytest.raises(UsageError, match=reason):
        alter(table, changes)
    assert catalog.load_table(NAME).metadata == table.metadata


def fields(table: Table) -> list[str]:
    return [f"{one.name} {one.transform}" for one in table.spec().fields]


def test_partition_fields_come_go_and_stay(catalog: MemoryCatalog) -> None:
    first = partition_terms("city, bucket(id, 4)")
    alter(catalog.load_table(NAME), Changes(partition=first))
    assert fields(catalog.load_table(NAME)) == ["city identity", "id_bucket bucket[4]"]
    changes = Changes(added={("at",): parse_type("timestamptz")}, partition=partition_terms("bucket(id, 8), day(at)"))
    assert list(changes.told()) == ["+ at timestamptz", "partitions: id_bucket, at_day"]
    with pytest.raises(UsageError, match=r"n.t cannot be partitioned by day\(city\): "):
        alter(catalog.load_table(NAME), Changes(partition=partition_terms("day(city)")))
    alter(catalog.load_table(NAME), changes)
    assert fields(catalog.load_table(NAME))[-2:] == ["id_bucket_8 bucket[8]", "at_day day"]
    alter(catalog.load_table(NAME), Changes(partition=()))
    assert not [one for one in fields(catalog.load_table(NAME)) if not one.endswith("void")]


def test_columns_that_the_table_needs_are_not_dropped(tmp_path: Path) -> None:
    catalog = MemoryCatalog(tmp_path, {})
    schema = Schema(*SCHEMA.fields, identifier_field_ids=[1])
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "city"))
    table = catalog.create_table(NAME, schema, partition_spec=spec)
    with pytest.raises(UsageError, match="id of n.t cannot be dropped: the columns that identify a row needs it"):
        alter(table, Changes(dropped=[("id",)]))
    with pytest.raises(UsageError, match="city of n.t cannot be dropped: partition field city needs it"):
        alter(table, Changes(dropped=[("city",)]))


def test_a_change_that_others_overtake_or_that_is_not_confirmed_is_told(catalog: MemoryCatalog) -> None:
    catalog.faults = ["refused"]
    with pytest.raises(CommitConflict, match="Nothing was changed; repeat the command"):
        alter(catalog.load_table(NAME), Changes(properties={"a": "b"}))
    catalog.faults = ["lost after"]
    with pytest.raises(CommitStateUnknown, match="did not confirm the change of n.t"):
        alter(catalog.load_table(NAME), Changes(properties={"a": "b"}))
    assert catalog.load_table(NAME).properties["a"] == "b"


@pytest.mark.parametrize("text", ["", "ignore", "number", "decimal(99,2)"])
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(UsageError, match="is no type of a column"):
        parse_type(text)


def test_who_writes_and_what_snapshots_stand_for(catalog: MemoryCatalog) -> None:
    table = committed(catalog, "my.connector", 10, 20)
    assert committers(table) == {"my.connector": ["main"]}
    assert writers(table, {"b": {"iceberg.tables": "n.other, n.t"}, "c": {"iceberg.tables": "n"}}) == [
        "b",
        "my.connector",
    ]
    assert not [key for key in own_properties(table) if "frazil" in key]
    current = table.current_snapshot()
    assert current is not None
    newest = shown_snapshot(current)
    assert (newest.connector, newest.positions, newest.compacted) == ("my.connector", '{"t":{"0":20}}', "")
    told = "3 data files to 1, 2 delete files"
    compacting = current.model_copy(update={"summary": Summary(Operation.OVERWRITE, **{COMPACTED: told})})
    assert shown_snapshot(compacting).compacted == told
    stored = {CONNECTOR: "my.connector", DEADLETTERS: "{}"}
    replayed = current.model_copy(update={"summary": Summary(Operation.APPEND, **stored)})
    assert (newest.author, shown_snapshot(replayed).author) == ("my.connector", "my.connector (replay)")
    assert totals(None) == {"rows": 0, "data_files": 0, "delete_files": 0, "bytes": 0}


def test_after_a_rollback_connectors_read_again_what_the_table_has_lost(catalog: MemoryCatalog) -> None:
    committed(catalog, "a", 10)
    committed(catalog, "b", 5)
    committed(catalog, "a", 20, 30)
    plan = plan_rollback(catalog, NAME, "main", at(2))
    assert plan.taken == 2
    assert {name: (one.offsets, two.offsets) for name, (one, two) in plan.floors.items()} == {
        "a": ({("t", 0): 30}, {("t", 0): 10}),
        "b": ({("t", 0): 5}, {("t", 0): 5}),
    }
    assert position(catalog, "a") == 30, "a plan changes nothing"
    roll_back(plan, keep_positions=False)
    assert (position(catalog, "a"), position(catalog, "b")) == (10, 5)


def test_a_rollback_can_leave_positions_where_they_are(catalog: MemoryCatalog) -> None:
    committed(catalog, "a", 10, 20, 30)
    roll_back(plan_rollback(catalog, NAME, "main", at(2)), keep_positions=True)
    assert position(catalog, "a") == 30
    table = catalog.load_table(NAME)
    assert len(list(TableBranch(catalog, NAME, "main").history(table))) == 2, "the snapshot, and one with the position"


def test_a_rollback_of_a_branch_that_moved_meanwhile_is_refused(catalog: MemoryCatalog) -> None:
    committed(catalog, "a", 10, 20)
    plan = plan_rollback(catalog, NAME, "main", at(1))
    committed(catalog, "a", 30)
    catalog.faults = ["refused"]
    with pytest.raises(CommitConflict, match="was changed by others meanwhile. Nothing was changed"):
        roll_back(plan, keep_positions=False)
    assert position(catalog, "a") == 30
    with pytest.raises(NotFound, match="nope of n.t has no snapshots"):
        plan_rollback(catalog, NAME, "nope", at(0))


def test_branches_and_tags_come_and_go(catalog: MemoryCatalog) -> None:
    table = committed(catalog, "a", 10, 20)
    first, second = table.snapshots()
    add_ref(table, "old", first, tag=True)
    table = catalog.load_table(NAME)
    add_ref(table, "audit", second, tag=False)
    table = catalog.load_table(NAME)
    assert {name: ref.snapshot_id for name, ref in table.refs().items()} == {
        "main": second.snapshot_id,
        "old": first.snapshot_id,
        "audit": second.snapshot_id,
    }
    with pytest.raises(AlreadyExists, match="has a tag old already"):
        add_ref(table, "old", second, tag=False)
    with pytest.raises(NotFound, match="has no branch old, but audit, main"):
        remove_ref(table, "old", tag=False)
    with pytest.raises(UsageError, match="main of n.t cannot be removed"):
        remove_ref(table, "main", tag=False)
    remove_ref(table, "old", tag=True)
    remove_ref(catalog.load_table(NAME), "audit", tag=False)
    assert list(catalog.load_table(NAME).refs()) == ["main"]


def test_rows_and_bytes_are_those_of_the_newest_snapshot(catalog: MemoryCatalog) -> None:
    table = catalog.load_table(NAME)
    table.append(pa.Table.from_pylist([{"id": 1}, {"id": 2}], schema=table.schema().as_arrow()))
    found = totals(catalog.load_table(NAME).current_snapshot())
    assert (found["rows"], found["data_files"]) == (2, 1) and found["bytes"] > 0
    assert told_rows(found) == "2 rows"
    assert told_rows(found | {"delete_files": 1}) == "at most 2 rows"
