from __future__ import annotations

import pathlib
import uuid
from collections.abc import Mapping, Set

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    DecimalType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from frazil.clients.catalog import connect
from frazil.connectors.iceberg.table.evolve import evolve, evolved, possible_columns, told_changes
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.errors import CommitConflict, ConfigError, FrazilError, ServiceUnavailable
from frazil.pipeline.convert.infer import Path, infer
from frazil.pipeline.types import STRING, Field, List, Scalar, Struct, Type
from tests.connectors.iceberg.conftest import MakeTable
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.connectors.iceberg.proxy import CatalogProxy, Fault

on_the_stack = pytest.mark.parametrize("catalog", [pytest.param("stack", marks=pytest.mark.stack)], indirect=True)

INT = Schema(NestedField(1, "ii", IntegerType()))
_STRUCT = StructType(NestedField(20, "ii", IntegerType()))
NESTED = Schema(
    NestedField(1, "st", _STRUCT),
    NestedField(2, "stli", ListType(3, StructType(NestedField(21, "ii", IntegerType())), False)),
    NestedField(4, "stma", MapType(5, StringType(), 6, StructType(NestedField(22, "ii", IntegerType())), False)),
)


@pytest.fixture(params=["memory", pytest.param("stack", marks=pytest.mark.stack)])
def catalog(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Catalog:
    """One in memory, and the real one."""
    if request.param == "memory":
        return MemoryCatalog(tmp_path, {})
    return connect(request.getfixturevalue("stack").settings.catalog_properties())


@pytest.fixture
def namespace(catalog: Catalog) -> str:
    name = f"sinks_{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(name)
    return name


def add(
    table: Table,
    unknown: Mapping[Path, Type],
    catalog: Catalog | None = None,
    absent: Set[Path] = frozenset(),
) -> Table:
    return evolve(catalog or table.catalog, table, unknown, absent)


def columns(table: Table) -> str:
    return str(struct_of(table.schema()))


def fifteen() -> Type:
    type_ = infer(
        b'{"i":1,"l":2,"d":"2023-11-15","t":"07:51","ts":"2023-05-18T11:22:33","tsz":"2023-05-18T11:22:33Z","fl":1.1,'
        b'"do":2.2,"dec":"1.5","s":"x","u":"f47ac10b-58cc-4372-a567-0e02b2c3d479","f":"AQID","b":"AQID","li":["a"],'
        b'"ma":{"k":"v"},"null":null}'
    )
    assert isinstance(type_, Struct)
    return type_


def test_names_that_differ_in_case_only_make_one_column() -> None:
    unknown: dict[Path, Type] = {
        ("ST",): STRING,
        ("new",): Struct((Field("a", STRING), Field("A", STRING))),
        ("NEW",): STRING,
    }
    assert possible_columns(NESTED, unknown) == {("NEW",): STRING}


def test_one_update_adds_every_inferred_column(make_table: MakeTable) -> None:
    table = make_table(INT)
    types = fifteen()
    assert isinstance(types, Struct)
    grown = add(table, {(f.name,): f.type for f in types.fields})
    assert len(grown.metadata.schemas) == 2
    found = {f.name: str(f.type) for f in struct_of(grown.schema()).fields}
    expected = dict.fromkeys(["d", "t", "ts", "tsz", "dec", "s", "u", "f", "b"], "string")
    expected |= {"i": "long", "l": "long", "fl": "double", "do": "double"}
    assert found == {"ii": "int", "li": "list<string>", "ma": "struct<k: string>"} | expected
    assert not any(f.required for f in grown.schema().fields)


def test_a_new_struct_is_one_column(make_table: MakeTable) -> None:
    grown = add(make_table(INT), {("st",): fifteen()})
    (_, st) = struct_of(grown.schema()).fields
    assert isinstance(st.type, Struct)
    assert len(st.type.fields) == 15


def test_members_of_structs_lists_and_maps(make_table: MakeTable) -> None:
    new: dict[Path, Type] = {("st", "x"): STRING, ("stli", "element", "st"): Struct((Field("y", Scalar("long")),))}
    new["stma", "value", "z"] = List(Scalar("double"))
    grown = add(make_table(NESTED), new)
    assert columns(grown) == (
        "struct<st: struct<ii: int, x: string>, stli: list<struct<ii: int, st: struct<y: long>>>,"
        " stma: map<string, struct<ii: int, z: list<double>>>>"
    )
    assert len(grown.metadata.schemas) == 2
    assert add(grown, new) is grown


def test_what_exists_keeps_its_type(make_table: MakeTable) -> None:
    grown = add(make_table(INT), {("ii",): STRING, ("s",): STRING})
    assert columns(grown) == "struct<ii: int, s: string>"


@on_the_stack
def test_nothing_unknown_is_no_update(make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog) -> None:
    table = proxied.load_table(make_table(INT).name())
    assert add(table, {}, proxied) is table
    assert add(table, {("ii",): STRING}, proxied) is table
    assert proxy.requested == 0


def test_another_writer_adds_the_same_column_meanwhile(make_table: MakeTable) -> None:
    stale = make_table(INT)
    add(stale.catalog.load_table(stale.name()), {("x",): Scalar("long"), ("other",): STRING})
    grown = add(stale, {("x",): Scalar("long"), ("y",): STRING})
    assert columns(grown) == "struct<ii: int, other: string, x: long, y: string>"


@pytest.mark.parametrize(
    "faults", [["500 after"], ["close after"], ["503 before"], ["409 before", "500 before"]], ids=str
)
@on_the_stack
def test_a_lost_answer(make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog, faults: list[Fault]) -> None:
    table = proxied.load_table(make_table(INT).name())
    proxy.faults = list(faults)
    grown = add(table, {("x",): STRING}, proxied)
    assert columns(grown) == "struct<ii: int, x: string>"
    assert (proxy.faults, proxy.commits, len(grown.metadata.schemas)) == ([], 1, 2)


@on_the_stack
@pytest.mark.parametrize(("fault", "error"), [("409 before", CommitConflict), ("500 before", CommitConflict)])
def test_attempts_end(
    make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog, fault: Fault, error: type[FrazilError]
) -> None:
    table = proxied.load_table(make_table(INT).name())
    proxy.faults = [fault] * 10
    with pytest.raises(error, match="nothing was written, the batch will be read again"):
        add(table, {("x",): STRING}, proxied)
    assert (proxy.requested, proxy.commits) == (3, 0)


@on_the_stack
def test_a_catalog_that_is_gone(make_table: MakeTable, proxy: CatalogProxy, proxied: Catalog) -> None:
    table = proxied.load_table(make_table(INT).name())
    proxy.down = True
    with pytest.raises(ServiceUnavailable, match="did not confirm new columns .* nothing was written"):
        add(table, {("x",): STRING}, proxied)


@pytest.mark.parametrize("name", ["a.b", 'a"b', "a\\b", "a\nb", "Ij", "東京", "x" * 300, " ", "element", "value"])
def test_names_of_any_kind(make_table: MakeTable, name: str) -> None:
    grown = add(make_table(INT), {(name,): STRING, ("s",): Struct((Field(name, Scalar("long")),))})
    assert [f.name for f in struct_of(grown.schema()).fields] == ["ii", *sorted([name, "s"])]
    assert add(grown, {(name,): STRING, ("s", name): Scalar("long")}) is grown


@on_the_stack
def test_a_name_that_iceberg_cannot_have(make_table: MakeTable) -> None:
    """Iceberg finds columns by their dotted names, so a table cannot have both; nor one without a name."""
    table = make_table(NESTED)
    assert add(table, {("st.ii",): STRING}) is table
    with pytest.raises(ConfigError, match="cannot have a column for one of the unknown fields ''.*Nothing was"):
        add(table, {("",): STRING})
    assert columns(table.refresh()) == columns(table)


def test_a_deep_type(make_table: MakeTable) -> None:
    type_ = infer(b'{"a":[' * 40 + b"1" + b"]}" * 40)
    assert type_ is not None
    grown = add(make_table(INT), {("deep",): type_})
    assert columns(grown) == f"struct<ii: int, deep: {type_}>"


def test_ids_of_old_columns_stay(make_table: MakeTable) -> None:
    table = make_table(Schema(NestedField(1, "a", LongType()), NestedField(2, "b", LongType())))
    grown = add(table, {("c",): STRING})
    assert {f.name: f.field_id for f in grown.schema().fields} == {"a": 1, "b": 2, "c": 3}


def test_of_names_that_collide_the_first_becomes_a_column(make_table: MakeTable) -> None:
    """The records with the other ones are dead letters when they are read again, for want of a possible column."""
    both = Struct((Field("a.b", Scalar("long")), Field("a", Struct((Field("b", Scalar("long")),)))))
    unknown: dict[tuple[str, ...], Type] = {
        ("x.b",): Scalar("long"),
        ("x",): Struct((Field("b", Scalar("long")),)),
        ("y",): both,
        ("l.element",): Scalar("long"),
        ("l",): List(Scalar("long")),
    }
    grown = add(make_table(INT), unknown)
    assert columns(grown) == "struct<ii: int, l: list<long>, x: struct<b: long>, y: struct<a.b: long>>"
    assert add(grown, unknown) is grown


NARROW = Schema(
    NestedField(1, "i", IntegerType(), required=True),
    NestedField(2, "f", FloatType()),
    NestedField(3, "d", DecimalType(9, 2)),
    NestedField(4, "s", StringType(), required=True),
    NestedField(5, "st", StructType(NestedField(6, "i", IntegerType(), required=True)), required=True),
    NestedField(7, "li", ListType(8, IntegerType(), True), required=True),
)


def test_one_update_adds_widens_and_loosens(make_table: MakeTable) -> None:
    table = make_table(NARROW)
    unknown: dict[Path, Type] = {
        ("new",): STRING,
        ("i",): Scalar("long"),
        ("f",): Scalar("double"),
        ("d",): Scalar("decimal", precision=12, scale=2),
        ("st", "i"): Scalar("long"),
        ("li", "element"): Scalar("long"),
    }
    absent: set[Path] = {("s",), ("st", "i"), ("li", "element"), ("i",)}
    now = add(table, unknown, absent=absent)
    assert columns(now) == (
        "struct<i: long, f: double, d: decimal(12,2), s: string, st: struct<i: long>, li: list<long>, new: string>"
    )
    schema = now.schema()
    required = [name for name in schema.column_names if schema.find_field(name).required]
    assert sorted(required) == ["li", "st"]
    assert len(now.metadata.schemas) == 2
    assert evolved(table, unknown, absent).as_struct() == schema.as_struct()
    assert add(now, unknown, absent=absent).schema() == schema


def test_other_types_stay_as_they_are(make_table: MakeTable) -> None:
    table = make_table(NARROW)
    unknown: dict[Path, Type] = {
        ("i",): STRING,
        ("f",): Scalar("long"),
        ("d",): Scalar("decimal", precision=12, scale=3),
        ("s",): Scalar("long"),
        ("st",): STRING,
    }
    assert add(table, unknown).schema() == table.schema()


def test_columns_that_identify_rows_stay_required(make_table: MakeTable) -> None:
    inner = NestedField(2, "id", LongType(), required=True)
    schema = Schema(
        NestedField(1, "key", StructType(inner), required=True),
        NestedField(3, "other", LongType(), required=True),
        identifier_field_ids=[2],
    )
    table = make_table(schema)
    now = add(table, {}, absent={("key",), ("key", "id"), ("other",)})
    required = [name for name in now.schema().column_names if now.schema().find_field(name).required]
    assert sorted(required) == ["key", "key.id"]
    struct = struct_of(now.schema())
    assert struct.fields[0].firm
    assert isinstance(struct.fields[0].type, Struct)
    assert struct.fields[0].type.fields[0].firm
    assert not struct.fields[1].firm


def test_changes_of_a_schema_are_told() -> None:
    before = Schema(
        NestedField(1, "a", IntegerType(), required=True),
        NestedField(2, "s", StructType(NestedField(3, "x", LongType(), required=True)), required=True),
    )
    now = Schema(
        NestedField(1, "a", LongType(), required=True),
        NestedField(
            2, "s", StructType(NestedField(3, "x", LongType()), NestedField(4, "y", StringType())), required=True
        ),
    )
    assert told_changes(before, before) == ""
    assert told_changes(before, now) == (
        "column a is long now, not int, column s.x is optional now, new column s.y string"
    )
