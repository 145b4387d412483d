"""Verbs that read tables, here beside the tables that they read."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.programs import text_here
from tests.sql.conftest import COMMITS, NAMESPACE, ROWS_PER_COMMIT, LogTables

pytestmark = pytest.mark.stack

TOTAL = COMMITS * ROWS_PER_COMMIT


def run(log_tables: LogTables, *arguments: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**log_tables.stack.settings.env, "NAMESPACE_NAME": NAMESPACE, "TRINO_URL": "", **variables}
    return text_here(env, *arguments, stdin=stdin)


def test_query_shows_every_table(log_tables: LogTables) -> None:
    shown = run(log_tables, "query")
    assert (shown.returncode, shown.stderr) == (0, "")
    for name in log_tables.rows:
        assert f"{NAMESPACE}.{name}: {TOTAL} rows" in shown.stdout
    assert f"{NAMESPACE}.empty: 0 rows\n  no snapshot yet" in shown.stdout
    assert f"append, {ROWS_PER_COMMIT} records added" in shown.stdout


def test_query_of_a_table_shows_ten_rows_and_the_newest_in_full(log_tables: LogTables) -> None:
    shown = run(log_tables, "query", f"{NAMESPACE}.ApiLogs")
    assert shown.returncode == 0
    assert shown.stdout.count(" s3.") == 11, "ten rows, and the newest in full"
    assert '"requestHeader": {"Range": "bytes=0-1"}' in shown.stdout


def test_query_of_a_table_of_another_namespace(log_tables: LogTables) -> None:
    shown = run(log_tables, "query", f"{NAMESPACE}.errorlogs", NAMESPACE_NAME="streaming")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"{NAMESPACE}.errorlogs: {TOTAL} rows" in shown.stdout


def test_query_as_json_and_csv(log_tables: LogTables) -> None:
    [table] = json.loads(run(log_tables, "query", "errorlogs", "-n", "2", "--format", "json").stdout)
    assert (table["table"], table["rows"], len(table["newest"])) == ("errorlogs", TOTAL, 2)
    assert table["last"]["trace"]["source"] == ["api-errors.go:150", "bucket.go:4"]
    snapshot = log_tables.catalog.load_table((NAMESPACE, "errorlogs")).current_snapshot()
    assert snapshot is not None
    assert table["snapshot"]["snapshot_id"] == str(snapshot.snapshot_id), "19 digits: too many for numbers in JSON"
    lines = list(csv.DictReader(io.StringIO(run(log_tables, "query", "--format", "csv").stdout)))
    assert [line["table"] for line in lines] == ["apilogs", "errorlogs", "auditlogs", "empty"]
    assert lines[0]["rows"] == str(TOTAL)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("query", "nosuch"), 2, "known tables: apilogs, errorlogs, auditlogs, empty"),
        (("query", "apilogs", "-n", "0"), 2, "from 1 on"),
        (("maintain", "nosuch"), 2, "known tables: apilogs, auditlogs, empty, errorlogs"),
        (("sql",), 2, "there is no statement"),
        (("sql", "SELECT 1", "--file", "x"), 2, "either as an argument"),
        (("sql", "--file", "/nosuch/file"), 2, "cannot be read"),
        (("sql", "SELECT nosuch FROM apilogs"), 1, "column nosuch cannot be resolved"),
        (("sql", "DROP TABLE apilogs"), 1, "line 1, column 1: DROP is refused"),
    ],
)
def test_what_cannot_be_done_is_said_on_standard_error(
    log_tables: LogTables, arguments: tuple[str, ...], code: int, message: str
) -> None:
    shown = run(log_tables, *arguments)
    assert (shown.returncode, shown.stdout) == (code, "")
    assert message in shown.stderr


@pytest.mark.parametrize("arguments", [("query",), ("sql", "SHOW SCHEMAS"), ("sql", "SELECT 1 FROM apilogs")])
def test_a_warehouse_that_does_not_exist(log_tables: LogTables, arguments: tuple[str, ...]) -> None:
    shown = run(log_tables, *arguments, WAREHOUSE_NAME="nosuch")
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "the Iceberg catalog has no such warehouse" in shown.stderr
    assert "table bucket nosuch not found" in shown.stderr
    assert "correct WAREHOUSE_NAME" in shown.stderr


def test_sql_from_argument_file_and_standard_input(log_tables: LogTables, tmp_path: Path) -> None:
    sql = "SELECT count(*) AS n FROM apilogs; SHOW TABLES LIKE 'api%'"
    path = tmp_path / "query.sql"
    path.write_text(sql, encoding="utf-8")
    expected = f"n\r\n{TOTAL}\r\nTable\r\napilogs\r\n".replace("\r\n", "\n")
    for arguments, stdin in ((("sql", sql), ""), (("sql", "--file", str(path)), ""), (("sql", "-"), sql)):
        assert run(log_tables, *arguments, "--format", "csv", stdin=stdin).stdout == expected


def test_sql_as_table_and_json(log_tables: LogTables) -> None:
    sql = 'SELECT time, "callInfo"."httpStatusCode" AS status, tags FROM apilogs ORDER BY time DESC LIMIT 3'
    rows = json.loads(run(log_tables, "sql", sql, "--format", "json").stdout)
    newest = sorted((row["time"] for row in log_tables.rows["apilogs"]), reverse=True)[:3]
    assert [row["time"] for row in rows] == [time.isoformat() for time in newest]
    table = run(log_tables, "sql", sql).stdout
    assert "(3 rows in " in table
    assert newest[0].isoformat() in table
