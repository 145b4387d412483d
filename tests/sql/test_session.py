from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.resources import files
from typing import Any, cast

import duckdb
import psutil
import pytest

from frazil.errors import QueryError
from frazil.sql.session import machine_limit, session
from frazil.sql.translation.text_functions import FUNCTIONS
from tests.waits import eventually


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SET memory_limit = '1TB'",
        "INSTALL httpfs",
        "COPY (SELECT 1) TO '/tmp/x'",
    ],
)
def test_nothing_outside_can_be_read_and_nothing_changed(sql: str) -> None:
    with session(256 << 20) as opened, pytest.raises(duckdb.Error):
        opened.reader(sql, 1).read_all()


class Interrupted:
    """A source of rows during whose registration Ctrl+C comes."""

    def __arrow_c_schema__(self) -> object:
        raise KeyboardInterrupt

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise KeyboardInterrupt


def test_ctrl_c_while_the_engine_calls_python_is_what_it_is_everywhere() -> None:
    with pytest.raises(KeyboardInterrupt), session(256 << 20) as opened:
        opened.register("rows", cast(Any, Interrupted()))
        opened.reader("SELECT * FROM rows", 1).read_all()


_ENDLESS = """
import signal
from frazil.sql.session import session

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with session(256 << 20) as opened:
        print("running", flush=True)
        opened.evaluate("(SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b)")
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("interrupted")
"""


def test_ctrl_c_is_what_it_is_everywhere() -> None:
    """DuckDB loses one that comes before its statement runs, as it does for everybody: the next one counts."""
    with subprocess.Popen([sys.executable, "-c", _ENDLESS], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "running\n"

            def has_ended() -> bool:
                child.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    child.wait(0.5)
                return child.poll() is not None

            eventually(has_ended)
            assert (child.stdout.read(), child.returncode) == ("interrupted\n", 0)
        finally:
            child.kill()


def test_other_errors_of_duckdb_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="^something else$"), session(256 << 20):
        raise RuntimeError("something else")


def test_constants() -> None:
    with session(256 << 20) as opened:
        assert opened.evaluate("1 + 1") == 2
        moment = opened.evaluate("TIMESTAMPTZ '2025-01-31 10:00:00+02:00'")
        assert moment.isoformat() == "2025-01-31T08:00:00+00:00"
        with pytest.raises(QueryError, match="^Division by zero"):
            opened.evaluate("frazil_int_divide(1, 0)")


def test_every_function_of_ours_can_be_made() -> None:
    text = files("frazil.sql.translation").joinpath("macros.sql").read_text(encoding="utf-8")
    declared = re.findall(r"^CREATE MACRO (\w+)", text, re.MULTILINE)
    assert len(declared) == len(set(declared)) > 30
    with session(256 << 20) as opened:
        for name in (*declared, *(f"frazil_{function}" for function in FUNCTIONS)):
            # the text names the function, so that it is made; a comment is as good as a call
            assert opened.evaluate(f"1 /* {name}() */") == 1


def test_the_limit_is_a_share_of_the_memory_that_is_free() -> None:
    assert 256 << 20 <= machine_limit() <= psutil.virtual_memory().total // 2
