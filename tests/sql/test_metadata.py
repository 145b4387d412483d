from __future__ import annotations

from datetime import UTC, datetime

import pytest

from frazil.sql.metadata import instant
from frazil.sql.names import METADATA_TABLES
from tests.sql.conftest import COMMITS, NAMESPACE, ROWS_PER_COMMIT, LogTables

# As Trino 476 describes them.
COLUMNS = {
    "snapshots": ("committed_at", "snapshot_id", "parent_id", "operation", "manifest_list", "summary"),
    "history": ("made_current_at", "snapshot_id", "parent_id", "is_current_ancestor"),
    "refs": (
        "name",
        "type",
        "snapshot_id",
        "max_reference_age_in_ms",
        "min_snapshots_to_keep",
        "max_snapshot_age_in_ms",
    ),
    "manifests": (
        "path",
        "length",
        "partition_spec_id",
        "added_snapshot_id",
        "added_data_files_count",
        "added_rows_count",
        "existing_data_files_count",
        "existing_rows_count",
        "deleted_data_files_count",
        "deleted_rows_count",
        "partition_summaries",
    ),
    "files": (
        "content",
        "file_path",
        "file_format",
        "spec_id",
        "partition",
        "record_count",
        "file_size_in_bytes",
        "column_sizes",
        "value_counts",
        "null_value_counts",
        "nan_value_counts",
        "lower_bounds",
        "upper_bounds",
        "key_metadata",
        "split_offsets",
        "equality_ids",
        "sort_order_id",
        "readable_metrics",
    ),
    "partitions": ("partition", "record_count", "file_count", "total_size", "data"),
    "properties": ("key", "value"),
    "metadata_log_entries": (
        "timestamp",
        "file",
        "latest_snapshot_id",
        "latest_schema_id",
        "latest_sequence_number",
    ),
}


def test_an_instant_is_in_utc() -> None:
    assert instant(1_700_000_000_123) == datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC)


@pytest.mark.stack
@pytest.mark.parametrize("name", METADATA_TABLES)
def test_columns_are_trinos(log_tables: LogTables, name: str) -> None:
    [result] = log_tables.engine.run(f'SELECT * FROM "apilogs${name}"')  # noqa: S608
    assert result.columns == COLUMNS[name]
    assert result.row_count > 0


@pytest.mark.stack
def test_snapshots_and_history_are_linked(log_tables: LogTables) -> None:
    snapshots = log_tables.answer('SELECT * FROM "apilogs$snapshots" ORDER BY committed_at')
    assert [row[2] for row in snapshots] == [None, *(row[1] for row in snapshots[:-1])]
    assert [row[3] for row in snapshots] == ["append"] * COMMITS
    assert all(row[5]["added-records"] == str(ROWS_PER_COMMIT) for row in snapshots)
    history = log_tables.answer('SELECT * FROM "apilogs$history" ORDER BY made_current_at')
    assert [row[1:] for row in history] == [(row[1], row[2], True) for row in snapshots]


@pytest.mark.stack
def test_a_snapshot_that_was_rolled_back_is_no_ancestor(log_tables: LogTables) -> None:
    table = log_tables.catalog.load_table((NAMESPACE, "errorlogs"))
    first = table.metadata.snapshots[0].snapshot_id
    last = table.metadata.current_snapshot_id
    assert last is not None
    table.manage_snapshots().set_current_snapshot(first).commit()
    try:
        history = log_tables.answer('SELECT snapshot_id, is_current_ancestor FROM "errorlogs$history"')
        refs = log_tables.answer('SELECT name, type, snapshot_id FROM "errorlogs$refs"')
    finally:
        table.refresh().manage_snapshots().set_current_snapshot(last).commit()
    assert (first, True) in history
    assert (last, False) in history
    assert refs == [("main", "BRANCH", first)]


@pytest.mark.stack
def test_manifests_count_rows_and_summarise_partitions(log_tables: LogTables) -> None:
    rows = log_tables.answer('SELECT sum(added_rows_count), sum(added_data_files_count) FROM "apilogs$manifests"')
    files = log_tables.answer('SELECT count(*) FROM "apilogs$files"')
    assert rows == [(COMMITS * ROWS_PER_COMMIT, files[0][0])]
    found = log_tables.answer('SELECT partition_summaries FROM "auditlogs$manifests"')
    days = [row["time"].date().isoformat() for row in log_tables.rows["auditlogs"]]
    assert min(summaries[0]["lower_bound"] for [summaries] in found) == min(days)
    assert max(summaries[0]["upper_bound"] for [summaries] in found) == max(days)
    assert {(s[1]["lower_bound"], s[1]["upper_bound"]) for [s] in found} == {("bucket", "user")}
