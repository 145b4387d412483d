"""Columns for what records bring: which there are when there are too many, and objects whose keys are data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, MapType, NestedField, StructType

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.table.column_limits import Admitted, admit
from frazil.connectors.iceberg.tools.sample import sample
from frazil.pipeline.convert.infer import MAP, Path, Seen
from frazil.pipeline.letters.letter import read_letter
from frazil.pipeline.types import STRING, Field, List, Scalar, Struct, Type
from tests.connectors.iceberg.driver import CREATE, DYNAMIC, EVOLVE, TOLERANT, Driver, Memory
from tests.connectors.iceberg.driver import TABLE as LANDING
from tests.connectors.samples import MINIMAL_SINK

TABLE = Schema(
    NestedField(1, "id", IntegerType()), NestedField(2, "st", StructType(NestedField(3, "a", IntegerType())))
)
TREE = List(Struct((Field("c", STRING), Field("d", STRING))))
AUTO = {**CREATE, **EVOLVE, **TOLERANT}


def limits(new: int, table: int) -> IcebergSinkConfig:
    own = {"frazil.schema.max.new.columns": str(new), "frazil.schema.max.columns": str(table)}
    return iceberg_sink_config({**MINIMAL_SINK, **own})


def seen(counts: Mapping[Path, int]) -> Seen:
    return Counter({(path, "string"): count for path, count in counts.items()})


def test_columns_are_counted_with_the_nested_ones() -> None:
    unknown: dict[Path, Type] = {("st", "b"): TREE, ("x",): STRING, ("m",): MAP}
    assert admit(limits(8, 11), TABLE, unknown, Counter()) == Admitted(unknown)
    assert admit(limits(7, 11), TABLE, unknown, Counter()).refusal
    assert admit(limits(8, 10), TABLE, unknown, Counter()).refusal
    assert admit(limits(0, 8), None, unknown, Counter()) == Admitted(unknown), "one limit is for new tables"
    assert admit(limits(0, 7), None, unknown, Counter()).refusal


def test_what_most_records_have_comes_first_member_by_member() -> None:
    unknown: dict[Path, Type] = {**{(f"c{n}",): STRING for n in range(9)}, ("st", "b"): TREE, ("zz",): STRING}
    b, element = ("st", "b"), ("st", "b", "element")
    counts = {**dict.fromkeys(unknown, 1), ("zz",): 40, b: 30, element: 30, (*element, "c"): 2, (*element, "d"): 29}
    admitted = admit(limits(4, 100), TABLE, unknown, seen(counts))
    assert list(admitted.fields.items()) == [(b, List(Struct((Field("d", STRING),)))), (("zz",), STRING)]
    assert list(admit(limits(1, 100), TABLE, unknown, seen(counts)).fields) == [("zz",)]
    assert list(admit(limits(2, 100), TABLE, unknown, seen(counts)).fields) == [("zz",)], "a list needs an element"


def test_columns_that_get_wider_cost_nothing() -> None:
    unknown: dict[Path, Type] = {("id",): Scalar("long"), ("x",): STRING, ("y",): STRING}
    admitted = admit(limits(1, 100), TABLE, unknown, Counter())
    assert dict(admitted.fields) == {("id",): Scalar("long"), ("x",): STRING}
    unknown = {("id",): Scalar("long"), ("ID",): STRING}
    assert admit(limits(10, 20), TABLE, unknown, Counter()).fields == {("id",): Scalar("long")}


def test_columns_of_a_new_table_have_the_order_of_the_records() -> None:
    columns: dict[Path, Type] = {("b",): STRING, ("big",): TREE, ("a",): STRING}
    assert list(admit(limits(1, 6), None, columns, Counter()).fields) == [("b",), ("big",), ("a",)]
    assert list(admit(limits(1, 3), None, columns, seen({("a",): 1})).fields) == [("b",), ("a",)]


def test_of_names_that_differ_in_case_only_that_of_most_records_becomes_a_column() -> None:
    unknown: dict[Path, Type] = {("KIND",): STRING, ("kind",): STRING, ("n",): STRING}
    counts = seen({("KIND",): 1, ("kind",): 99, ("n",): 1})
    for schema in (TABLE, None):
        assert list(admit(limits(10, 20), schema, unknown, counts).fields) == [("kind",), ("n",)]
        assert list(admit(limits(10, 20), schema, unknown, Counter()).fields) == [("KIND",), ("n",)]


def stored(made: Memory, records: list[Any], **config: str) -> Driver:
    """A connector that has stored records in one batch, in a new table."""
    made[0].send("t", [json.dumps(record).encode() for record in records])
    driver = Driver(*made, {**AUTO, **config})
    driver.drain()
    return driver


def reasons(made: Memory) -> Counter[str]:
    """Kinds of the dead letters, as a list of them counts."""
    letters = made[0].records("t-dlq", 0, 0, 10_000) if made[0].letters("t-dlq") else []
    return Counter(letter.kind for message in letters if (letter := read_letter(message)) is not None)


def types(made: Memory, name: str = LANDING) -> dict[str, str]:
    """Types of the columns, without ids."""
    return {field.name: str(field.field_type) for field in made[1].load_table(name).schema().fields}


def test_a_wide_record_makes_a_wide_table(none: Memory) -> None:
    driver = stored(none, [{f"f{n}": i for n in range(1501)} for i in range(5)])
    assert [(report.stored, report.dead_letters) for report in driver.reports] == [(5, 0)]
    assert len(types(none)) == 1501


def test_wide_records_of_many_kinds_make_structs(none: Memory) -> None:
    """As events with a payload of their own kind each; every kind comes again."""
    kinds = [{f"k{kind}_{n}": n if n % 2 else str(n) for n in range(40)} for kind in range(10)]
    stored(none, [{"id": i, "payload": kinds[i % 10]} for i in range(30)])
    assert not reasons(none)
    assert len(none[1].load_table(LANDING).schema().column_names) == 402


@pytest.mark.parametrize(
    ("value", "shown"),
    [("x", "x"), (7, "7"), ({"a": 1}, '{"a": 1}'), ([1], "[1]"), (True, "true")],
    ids=str,
)
def test_an_object_whose_keys_are_data_becomes_a_map(none: Memory, value: Any, shown: str) -> None:
    driver = stored(none, [{"id": i, "s": {"labels": {f"k{i}": value, "all": value}}} for i in range(30)])
    none[0].send("t", [json.dumps({"id": 30 + i, "s": {"labels": {f"new{i}": None}}}).encode() for i in range(30)])
    driver.drain()
    assert not reasons(none)
    labels = none[1].load_table(LANDING).schema().find_field("s.labels").field_type
    assert isinstance(labels, MapType)
    rows = {row["id"]: row["s"]["labels"] for row in driver.rows(LANDING)}
    assert rows[3] == [("k3", shown), ("all", shown)]
    assert rows[33] == [("new3", None)]


def test_the_keys_of_objects_in_lists_may_be_data(none: Memory) -> None:
    driver = stored(none, [{"l": [{"labels": {f"k{i}": "v"}}, {"labels": {}}]} for i in range(30)])
    assert {str(row["l"]) for row in driver.rows(LANDING)} == {
        str([{"labels": [(f"k{i}", "v")]}, {"labels": []}]) for i in range(30)
    }


@pytest.mark.parametrize(
    "config",
    [
        {"frazil.schema.path.labels.all": "string"},
        {"iceberg.tables.default-partition-by": "labels.all"},
        {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id,labels.all"},
    ],
)
def test_an_object_whose_members_are_named_stays_a_struct(config: dict[str, str]) -> None:
    labels = Struct((*(Field(f"k{n}", STRING) for n in range(30)), Field("all", STRING)))
    counts: dict[Path, int] = {("labels",): 30, ("labels", "all"): 30, **{("labels", f"k{n}"): 1 for n in range(30)}}
    named = iceberg_sink_config({**MINIMAL_SINK, **CREATE, **config})
    for chosen, type_ in ((named, labels), (iceberg_sink_config({**MINIMAL_SINK, **CREATE}), MAP)):
        assert admit(chosen, None, {("labels",): labels}, seen(counts)).fields == {("labels",): type_}


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([{f"k{n}": "v" for n in range(100)}], id="one record tells nothing"),
        pytest.param([{f"k{n}": "v" for n in range(100)}] * 3, id="they come again"),
        pytest.param([{f"k{i}_{n}": "v" for n in range(4)} for i in range(5)], id="they are few"),
        pytest.param(
            [{f"k{i}_{n}": {f"m{i}_{n}_{m}": 1 for m in range(4)} for n in range(6)} for i in range(5)],
            id="each has members of its own",
        ),
        pytest.param([{f"k{i}": i if i % 2 else "text"} for i in range(50)], id="values of several kinds"),
    ],
)
def test_other_objects_stay_structs(none: Memory, objects: list[Any]) -> None:
    stored(none, [{"id": i, "o": each} for i, each in enumerate(objects)])
    assert not reasons(none)
    assert types(none)["o"].startswith("struct<")


def test_objects_that_grow_with_the_records_make_room_for_the_others(none: Memory) -> None:
    records = [{"id": i, "n": {f"k{i}": 1, f"j{i}": 1}, "z": {"a": 1}} for i in range(6)]
    driver = stored(none, records, **{"frazil.schema.max.columns": "15"})
    assert not reasons(none)
    assert list(types(none)) == ["id", "n", "z"]
    assert {row["id"]: row["n"] for row in driver.rows(LANDING)}[4] == [("k4", "1"), ("j4", "1")]


def test_a_record_with_one_huge_object_is_stored(none: Memory) -> None:
    records = [{"id": 1, "o": {f"k{n}": n for n in range(101)}}, {"id": 2}]
    stored(none, records, **{"frazil.schema.max.columns": "100"})
    assert (len(types(none)), reasons(none)) == (2, Counter())


def test_tables_that_records_name_get_maps_too(none: Memory) -> None:
    none[0].send("t", [json.dumps({"to": "db.x", "labels": {f"k{i}": "v"}}).encode() for i in range(30)])
    Driver(*none, {**AUTO, **DYNAMIC}).drain()
    assert types(none, "db.x")["labels"].startswith("map<")


def test_one_cause_is_one_line_and_a_sample_says_the_same(none: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogs, "connect", lambda *_: none[1])
    records = [{"id": i, "o": {"a": 1, "b": 1}, "bag": {f"k{i % 3}_{n}": 1 for n in range(3)}} for i in range(9)]
    none[0].send("t", [json.dumps(record).encode() for record in records])
    driver = Driver(*none, {**AUTO, "frazil.schema.max.columns": "9"})
    messages = [one for part in none[0].read_ranges({("t", 0): 0}, {("t", 0): 9}) for one in part]
    told = [one.verdict for one in sample(driver.config, messages, 0).judged]
    driver.drain()
    assert sorted(row["id"] for row in driver.rows(LANDING)) == [0, 3, 6], "what most have, and the first of the others"
    assert told == ["dead letter" if i % 3 else "stored" for i in range(9)]
    none[0].send("t", [json.dumps({**record, "more": 1}).encode() for record in records])
    driver.drain()
    expected = (
        "the table can have no more columns: frazil.schema.max.columns allows 9, and frazil.schema.max.new.columns "
        "2,000 more at a time. Most are in bag: frazil.schema.path.bag=map or json makes it one column, of a table "
        "that is made with it"
    )
    assert reasons(none) == {expected: 12}, "one more column has room, for the records that need no other"
    assert sorted(row["id"] for row in driver.rows(LANDING) if row["more"] == 1) == [0, 3, 6]


def test_a_record_with_too_many_fields_for_a_table_is_refused_alone(none: Memory) -> None:
    driver = stored(none, [{"id": 1, "o": {"a": 1}}], **{"frazil.schema.max.new.columns": "20"})
    many = {f"k{n}": n for n in range(21)}
    none[0].send(
        "t", [json.dumps(each).encode() for each in ({"id": 2, **many}, {"id": 3, "o": many}, {"id": 4, "x": many})]
    )
    driver.drain()
    assert driver.column(LANDING) == [1, 4]
    which = "the record would bring more than 20 new columns, as frazil.schema.max.new.columns allows. Most are "
    assert sorted(reasons(none)) == [
        which + "fields of the records themselves: frazil.schema.path.<field>=ignore leaves one out",
        which + "in o: frazil.schema.path.o=map or json makes it one column, of a table that is made with it",
    ]
