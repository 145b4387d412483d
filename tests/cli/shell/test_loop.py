"""The shell on a real terminal, on real tables."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frazil.environment.settings import Settings
from frazil.sql.trino import TrinoEngine
from tests.cli.terminal import CTRL_C, CTRL_D, TAB, UP, Terminal
from tests.sql.conftest import COMMITS, ROWS_PER_COMMIT, LogTables
from tests.waits import eventually

pytestmark = pytest.mark.stack

TOTAL = COMMITS * ROWS_PER_COMMIT
PROMPT = "frazil>"
ENDLESS = """\
SELECT count(*) FROM apilogs a, apilogs b, apilogs c, apilogs d, apilogs e WHERE a.object < e.name;"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def shell(log_tables: LogTables, home: Path) -> Iterator[Terminal]:
    variables = {"NAMESPACE_NAME": log_tables.namespace, "TRINO_URL": "", "FRAZIL_HOME": str(home)}
    with Terminal({**log_tables.stack.settings.env, **variables}, "sql") as terminal:
        terminal.until("\\q leaves.")
        terminal.until(PROMPT)
        yield terminal


def test_statements_over_several_lines_and_errors(shell: Terminal) -> None:
    shell.send("SELECT count(*) AS n\r")
    shell.until("->")
    shell.send("FROM apilogs;\r")
    assert re.search(rf"n\s+─+\s+{TOTAL}", shell.until("(1 row in "))
    for wrong, message in (
        ("SELECT nosuch FROM apilogs;", "column nosuch cannot be resolved"),
        ("DROP TABLE apilogs;", "DROP is refused"),
        ("SELEC 1;", "did you mean SELECT?"),
        ("SELECT ';", "->"),
        ("';", "(1 row in "),
        ("\\nosuch", "there is no command \\nosuch"),
    ):
        shell.send(f"{wrong}\r")
        shell.until(message)
    shell.until(PROMPT)
    shell.send(CTRL_D)
    assert shell.end() == 0


def test_commands(shell: Terminal) -> None:
    shell.send("\\d\r")
    assert "errorlogs" in shell.until("(4 rows")
    shell.send("\\d apilogs\r")
    assert "timestamp(6) with time zone" in shell.until("(11 rows")
    shell.send("SELECT * FROM apilogs LIMIT 2;\r")
    shell.until("columns have no room: ")
    shell.until("\\x or \\format json shows them.")
    shell.send("\\x\r")
    shell.until("One value per line.")
    shell.send("SELECT * FROM apilogs LIMIT 2;\r")
    assert "callInfo  | {" in shell.until("(2 rows")
    shell.send("\\timing\r")
    shell.until("Times are not shown.")
    shell.send("SELECT 1;\r")
    shell.until("(1 row)")
    for asking in ("\\?", "help;", "help"):
        shell.send(f"{asking}\r")
        shell.until("\\q               leave")
    shell.send("\\q\r")
    assert shell.end() == 0


def test_answers_go_to_files(shell: Terminal, tmp_path: Path) -> None:
    shell.send(f"\\format csv\r\\o {tmp_path}/a.csv\r")
    shell.until("a.csv, which is begun anew.")
    shell.send("SELECT 1 AS a;\rSELECT 2 AS b;\r\\o\r")
    shell.until("to the terminal.")
    assert (tmp_path / "a.csv").read_bytes() == b"a\r\n1\r\nb\r\n2\r\n"
    shell.send("\\format parquet\r")
    shell.until("as parquet to the terminal.")
    shell.send("SELECT 1;\r")
    shell.until("Name a file with --output-file, in the shell with \\o FILE")
    shell.send(f"\\o {tmp_path}/a.parquet\rSELECT time, name FROM apilogs;\r")
    shell.until("180 rows are in ")
    assert pq.read_schema(tmp_path / "a.parquet").types == [pa.timestamp("us", "UTC"), pa.string()]
    shell.send("SELECT 2;\r")
    shell.until("name another file for the next")
    assert pq.read_table(tmp_path / "a.parquet").num_rows == TOTAL


def test_ctrl_c_cancels_the_line_and_the_statement(shell: Terminal) -> None:
    shell.send("SELECT nonsense")
    shell.until("nonsense")
    shell.send(CTRL_C)
    shell.until(PROMPT)
    shell.send(f"{ENDLESS}\r")
    shell.until("running")
    shell.send(CTRL_C)
    shell.until("cancelled")
    shell.until(PROMPT)
    shell.send("SELECT 'still here' AS x;\r")
    shell.until("(1 row")
    shell.until(PROMPT)
    shell.send(CTRL_D)
    assert shell.end() == 0


def test_tab_completes_and_the_history_is_kept(shell: Terminal, log_tables: LogTables, home: Path) -> None:
    shell.send("SELECT max(time) FROM err" + TAB)  # noqa: S608
    shell.until("orlogs")  # only what is new is drawn
    shell.send(";\r")
    shell.until("(1 row")
    shell.send("exit\r")
    assert shell.end() == 0
    history = home / "sql_history"
    assert "+SELECT max(time) FROM errorlogs;" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    env = {
        **log_tables.stack.settings.env,
        "NAMESPACE_NAME": log_tables.namespace,
        "TRINO_URL": "",
        "FRAZIL_HOME": str(home),
    }
    with Terminal(env, "sql") as again:
        again.until(PROMPT)
        again.send(UP)
        again.until("exit")
        again.send(UP)
        again.until("SELECT max(time) FROM errorlogs;")
        again.send("\r")
        again.until("(1 row")


@pytest.mark.trino
@pytest.mark.faults
def test_ctrl_c_ends_the_statement_on_trino_too(trino: Settings, log_tables: LogTables, home: Path) -> None:
    engine = TrinoEngine(trino)
    env = {**trino.env, "NAMESPACE_NAME": log_tables.namespace, "FRAZIL_HOME": str(home)}

    def states() -> set[str]:
        [found] = engine.run(
            "SELECT state FROM system.runtime.queries WHERE query LIKE 'SELECT count(*) FROM apilogs a,%'"
        )
        return {str(state) for (state,) in found.rows}

    with Terminal(env, "sql", "--engine", "trino") as shell:
        shell.until("for Trino at http://127.0.0.1")
        shell.until(PROMPT)
        shell.send(f"{ENDLESS}\r")
        eventually(lambda: states() == {"RUNNING"})
        shell.send(CTRL_C)
        shell.until("cancelled")
        shell.until(PROMPT)
        eventually(lambda: states() == {"FAILED"})
        shell.send("SHOW TABLES;\r")
        shell.until("(4 rows")
