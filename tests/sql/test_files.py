from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import (
    BinaryType,
    FixedType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    UUIDType,
)

from frazil.clients.data_files import arrow_schema, read_batches, read_table
from frazil.minio.records.shown import shown_columns
from frazil.sql.summary import summarise
from tests.sql.conftest import NAMESPACE, START, LogTables, append_as_frazil

pytestmark = pytest.mark.stack

TEXTS: list[IcebergType] = [
    StringType(),
    BinaryType(),
    FixedType(2),
    UUIDType(),
    ListType(101, StringType(), element_required=False),
    MapType(102, StringType(), 103, ListType(104, StringType(), element_required=False), value_required=False),
    StructType(NestedField(105, "note", StringType()), NestedField(106, "bytes", BinaryType())),
]
SCHEMA = Schema(
    NestedField(1, "time", TimestamptzType(), required=True),
    NestedField(2, "id", LongType(), required=True),
    *(NestedField(i, f"c{i}", kind, required=False) for i, kind in enumerate(TEXTS, 3)),
)
VALUES: list[Any] = [
    "ø",
    b"\0\xff",
    b"ab",
    b"0123456789abcdef",
    ["a", None],
    [("k", ["v", None])],
    {"note": "n", "bytes": b"b"},
]


def row(number: int) -> dict[str, Any]:
    values: list[Any] = VALUES if number % 3 else [None] * len(VALUES)
    return {"time": START, "id": number} | {f"c{i}": value for i, value in enumerate(values, 3)}


@pytest.fixture(scope="module")
def mixed(log_tables: LogTables) -> Iterator[Table]:
    """A table with a file from PyIceberg (ids 0 to 3) and one from frazil's writer (ids 4 to 7)."""
    table = log_tables.catalog.create_table((NAMESPACE, "mixed"), SCHEMA)
    schema = arrow_schema(table.schema())
    table.append(pa.Table.from_pylist([row(number) for number in range(4)], schema=schema))
    append_as_frazil(table, [row(number) for number in range(4, 8)])
    yield log_tables.catalog.load_table((NAMESPACE, "mixed"))
    log_tables.catalog.drop_table((NAMESPACE, "mixed"))


@pytest.fixture
def tasks(mixed: Table) -> list[FileScanTask]:
    return list(mixed.scan().plan_files())


def test_the_files_hold_text_in_different_arrow_types(mixed: Table, tasks: list[FileScanTask]) -> None:
    kinds = set()
    for task in tasks:
        with mixed.io.new_input(task.file.file_path).open() as file:
            kinds.add(pq.read_schema(file).field("c3").type)
    assert kinds == {pa.string(), pa.large_string()}


def test_batches_of_all_files_have_one_schema(mixed: Table, tasks: list[FileScanTask]) -> None:
    batches = list(read_batches(mixed, tasks, mixed.schema()))
    assert len(batches) == 2
    assert {batch.schema for batch in batches} == {arrow_schema(mixed.schema())}


def test_no_value_changes(mixed: Table, tasks: list[FileScanTask]) -> None:
    rows = read_table(mixed, tasks, mixed.schema()).to_pylist()
    assert sorted(rows, key=lambda found: found["id"]) == read_back([row(number) for number in range(8)], mixed)


def read_back(rows: list[dict[str, Any]], table: Table) -> list[dict[str, Any]]:
    """The values as Arrow gives them (uuid as UUID, for one)."""
    return list(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema())).to_pylist())


def test_filter_limit_and_projection(mixed: Table, tasks: list[FileScanTask]) -> None:
    projection = mixed.schema().select("id", "c3")
    assert read_table(mixed, tasks, projection, EqualTo(term=Reference("id"), value=literal(5))).to_pylist() == [
        {"c3": "ø", "id": 5}
    ]
    assert read_table(mixed, tasks, projection, limit=3).num_rows == 3
    assert read_table(mixed, [], projection).schema == arrow_schema(projection)


@pytest.mark.parametrize("count", [3, 8, 20])
def test_the_newest_rows_span_files_of_both(mixed: Table, log_tables: LogTables, count: int) -> None:
    summary = summarise(log_tables.catalog, NAMESPACE, "mixed", count, shown_columns, last=True)
    assert summary.newest.row_count == min(count, 8)
    assert summary.last is not None


def test_sql_reads_files_of_both(mixed: Table, log_tables: LogTables) -> None:
    sql = "SELECT id, c3, c7, c8, c9.note FROM mixed WHERE c3 IS NOT NULL ORDER BY id"
    expected = [(n, "ø", ["a", None], {"k": ["v", None]}, "n") for n in range(8) if n % 3]
    assert log_tables.answer(sql) == expected


def test_a_file_that_cannot_be_read(mixed: Table, tasks: list[FileScanTask]) -> None:
    mixed.io.delete(tasks[0].file.file_path)
    with pytest.raises(OSError, match=r"Path does not exist|NOT_FOUND|404"):
        read_table(mixed, tasks, mixed.schema())
