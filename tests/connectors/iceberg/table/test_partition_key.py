"""Partitions of data files: several fields of one column, void ones, specs that change, names of folders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    VoidTransform,
)
from pyiceberg.types import DateType, LongType, NestedField, StringType, StructType

from frazil.connectors.iceberg.table.partition_key import PartitionKey
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.pipeline.convert.arrow import arrow_schema
from tests.connectors.iceberg.conftest import MakeTable, written
from tests.connectors.iceberg.driver import CREATE, TABLE, Driver, Memory, memory, record

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "name", StringType()),
    NestedField(3, "d", DateType()),
)


@pytest.fixture
def empty() -> Iterator[Memory]:
    with memory({}) as made:
        yield made


def partitions(table: Table) -> list[tuple[Any, ...]]:
    """Values of the partitions of the data files, sorted by their text."""
    found = [task.file.partition for task in table.scan().plan_files()]
    return sorted((tuple(one[i] for i in range(len(one))) for one in found), key=str)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("bucket(name,4), truncate(name,1)", [(0, "a"), (2, "a"), (3, "b")]),
        ("truncate(name,2), name", [("ab", "abc"), ("ad", "ade"), ("b", "b")]),
        ("truncate(name,1), bucket(id,2), name", [("a", 0, "abc"), ("a", 0, "ade"), ("b", 1, "b")]),
    ],
)
def test_a_new_table_may_have_several_fields_of_one_column(
    empty: Memory, terms: str, expected: list[tuple[Any, ...]]
) -> None:
    broker, catalog = empty
    driver = Driver(broker, catalog, {**CREATE, "iceberg.tables.default-partition-by": terms})
    broker.send("t", [record(1, name="abc"), record(2, name="ade"), record(3, name="b")])
    driver.drain()
    table = catalog.load_table(TABLE)
    assert partitions(table) == expected
    assert driver.column(TABLE) == [1, 2, 3]
    assert table.scan("name == 'ade'").to_arrow().column("id").to_pylist() == [2]


def test_void_fields_of_a_table_of_version_1(empty: Memory) -> None:
    broker, catalog = empty
    fields = [
        PartitionField(2, 1000, VoidTransform(), "name_bucket"),
        PartitionField(2, 1001, TruncateTransform(1), "name_trunc"),
        PartitionField(3, 1002, VoidTransform(), "d_day"),
        PartitionField(3, 1003, MonthTransform(), "d_month"),
    ]
    catalog.create_table(TABLE, SCHEMA, partition_spec=PartitionSpec(*fields), properties={"format-version": "1"})
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1, name="abc", d="2026-02-03"), record(2)])
    driver.drain()
    assert partitions(catalog.load_table(TABLE)) == [(None, "a", None, 673), (None, None, None, None)]
    assert driver.column(TABLE) == [1, 2]


def test_a_spec_that_changes_while_the_connector_runs(empty: Memory) -> None:
    broker, catalog = empty
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))
    catalog.create_table(TABLE, SCHEMA, partition_spec=spec)
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1, name="abc")])
    driver.drain()

    def change() -> None:
        with catalog.load_table(TABLE).update_spec() as update:
            update.remove_field("name")
            update.add_field("name", BucketTransform(4), "name_b")
            update.add_field("name", TruncateTransform(1), "name_t")

    catalog.meanwhile = change
    for number in (2, 3):
        broker.send("t", [record(number, name="ade")])
        driver.drain()
    assert driver.column(TABLE) == [1, 2, 3]
    assert partitions(catalog.load_table(TABLE)) == [("abc",), ("ade",), (0, "a")]


@pytest.mark.parametrize(
    ("name", "folder"), [("m.c", "m_c"), ("a-b", "a_b"), ("größe", "gr__e"), ("1a", "_1a"), ("userId", "userId")]
)
def test_folders_have_names_that_every_store_takes(empty: Memory, name: str, folder: str) -> None:
    broker, catalog = empty
    driver = Driver(broker, catalog, {**CREATE, "iceberg.tables.default-partition-by": name})
    broker.send("t", [record(1, **{name: "ä/b"})])
    driver.drain()
    (task,) = catalog.load_table(TABLE).scan().plan_files()
    assert task.file.file_path.split("/")[-2] == f"{folder}=%C3%A4%2Fb"
    assert driver.rows(TABLE) == [{"id": 1, name: "ä/b"}]


@pytest.mark.stack
@pytest.mark.parametrize("name", ["m.c", "a-b", "größe", "1a", "a b", "$x"])
def test_the_store_takes_files_of_columns_with_any_name(make_table: MakeTable, name: str) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), name))
    table = make_table(Schema(NestedField(1, name, StringType())), spec)
    rows = pa.table({name: ["x y", "größe/1", "", None]}, schema=arrow_schema(struct_of(table.schema())))
    writer = DataFileWriter(table.metadata.model_dump_json(), tuple(table.io.properties.items()))
    assert len(written(writer, rows)) == 4


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ((20_487, "b"), "d_day=2026-02-03/m_n=b"),
        ((20_487, None), "d_day=2026-02-03/m_n=null"),
        ((20_487, ""), None),
        ((20_487, "x" * 500), None),
    ],
)
def test_folders_stand_in_the_location_where_they_can(values: tuple[Any, ...], path: str | None) -> None:
    schema = Schema(NestedField(1, "d", DateType()), NestedField(2, "m", StructType(NestedField(3, "n", StringType()))))
    spec = PartitionSpec(
        PartitionField(1, 1000, DayTransform(), "d_day"), PartitionField(3, 1001, IdentityTransform(), "m.n")
    )
    key = PartitionKey.of(values, spec, schema)
    assert key.fits_into_path() is (path is not None)
    assert path is None or key.to_path() == path
    assert key.partition[1] == values[1]


def test_no_partition_has_no_folder() -> None:
    key = PartitionKey.of((), PartitionSpec(), SCHEMA)
    assert (key.fits_into_path(), len(key.partition)) == (False, 0)
