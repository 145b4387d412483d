from __future__ import annotations

import os
import re
import signal
import threading
from importlib.resources import files

import duckdb
import psutil
import pytest

from frazil.errors import QueryError
from frazil.query.session import machine_limit, session
from frazil.query.sql.text_functions import FUNCTIONS


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


def test_ctrl_c_is_what_it_is_everywhere() -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt), session(256 << 20) as opened:
        opened.evaluate("(SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b)")
    timer.join()


def test_constants() -> None:
    with session(256 << 20) as opened:
        assert opened.evaluate("1 + 1") == 2
        moment = opened.evaluate("TIMESTAMPTZ '2025-01-31 10:00:00+02:00'")
        assert moment.isoformat() == "2025-01-31T08:00:00+00:00"
        with pytest.raises(QueryError, match="^Division by zero"):
            opened.evaluate("frazil_int_divide(1, 0)")


def test_every_function_of_ours_can_be_made() -> None:
    text = files("frazil.query.sql").joinpath("macros.sql").read_text(encoding="utf-8")
    declared = re.findall(r"^CREATE MACRO (\w+)", text, re.MULTILINE)
    assert len(declared) == len(set(declared)) > 50
    with session(256 << 20) as opened:
        for name in (*declared, *(f"frazil_{function}" for function in FUNCTIONS)):
            # the text names the function, so that it is made; a comment is as good as a call
            assert opened.evaluate(f"1 /* {name}() */") == 1


def test_the_limit_is_a_share_of_the_memory_that_is_free() -> None:
    assert 256 << 20 <= machine_limit() <= psutil.virtual_memory().total // 2
