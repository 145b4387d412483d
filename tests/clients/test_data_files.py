"""Nulls of lists and maps of structs, which PyIceberg's own projection makes empty, and deletes by file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO, _read_all_delete_files
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.typedef import Record
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from frazil.clients.data_files import file_batches, read_table
from frazil.sql.engine import Engine
from tests.connectors.iceberg.driver import TABLE, Driver, Memory, memory, record

_X = StructType(NestedField(20, "x", LongType(), required=True))
_LISTS = ListType(41, ListType(42, _X, element_required=False), element_required=False)
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "l", ListType(21, _X, element_required=True)),
    NestedField(3, "m", MapType(31, StringType(), 32, _X, value_required=True)),
    NestedField(4, "ll", _LISTS),
    NestedField(5, "s", StructType(NestedField(51, "l", ListType(52, _X, element_required=False)))),
    identifier_field_ids=[1],
)
NOTHING: dict[str, Any] = {"l": None, "m": None, "ll": None, "s": None}
ROWS: list[dict[str, Any]] = [
    {"id": 0, **NOTHING},
    {"id": 1, "l": [{"x": 1}], "m": [("k", {"x": 2})], "ll": [None, [], [{"x": 3}]], "s": {"l": None}},
    {"id": 2, **NOTHING},
    {"id": 3, "l": [], "m": [], "ll": [], "s": {"l": []}},
    {"id": 4, **NOTHING},
    {"id": 5, "l": [{"x": 5}, {"x": 6}], "m": None, "ll": None, "s": {"l": [None, {"x": 7}]}},
]
UPSERTS = {"iceberg.tables.upsert-mode-enabled": "true"}


@pytest.fixture
def stored() -> Iterator[tuple[Driver, Memory]]:
    with memory({TABLE: SCHEMA}) as made:
        driver = Driver(*made, UPSERTS)
        made[0].send(
            "t", [json.dumps({**row, "m": row["m"] if row["m"] is None else dict(row["m"])}).encode() for row in ROWS]
        )
        driver.drain()
        yield driver, made


def _by_id(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=lambda row: row["id"])


def test_what_is_null_is_read_as_null_and_what_is_empty_as_empty(stored: tuple[Driver, Memory]) -> None:
    table = stored[1][1].load_table(TABLE)
    (task,) = table.scan().plan_files()
    assert _by_id(read_table(table, [task], table.schema())) == ROWS
    assert _by_id(table.scan().to_arrow()) == ROWS, "PyIceberg's own functions too"
    deleted = pa.chunked_array([[1, 3]], pa.int64())
    left = pa.Table.from_batches(file_batches(table.metadata, table.io, table.schema(), task.file, [deleted]))
    assert _by_id(left) == [row for row in ROWS if row["id"] not in (1, 3)]


def test_sql_tells_null_from_empty(stored: tuple[Driver, Memory]) -> None:
    engine = Engine(stored[1][1], "", "db")
    (answer,) = engine.run("SELECT id, l IS NULL, m IS NULL, cardinality(ll), s.l IS NULL FROM landing ORDER BY id")
    assert [tuple(row) for row in answer.rows] == [
        (0, True, True, None, True),
        (1, False, False, 3, True),
        (2, True, True, None, True),
        (3, False, False, 0, False),
        (4, True, True, None, True),
        (5, False, True, None, False),
    ]


def test_a_file_that_an_upsert_writes_again_keeps_the_nulls_of_its_other_rows(stored: tuple[Driver, Memory]) -> None:
    driver, (broker, catalog) = stored
    (before,) = catalog.load_table(TABLE).scan().plan_files()
    broker.send("t", [record(3, l=[{"x": 30}])])
    driver.drain()
    files = [task.file.file_path for task in catalog.load_table(TABLE).scan().plan_files()]
    assert before.file.file_path not in files, "copy on write"
    rows = pa.concat_tables([pq.read_table(path.removeprefix("file://"), partitioning=None) for path in files])
    assert _by_id(rows) == [*ROWS[:3], {"id": 3, **NOTHING, "l": [{"x": 30}]}, *ROWS[4:]]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([("b", 5), ("a", 1), ("b", 2), ("a", 3), ("c", 0)], {"b": [5, 2], "a": [1, 3], "c": [0]}), ([], {})],
)
@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_delete_files_of_others_in_any_order(
    tmp_path: Path, rows: list[tuple[str, int]], expected: dict[str, list[int]], type_: pa.DataType
) -> None:
    paths = pa.array([path for path, _ in rows], pa.string()).cast(type_)
    positions = pa.array([position for _, position in rows], pa.int64())
    pq.write_table(pa.table({"file_path": paths, "pos": positions}), tmp_path / "d.parquet")
    path = (tmp_path / "d.parquet").as_uri()
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=path, file_format=FileFormat.PARQUET, partition=Record()
    )
    found = _read_all_delete_files(PyArrowFileIO(), [FileScanTask(data_file=deletes, delete_files={deletes})])
    assert {name: each[0].to_pylist() for name, each in found.items()} == expected
