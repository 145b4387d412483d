from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.sql.conftest import NAMESPACE, LogTables

pytestmark = pytest.mark.stack


def test_partitions_add_up_the_rows(log_tables: LogTables) -> None:
    found = log_tables.answer('SELECT partition, record_count, data FROM "auditlogs$partitions"')
    counted = {(p["time_day"], p["category"]): records for p, records, _ in found}
    rows = log_tables.rows["auditlogs"]
    assert counted == Counter((row["time"].date(), row["category"]) for row in rows)
    for partition, _, data in found:
        times = [
            row["time"]
            for row in rows
            if (row["time"].date(), row["category"]) == (partition["time_day"], partition["category"])
        ]
        assert (data["time"]["min"], data["time"]["max"]) == (min(times), max(times))
        assert data["time"]["null_count"] == 0
        assert "category" not in data


def test_nulls_are_counted_and_leave_the_range_known(log_tables: LogTables) -> None:
    [[data]] = [
        row for row in log_tables.answer('SELECT data FROM "errorlogs$partitions" ORDER BY record_count DESC LIMIT 1')
    ]
    assert data["apiName"]["null_count"] > 0
    assert data["apiName"]["min"] == "admin.AddUser"
    assert data["apiName"]["max"] == "s3.GetObject"


def test_files_have_readable_bounds(log_tables: LogTables) -> None:
    table = log_tables.catalog.load_table((NAMESPACE, "auditlogs"))
    category = table.schema().find_field("category").field_id
    files = log_tables.answer(
        "SELECT content, file_format, record_count, lower_bounds, value_counts, file_path, partition, readable_metrics "
        'FROM "auditlogs$files"'
    )
    assert sum(row[2] for row in files) == len(log_tables.rows["auditlogs"])
    for content, file_format, records, lower, counts, path, partition, metrics in files:
        assert (content, file_format) == (0, "PARQUET")
        assert f"category={lower[category]}/" in path
        assert counts[category] == records
        assert partition["category"] == lower[category]
        readable = json.loads(metrics)["category"]
        assert (readable["lower_bound"], readable["value_count"]) == (lower[category], records)


def test_a_table_without_files(log_tables: LogTables) -> None:
    assert log_tables.answer('SELECT * FROM "empty$files"') == []
    assert log_tables.answer('SELECT record_count FROM "empty$partitions"') == []
