"""The verb `sql` as programs use it, on real tables; `tests/cli/shell` has the shell."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from frazil.cli.ui.program import StatementCommand
from frazil.environment.settings import Settings
from tests.cli.programs import run_here
from tests.cli.terminal import Terminal
from tests.sql.conftest import COMMITS, ROWS_PER_COMMIT, LogTables

pytestmark = pytest.mark.stack

TOTAL = COMMITS * ROWS_PER_COMMIT


def environment(log_tables: LogTables) -> dict[str, str]:
    return {**log_tables.stack.settings.env, "NAMESPACE_NAME": log_tables.namespace, "TRINO_URL": ""}


def sql(log_tables: LogTables, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
    return run_here(environment(log_tables), "sql", *arguments, stdin=stdin)


def test_statements_from_a_pipe_run_in_turn_and_stop_at_the_first_error(log_tables: LogTables) -> None:
    text = "SELECT 1 AS a;\nSELECT nosuch FROM apilogs;\nSELECT 3 AS c;\n"
    ran = sql(log_tables, "--format", "csv", stdin=text)
    assert (ran.returncode, ran.stdout) == (1, b"a\r\n1\r\n")
    assert b"column nosuch cannot be resolved" in ran.stderr
    ran = sql(log_tables, "--format", "csv", stdin="SELECT 1 AS a; SELECT 2 AS b")
    assert (ran.returncode, ran.stdout) == (0, b"a\r\n1\r\nb\r\n2\r\n")


def test_parameters_are_values(log_tables: LogTables) -> None:
    rows = log_tables.rows["apilogs"]
    statement = "SELECT count(*) AS n FROM apilogs WHERE object = :object AND time < :until"
    ran = sql(
        log_tables, statement, "--param", f"object={rows[7]['object']}", "--param", "until:timestamp=2100-01-01",
        "--format", "json",
    )  # fmt: skip
    assert (ran.returncode, json.loads(ran.stdout)) == (0, [{"n": 1}])
    injected = sql(log_tables, statement, "--param", "object=' OR 1=1 --", "--param", "until:date=2100-01-01")
    assert b"\n 0 \n" in injected.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("SELECT :a",), 1, ":a has no value"),
        (("SELECT 1", "--param", "a=1"), 2, "no statement has a parameter a"),
        (("SELECT 1", "--param", "a"), 2, "expected name=value"),
        (("SELECT 1", "--output-file", "/nosuch/x", "--format", "json"), 2, "/nosuch/x cannot be written"),
        ((), 2, "there is no statement"),
    ],
)
def test_what_is_wrong_is_said(log_tables: LogTables, arguments: tuple[str, ...], code: int, message: str) -> None:
    ran = sql(log_tables, *arguments)
    assert (ran.returncode, ran.stdout) == (code, b"")
    assert message in ran.stderr.decode()


def test_parquet_keeps_the_types(log_tables: LogTables, tmp_path: Path) -> None:
    path = tmp_path / "api.parquet"
    ran = sql(log_tables, "SELECT * FROM apilogs", "--format", "parquet", "--output-file", str(path))
    assert (ran.returncode, ran.stdout) == (0, b"")
    found = pq.read_table(path)
    assert found.num_rows == TOTAL
    assert found.schema.field("time").type == pa.timestamp("us", "UTC")
    assert found.schema.field("tags").type == pa.map_(pa.string(), pa.string())
    assert found.schema.field("callInfo").type.field("httpStatusCode").type == pa.int32()
    assert found.schema.field("callInfo").type.field("tx").type == pa.int64()
    piped = sql(log_tables, "SELECT 1 AS a", "--format", "parquet")
    assert pq.read_table(io.BytesIO(piped.stdout)).to_pylist() == [{"a": 1}]


def test_parquet_takes_one_statement(log_tables: LogTables, tmp_path: Path) -> None:
    path = tmp_path / "two.parquet"
    ran = sql(log_tables, "SELECT 1; SELECT 2", "--format", "parquet", "--output-file", str(path))
    assert ran.returncode == 2
    assert b"holds one answer" in ran.stderr
    assert not path.exists(), "nothing was run"


def test_a_terminal_is_told_which_columns_have_no_room(log_tables: LogTables) -> None:
    env = {**os.environ, **environment(log_tables)}
    with Terminal(env, "sql", "SELECT * FROM apilogs", columns=80) as terminal:
        terminal.until("of 11 columns have no room: ")
        terminal.until("--expanded or --format json shows them.")
        assert terminal.end() == 0
    with Terminal(env, "sql", "SELECT * FROM apilogs LIMIT 2", "--expanded", columns=80) as terminal:
        assert "callInfo  | {" in terminal.until("(2 rows")
    with Terminal(env, "sql", "SELECT 1", "--format", "parquet") as terminal:
        terminal.until("Name a file with --output-file")
        assert terminal.end() == 2
    with Terminal(env, "query", "apilogs", "-n", "3", columns=80) as terminal:
        terminal.until("columns have no room: ")


@pytest.mark.trino
def test_trino_takes_parameters_and_gives_types(trino: Settings, log_tables: LogTables, tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    text = 'SELECT time, bucket, tags, "callInfo" FROM apilogs WHERE object = :object AND time < :until'
    wanted = next(row for row in log_tables.rows["apilogs"] if row["tags"])
    parameters = ("--param", f"object={wanted['object']}", "--param", "until:timestamp=2100-01-01T00:00:00+02:00")
    ran = sql(log_tables, text, *parameters, "--engine", "trino", "--format", "parquet", "--output-file", str(path))
    assert (ran.returncode, ran.stdout) == (0, b""), ran.stderr
    found = pq.read_table(path)
    own = tmp_path / "own.parquet"
    sql(log_tables, text, *parameters, "--engine", "embedded", "--format", "parquet", "--output-file", str(own))
    assert found.schema.types == pq.read_schema(own).types
    assert found.to_pylist() == pq.read_table(own).to_pylist()
    assert found.column("time").to_pylist() == [wanted["time"]]


app = typer.Typer()


@app.command(cls=StatementCommand)
def echo(
    statement: Annotated[str, typer.Argument()],
    file: Annotated[str, typer.Option("--file")] = "",
) -> None:
    """What arrived."""
    typer.echo(f"{statement!r} {file!r}")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["-- a comment\nSELECT 1"], "' -- a comment\\nSELECT 1' ''"),
        (["--comment\nSELECT 1", "--file", "x"], "' --comment\\nSELECT 1' 'x'"),
        (["-- a = b\nSELECT 1"], "' -- a = b\\nSELECT 1' ''"),
        (["--file=a b", "SELECT 1"], "'SELECT 1' 'a b'"),
        (["--file", "-- x\ny", "SELECT 1"], "'SELECT 1' ' -- x\\ny'"),
        (["--", "-- c\nSELECT 1"], "' -- c\\nSELECT 1' ''"),
        (["SELECT 1"], "'SELECT 1' ''"),
    ],
)
def test_a_statement_may_begin_with_a_comment(arguments: list[str], shown: str) -> None:
    assert CliRunner().invoke(app, arguments).output == f"{shown}\n"


def test_a_wrong_option_is_one_still() -> None:
    result = CliRunner().invoke(app, ["--fromat", "csv", "SELECT 1"])
    assert result.exit_code == 2
    assert "--fromat" in result.output
