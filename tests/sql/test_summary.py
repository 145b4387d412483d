from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.errors import QueryError
from frazil.minio.records.shown import shown_columns
from frazil.sql.summary import known_tables, summarise
from tests.sql.conftest import COMMITS, NAMESPACE, ROWS_PER_COMMIT, LogTables

pytestmark = pytest.mark.stack

COLUMNS = {
    "apilogs": ("time", "name", "type", "bucket", "object", "status", "node", "origin"),
    "errorlogs": ("time", "apiName", "message", "node"),
    "auditlogs": ("time", "category", "action", "apiName", "message", "accessKey", "bucket"),
}


def test_the_known_tables(log_tables: LogTables) -> None:
    assert known_tables(log_tables.catalog, NAMESPACE) == ["apilogs", "auditlogs", "empty", "errorlogs"]
    with pytest.raises(QueryError, match="there is no schema nosuch"):
        known_tables(log_tables.catalog, "nosuch")


@pytest.mark.parametrize("name", sorted(COLUMNS))
@pytest.mark.parametrize("count", [1, 7, COMMITS * ROWS_PER_COMMIT + 5])
def test_the_newest_rows_of_a_log_table(log_tables: LogTables, name: str, count: int) -> None:
    rows = log_tables.rows[name]
    summary = summarise(log_tables.catalog, NAMESPACE, name, count, shown_columns, last=True)
    assert summary.rows == len(rows)
    assert summary.newest.columns == COLUMNS[name]
    newest = sorted((row["time"] for row in rows), reverse=True)[:count]
    assert [row[0] for row in summary.newest.rows] == newest
    known = {tuple(_value(row, column) for column in COLUMNS[name]) for row in rows}
    assert set(summary.newest.rows) <= known
    assert len(set(summary.newest.rows)) == min(count, len(set(known)))


def _value(row: dict[str, Any], column: str) -> Any:
    return row["callInfo"]["httpStatusCode"] if column == "status" else row[column]


def test_the_last_row_is_the_first_of_the_newest_with_all_columns(log_tables: LogTables) -> None:
    summary = summarise(log_tables.catalog, NAMESPACE, "apilogs", 3, shown_columns, last=True)
    assert summary.last is not None
    assert summary.last.columns == tuple(log_tables.rows["apilogs"][0])
    full = dict(zip(summary.last.columns, summary.last.rows[0], strict=True))
    assert full["callInfo"]["requestHeader"] == {"Range": "bytes=0-1"}
    assert tuple(_value(full, column) for column in COLUMNS["apilogs"]) == summary.newest.rows[0]
    assert summarise(log_tables.catalog, NAMESPACE, "apilogs", 3, shown_columns).last is None


def test_the_newest_snapshot(log_tables: LogTables) -> None:
    summary = summarise(log_tables.catalog, NAMESPACE, "errorlogs", 1, shown_columns)
    current = log_tables.catalog.load_table((NAMESPACE, "errorlogs")).current_snapshot()
    assert current is not None
    assert summary.snapshot is not None
    assert summary.snapshot.snapshot_id == current.snapshot_id
    assert summary.snapshot.committed_at.timestamp() * 1000 == pytest.approx(current.timestamp_ms)
    assert (summary.snapshot.operation, summary.snapshot.added_records) == ("append", ROWS_PER_COMMIT)


def test_a_table_without_a_commit(log_tables: LogTables) -> None:
    summary = summarise(log_tables.catalog, NAMESPACE, "empty", 5, shown_columns, last=True)
    assert (summary.rows, summary.snapshot, summary.last) == (0, None, None)
    assert summary.newest.rows == []


def test_a_table_of_another_shape_shows_its_first_columns(log_tables: LogTables) -> None:
    schema = Schema(*(NestedField(i + 1, f"c{i}", LongType(), required=False) for i in range(10)))
    table = log_tables.catalog.create_table((NAMESPACE, "plain"), schema)
    try:
        table.append(pa.table({f"c{i}": pa.array([i, i + 1], pa.int64()) for i in range(10)}))
        table.delete("c0 = 0")
        summary = summarise(log_tables.catalog, NAMESPACE, "plain", 5, shown_columns, last=True)
    finally:
        log_tables.catalog.drop_table((NAMESPACE, "plain"))
    assert summary.rows == 1
    assert summary.newest.columns == tuple(f"c{i}" for i in range(8))
    assert summary.newest.rows == [tuple(range(1, 9))]
    assert summary.last is not None
    assert summary.last.rows == [tuple(range(1, 11))]
