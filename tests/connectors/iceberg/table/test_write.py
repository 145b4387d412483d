from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import EqualTo, IsNull, Reference
from pyiceberg.io import OutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter, PartitionKey, store_file
from frazil.errors import ConfigError, ServiceUnavailable
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable, written
from tests.connectors.iceberg.driver import CREATE, TABLE, Driver, Memory, memory, record

LOGS = Schema(
    NestedField(1, "time", TimestamptzType()),
    NestedField(2, "bucket", StringType()),
    NestedField(3, "n", LongType()),
    NestedField(4, "inner", StructType(NestedField(5, "kind", StringType()))),
)
DAY_AND_BUCKET = PartitionSpec(
    PartitionField(1, 1000, DayTransform(), "time_day"), PartitionField(2, 1001, IdentityTransform(), "bucket")
)
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NIGHT = datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)
NEXT = datetime(2026, 2, 1, tzinfo=UTC)


def rows(schema: Schema, values: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(values, schema=arrow_schema(struct_of(schema)))


def write(
    folder: Path,
    schema: Schema,
    spec: PartitionSpec,
    table: pa.Table,
    properties: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
) -> list[DataFile]:
    """Files of a table whose metadata is nowhere but here."""
    metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, folder.as_uri(), dict(properties or {}))
    writer = DataFileWriter(metadata.model_dump_json(), (), tuple((overrides or {}).items()))
    return written(pickle.loads(pickle.dumps(writer)), table)  # noqa: S301 - our own


def by_partition(files: list[DataFile]) -> dict[tuple[Any, ...], DataFile]:
    return {tuple(file.partition[i] for i in range(len(file.partition))): file for file in files}


def content(file: DataFile) -> pa.Table:
    return pq.read_table(file.file_path.removeprefix("file://"), partitioning=None)


def test_rows_go_to_one_file_per_partition_in_their_order(tmp_path: Path) -> None:
    values = [(NOON, "a", 0), (NEXT, "a", 1), (NOON, "b", 2), (NIGHT, "a", 3), (None, "a", 4), (NOON, None, 5)]
    values += [(None, None, 6), (NOON, "a", 7), (None, "a", 8), (NOON, "", 9)]
    table = rows(LOGS, [{"time": t, "bucket": b, "n": n} for t, b, n in values])
    files = by_partition(write(tmp_path, LOGS, DAY_AND_BUCKET, table))
    found = {key: content(file).column("n").to_pylist() for key, file in files.items()}
    day = (date(2026, 1, 31) - date(1970, 1, 1)).days
    assert found == {
        (day, "a"): [0, 3, 7],
        (day + 1, "a"): [1],
        (day, "b"): [2],
        (None, "a"): [4, 8],
        (day, None): [5],
        (None, None): [6],
        (day, ""): [9],
    }
    assert all(file.record_count == len(found[key]) for key, file in files.items())


def test_an_unpartitioned_table_gets_one_file(tmp_path: Path) -> None:
    table = rows(LOGS, [{"n": n} for n in range(5)])
    (file,) = write(tmp_path, LOGS, UNPARTITIONED_PARTITION_SPEC, pa.concat_tables([table, table]))
    assert (file.record_count, len(file.partition)) == (10, 0)
    assert content(file).column("n").to_pylist() == [*range(5), *range(5)]


def test_a_member_of_a_struct_can_be_the_partition(tmp_path: Path) -> None:
    spec = PartitionSpec(PartitionField(5, 1000, IdentityTransform(), "kind"))
    values: list[dict[str, Any]] = [{"n": 1, "inner": {"kind": "x"}}, {"n": 2}, {"n": 3, "inner": {"kind": "x"}}]
    files = by_partition(write(tmp_path, LOGS, spec, rows(LOGS, [*values, {"n": 4, "inner": {"kind": None}}])))
    assert {key: content(f).column("n").to_pylist() for key, f in files.items()} == {("x",): [1, 3], (None,): [2, 4]}


TRANSFORMS: list[tuple[IcebergType, Transform[Any, Any], Any, Any]] = [
    (TimestamptzType(), DayTransform(), NOON, 20484),
    (TimestamptzType(), HourTransform(), NOON, 20484 * 24 + 12),
    (TimestamptzType(), MonthTransform(), NOON, 56 * 12),
    (TimestamptzType(), YearTransform(), NOON, 56),
    (TimestamptzType(), IdentityTransform(), NOON, int(NOON.timestamp()) * 1_000_000),
    (TimestampType(), DayTransform(), datetime(1969, 12, 31, 23), -1),
    (DateType(), IdentityTransform(), date(2026, 1, 31), 20484),
    (DateType(), MonthTransform(), date(1969, 12, 31), -1),
    (StringType(), TruncateTransform(2), "été", "ét"),
    (StringType(), BucketTransform(16), "iceberg", 1210000089 % 16),
    (LongType(), TruncateTransform(10), -1, -10),
    (LongType(), BucketTransform(16), 34, 2017239379 % 16),
    (IntegerType(), IdentityTransform(), -7, -7),
    (BooleanType(), IdentityTransform(), False, False),
    (DecimalType(9, 2), IdentityTransform(), Decimal("1.50"), Decimal("1.50")),
    (DecimalType(9, 2), TruncateTransform(50), Decimal("10.65"), Decimal("10.50")),
    (TimeType(), IdentityTransform(), 28_290_888_000, 28_290_888_000),
    (UUIDType(), IdentityTransform(), uuid.UUID(int=5).bytes, uuid.UUID(int=5).bytes),
    (FixedType(3), IdentityTransform(), b"abc", b"abc"),
]


@pytest.mark.parametrize(("type_", "transform", "value", "partition"), TRANSFORMS, ids=str)
def test_partition_values(
    tmp_path: Path, type_: IcebergType, transform: Transform[Any, Any], value: Any, partition: Any
) -> None:
    schema = Schema(NestedField(1, "v", type_), NestedField(2, "n", LongType()))
    spec = PartitionSpec(PartitionField(1, 1000, transform, "p"))
    table = rows(schema, [{"v": value, "n": 1}, {"v": None, "n": 2}, {"v": value, "n": 3}])
    files = by_partition(write(tmp_path, schema, spec, table))
    assert {key: content(f).column("n").to_pylist() for key, f in files.items()} == {(partition,): [1, 3], (None,): [2]}


@pytest.mark.parametrize("transform", [DayTransform(), HourTransform(), MonthTransform(), YearTransform()], ids=str)
@pytest.mark.parametrize("micros", [253_402_300_799_999_999, -62_135_596_800_000_000], ids=["9999", "1"])
def test_the_first_and_the_last_time(tmp_path: Path, transform: Transform[Any, Any], micros: int) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, transform, "p"))
    table = rows(LOGS, [{"time": micros, "n": 1}, {"time": NOON, "n": 2}])
    files = write(tmp_path, LOGS, spec, table)
    assert sorted(content(file).column("n").to_pylist() for file in files) == [[1], [2]]


def test_many_partitions_with_several_fields(tmp_path: Path) -> None:
    names = [f"f{i}" for i in range(4)]
    schema = Schema(*(NestedField(i + 1, name, LongType()) for i, name in enumerate(names)))
    spec = PartitionSpec(*(PartitionField(i + 1, 1000 + i, TruncateTransform(5), f"p{i}") for i in range(4)))
    rng = np.random.default_rng(1)
    values = rng.integers(0, 10, size=(500, 4)).tolist()
    files = write(tmp_path, schema, spec, rows(schema, [dict(zip(names, row, strict=True)) for row in values]))
    assert len(files) == 16
    for file in files:
        for i, name in enumerate(names):
            assert {value // 5 * 5 for value in content(file).column(name).to_pylist()} == {file.partition[i]}


def test_rows_of_several_additions_share_a_file(tmp_path: Path) -> None:
    for limit in (1 << 30, 5_000, 1):
        metadata = new_table_metadata(LOGS, DAY_AND_BUCKET, UNSORTED_SORT_ORDER, tmp_path.as_uri(), {})
        writer = DataFileWriter(metadata.model_dump_json(), ()).open()
        for n in range(0, 100, 4):
            values = [{"time": NOON, "bucket": f"b{i % 3}", "n": i} for i in range(n, n + 4)]
            writer.add(rows(LOGS, values))
            while writer.waiting_bytes > limit:
                writer.encode_largest()
        files = by_partition(writer.close())
        found = {key[1]: content(file).column("n").to_pylist() for key, file in files.items()}
        assert found == {f"b{i}": list(range(i, 100, 3)) for i in range(3)}
        assert sum(file.record_count for file in files.values()) == 100


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    metadata = new_table_metadata(LOGS, DAY_AND_BUCKET, UNSORTED_SORT_ORDER, tmp_path.as_uri(), {})
    assert DataFileWriter(metadata.model_dump_json(), ()).open().close() == []


def test_statistics_are_those_of_the_rows(tmp_path: Path) -> None:
    schema = Schema(
        NestedField(1, "n", LongType()),
        NestedField(2, "s", StringType()),
        NestedField(3, "t", TimestamptzType()),
        NestedField(4, "d", DoubleType()),
        NestedField(5, "m", MapType(8, StringType(), 9, LongType(), False)),
        NestedField(6, "l", ListType(10, LongType(), False)),
        NestedField(7, "x", DecimalType(9, 2)),
    )
    values: list[dict[str, Any]] = [
        {"n": 5, "s": "é" * 40, "t": NOON, "d": -0.5, "m": {"k": 1, "j": None}, "l": [4, 9], "x": Decimal("-1.50")},
        {"n": -3, "s": "a", "t": None, "d": 2.5, "m": {}, "l": [], "x": Decimal("7.25")},
        {"n": None, "s": None, "t": NEXT, "d": None, "m": None, "l": None, "x": None},
    ]
    (file,) = write(tmp_path, schema, UNPARTITIONED_PARTITION_SPEC, rows(schema, values))
    assert (file.record_count, file.file_format, file.sort_order_id) == (3, FileFormat.PARQUET, None)
    assert file.file_size_in_bytes == Path(file.file_path.removeprefix("file://")).stat().st_size
    assert {i: file.null_value_counts[i] for i in (1, 2, 3, 4, 7)} == dict.fromkeys((1, 2, 3, 4, 7), 1)
    assert {i: file.value_counts[i] for i in (1, 2, 3, 4, 7)} == dict.fromkeys((1, 2, 3, 4, 7), 3)

    def bounds(column: int) -> tuple[Any, Any]:
        field = schema.find_field(column).field_type
        assert field.is_primitive
        low, high = file.lower_bounds[column], file.upper_bounds[column]
        return from_bytes(field, low), from_bytes(field, high)  # type: ignore[arg-type]

    assert bounds(1) == (-3, 5)
    assert bounds(2) == ("a", "é" * 15 + "ê")
    assert bounds(3) == (int(NOON.timestamp()) * 1_000_000, int(NEXT.timestamp()) * 1_000_000)
    assert bounds(4) == (-0.5, 2.5)
    assert bounds(7) == (Decimal("-1.50"), Decimal("7.25"))


def test_parquet_files_carry_field_ids_and_zstd(tmp_path: Path) -> None:
    (file,) = write(tmp_path, LOGS, UNPARTITIONED_PARTITION_SPEC, rows(LOGS, [{"n": 1, "inner": {"kind": "x"}}]))
    parquet = pq.ParquetFile(file.file_path.removeprefix("file://"))
    arrow = parquet.schema_arrow
    ids = {f.name: f.metadata[b"PARQUET:field_id"] for f in [*arrow, arrow.field("inner").type.field(0)]}
    assert ids == {"time": b"1", "bucket": b"2", "n": b"3", "inner": b"4", "kind": b"5"}
    group = parquet.metadata.row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {"ZSTD"}


@pytest.mark.parametrize(
    ("properties", "overrides", "codec"),
    [
        ({}, {}, "ZSTD"),
        ({"write.parquet.compression-codec": "gzip"}, {}, "GZIP"),
        ({"write.parquet.compression-codec": "gzip"}, {"write.parquet.compression-codec": "snappy"}, "SNAPPY"),
        ({"write.parquet.compression-codec": "uncompressed"}, {}, "UNCOMPRESSED"),
        ({"write.parquet.compression-codec": "zstd", "write.parquet.compression-level": "9"}, {}, "ZSTD"),
        ({"write.parquet.compression-codec": "gzip", "write.parquet.compression-level": "null"}, {}, "GZIP"),
    ],
    ids=str,
)
def test_the_codec_of_the_table_or_the_connector(
    tmp_path: Path, properties: dict[str, str], overrides: dict[str, str], codec: str
) -> None:
    table = rows(LOGS, [{"n": 1}])
    (file,) = write(tmp_path, LOGS, UNPARTITIONED_PARTITION_SPEC, table, properties, overrides)
    group = pq.ParquetFile(file.file_path.removeprefix("file://")).metadata.row_group(0)
    assert group.column(0).compression == codec


BUCKET = Reference("bucket")
ODD_NAMES = [
    "plain",
    "with space",
    "a/b",
    "100%",
    "%2F",
    "a=b&c",
    "Ünïcødé-東京",
    "a+b",
    "..",
    ".",
    "?#*",
    "\\",
    "'",
    None,
]
AWKWARD_NAMES = ["", "x" * 1500, "é" * 400, "a\0b", "\n", "\U0001f600"]


@pytest.mark.stack
@pytest.mark.parametrize(
    "names", [ODD_NAMES, *([name] for name in AWKWARD_NAMES)], ids=lambda names: ascii(names[0])[:12]
)
@pytest.mark.parametrize("object_paths", ["true", "false"], ids=["hashed paths", "hive paths"])
def test_odd_partition_values_are_read_back_by_others(
    stack: LocalStack, make_table: MakeTable, object_paths: str, names: list[str | None]
) -> None:
    properties = {"write.object-storage.enabled": object_paths, "write.object-storage.partitioned-paths": "true"}
    table = make_table(LOGS, DAY_AND_BUCKET, properties)
    values = [{"time": NOON, "bucket": name, "n": n} for n, name in enumerate(names)]
    writer = DataFileWriter(table.metadata.model_dump_json(), tuple(sorted(table.io.properties.items())))
    files = written(writer, rows(table.schema(), values))
    assert len(files) == len(names)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)
    expected = [{"time": NOON, "bucket": name, "n": n, "inner": None} for n, name in enumerate(names)]
    assert sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["n"]) == expected
    for n, name in enumerate(names):
        scan = table.scan(row_filter=IsNull(BUCKET) if name is None else EqualTo(BUCKET, name))  # type: ignore[call-arg, arg-type]
        assert scan.to_arrow().column("n").to_pylist() == [n]
        assert len(list(scan.plan_files())) == 1
    assert read_with_duckdb(stack, table) == [(n, name) for n, name in enumerate(names)]


def read_with_duckdb(stack: LocalStack, table: Table) -> list[tuple[int, str | None]]:
    """Rows of the table's files, read by another Parquet reader through another S3 client."""
    settings = stack.settings
    paths = [task.file.file_path for task in table.scan().plan_files()]
    found: list[tuple[int, str | None]] = []
    for path in paths:
        with table.io.new_input(path).open() as stream:
            data = stream.read()
        copy = settings.home / f"{uuid.uuid4()}.parquet"
        copy.write_bytes(data)
        found += duckdb.read_parquet(str(copy), hive_partitioning=False).project("n, bucket").fetchall()
    return sorted(found)


@pytest.mark.stack
def test_a_uuid_is_read_back_as_one(make_table: MakeTable) -> None:
    table = make_table(Schema(NestedField(1, "u", UUIDType()), NestedField(2, "n", LongType())))
    value = uuid.UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
    writer = DataFileWriter(table.metadata.model_dump_json(), tuple(sorted(table.io.properties.items())))
    files = written(writer, rows(table.schema(), [{"u": value.bytes, "n": 1}, {"n": 2}]))
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(files[0])
    found = table.refresh().scan().to_arrow().column("u").to_pylist()
    assert [uuid.UUID(bytes=v) if isinstance(v, bytes) else v for v in found] == [value, None]


@pytest.mark.stack
def test_an_object_store_that_refuses(make_table: MakeTable) -> None:
    table = make_table()
    properties = {**table.io.properties, "s3.secret-access-key": "wrong"}
    writer = DataFileWriter(table.metadata.model_dump_json(), tuple(sorted(properties.items())))
    with pytest.raises(ConfigError, match="the object store refused .* Nothing was committed"):
        written(writer, rows(table.schema(), [{"id": 1}]))


@pytest.mark.stack
def test_an_object_store_that_is_away(make_table: MakeTable) -> None:
    table = make_table()
    properties = {**table.io.properties, "s3.endpoint": "http://127.0.0.1:1", "s3.connect-timeout": "1"}
    writer = DataFileWriter(table.metadata.model_dump_json(), tuple(sorted(properties.items())))
    with pytest.raises(ServiceUnavailable, match="the object store did not take .* Nothing was committed"):
        written(writer, rows(table.schema(), [{"id": 1}]))


@pytest.mark.parametrize(
    ("said", "error"), [("AWS Error ACCESS_DENIED", ConfigError), ("curlCode: 28", ServiceUnavailable)]
)
def test_a_store_that_refuses_a_file_is_told_from_one_that_fails(
    monkeypatch: pytest.MonkeyPatch, said: str, error: type[Exception]
) -> None:
    def refuse(io: PyArrowFileIO, location: str) -> OutputFile:
        raise OSError(said)

    monkeypatch.setattr(PyArrowFileIO, "new_output", refuse)
    with pytest.raises(error, match="the object store .* s3://b/f-deletes.parquet: .* Nothing was committed"):
        store_file(PyArrowFileIO(), "s3://b/f-deletes.parquet", pa.py_buffer(b"rows"))


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


def test_a_column_whose_values_hardly_repeat_has_no_dictionary(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "kind", StringType()))
    values = [{"id": n, "kind": f"k{n % 7}"} for n in range(5_000)]
    (file,) = write(tmp_path, schema, UNPARTITIONED_PARTITION_SPEC, rows(schema, values))
    group = pq.ParquetFile(file.file_path.removeprefix("file://")).metadata.row_group(0)
    assert [group.column(number).has_dictionary_page for number in range(2)] == [False, True]
    assert content(file).to_pylist() == values
