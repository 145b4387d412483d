from __future__ import annotations

from collections.abc import Callable

import duckdb
import pyarrow as pa
import pytest

from frazil.clients.catalog import connect
from frazil.sql.names import Names
from frazil.sql.scan import ScanStream, readable
from frazil.sql.statements import split
from frazil.sql.translate import translate
from frazil.sql.translation.scans import Scan
from tests.sql.conftest import COMMITS, NAMESPACE, ROWS_PER_COMMIT, LogTables

pytestmark = pytest.mark.stack


def scan_of(log_tables: LogTables, sql: str) -> Scan:
    [statement] = split(sql)
    [scan] = translate(statement, Names(log_tables.catalog, "kafkawarehouse", NAMESPACE), no_constants).scans
    return scan


def no_constants(sql: str) -> str:
    return sql.strip("'")


def stream_of(log_tables: LogTables, sql: str) -> ScanStream:
    stream = readable(scan_of(log_tables, sql))
    assert isinstance(stream, ScanStream)
    return stream


def rows(stream: ScanStream) -> pa.Table:
    with duckdb.connect() as connection:
        connection.register("scan", stream)
        return connection.sql("SELECT * FROM scan").to_arrow_table()


def test_a_stream_can_be_read_again(log_tables: LogTables) -> None:
    stream = stream_of(log_tables, "SELECT object, time FROM apilogs")
    first, second = rows(stream), rows(stream)
    assert first.column_names == ["time", "object"]
    assert first.num_rows == COMMITS * ROWS_PER_COMMIT
    assert sorted(first.column("object").to_pylist()) == sorted(second.column("object").to_pylist())


def test_filter_and_limit_are_applied_by_the_scan(log_tables: LogTables) -> None:
    photos = rows(stream_of(log_tables, "SELECT bucket FROM apilogs WHERE bucket = 'photos'"))
    assert set(photos.column("bucket").to_pylist()) == {"photos"}
    assert rows(stream_of(log_tables, "SELECT bucket FROM apilogs LIMIT 3")).num_rows == 3


def test_only_the_fields_of_a_row_that_are_needed(log_tables: LogTables) -> None:
    found = rows(stream_of(log_tables, 'SELECT "callInfo".tx FROM apilogs'))
    assert [field.name for field in found.schema.field("callInfo").type] == ["tx"]


def test_without_columns_only_the_count_is_read(log_tables: LogTables) -> None:
    counted = readable(scan_of(log_tables, "SELECT count(*) FROM apilogs"))
    assert isinstance(counted, pa.Table)
    assert (counted.num_rows, counted.nbytes) == (COMMITS * ROWS_PER_COMMIT, 0)


def test_a_failure_is_kept_for_the_caller(log_tables: LogTables, free_ports: Callable[[int], list[int]]) -> None:
    [port] = free_ports(1)
    properties = log_tables.stack.settings.catalog_properties() | {"s3.endpoint": f"http://127.0.0.1:{port}"}
    [statement] = split("SELECT object FROM apilogs")
    [scan] = translate(statement, Names(connect(properties), "kafkawarehouse", NAMESPACE), no_constants).scans
    stream = ScanStream(scan)
    with pytest.raises(duckdb.Error):
        rows(stream)
    assert isinstance(stream.failure, OSError)
