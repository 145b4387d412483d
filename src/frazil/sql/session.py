"""Connections of the embedded engine: DuckDB without files, network or settings of its own, with Trino's functions."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

import psutil
import pyarrow as pa

from frazil.environment.extras import extra
from frazil.errors import QueryError
from frazil.sql.translation import text_functions

with extra("sql"):
    import duckdb

_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET Calendar = 'gregorian'",
    "SET temp_directory = ''",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_OWN_FUNCTION = re.compile(r"\bfrazil_\w+")
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_SMALLEST_LIMIT = 256 << 20
_INTERRUPTED = "Query interrupted"
"""DuckDB's words for Ctrl+C in the thread that runs a statement."""
_one_constant = Lock()
_WITHIN_PYTHON = re.compile(r": KeyboardInterrupt:?\s*\Z")


class Session:
    """Connection to the engine. The functions of Trino that a text uses are made when it comes."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._made: set[str] = set()

    def register(self, view: str, source: Any) -> None:
        """Let texts read an Arrow table or stream under a name."""
        self._connection.register(view, source)

    def reader(self, sql: str, rows: int) -> pa.RecordBatchReader:
        """The answer to a text in batches of at most so many rows. Raises duckdb.Error."""
        self._make(sql)
        reader = self._connection.sql(sql).to_arrow_reader(rows)
        if reader is None:
            raise duckdb.Error(f"no answer to {sql[:80]}")
        return reader

    def evaluate(self, sql: str) -> Any:
        """The value of a constant. Raises QueryError when it has none, as 1 / 0."""
        try:
            return self.reader(f"SELECT {sql} AS value", 1).read_all().column(0)[0].as_py()
        except duckdb.Error as error:
            if was_interrupted(error):
                raise
            raise QueryError(reason(error)) from None

    def interrupt(self) -> None:
        """End what is running."""
        self._connection.interrupt()

    def _make(self, sql: str) -> None:
        for name in _OWN_FUNCTION.findall(sql):
            if name not in self._made:
                macro = _macros().get(name)
                if macro is not None:
                    self._make(macro.partition(" AS ")[2])
                    self._connection.execute(macro)
                elif name.removeprefix("frazil_") in text_functions.FUNCTIONS:
                    text_functions.register(self._connection, name)
                self._made.add(name)


@contextmanager
def session(memory_limit: int) -> Iterator[Session]:
    """A connection that may use so many bytes; nothing is spilled to disk, and no setting can be changed any more.

    Raises KeyboardInterrupt when Ctrl+C ends what runs in it.
    """
    with _connected(memory_limit) as connection, _interruptible():
        yield Session(connection)


def _connected(memory_limit: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"memory_limit": f"{memory_limit}B"})
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except (RuntimeError, duckdb.Error) as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from None
        raise


def was_interrupted(error: Exception) -> bool:
    """Whether the engine has failed by Ctrl+C: of one that comes while it calls Python, it tells the name alone."""
    return str(error) == _INTERRUPTED or _WITHIN_PYTHON.search(str(error)) is not None


def constant(sql: str) -> Any:
    """The value of a constant. Raises QueryError when it has none."""
    with _one_constant, _interruptible():
        return _constants().evaluate(sql)


@cache
def _constants() -> Session:
    """The session of all constants: to open one takes thirty times as long as to evaluate one."""
    return Session(_connected(_SMALLEST_LIMIT))


@cache
def _macros() -> dict[str, str]:
    """The statements that make Trino's functions, by the function's name."""
    text = files("frazil.sql.translation").joinpath("macros.sql").read_text(encoding="utf-8")
    return {match[1]: match[0] for match in re.finditer(r"^CREATE MACRO (\w+)\([\s\S]*?;$", text, re.MULTILINE)}


def machine_limit() -> int:
    """Bytes that a statement may use on this machine: half of what is free, or of what the container allows."""
    allowed = psutil.virtual_memory().available
    for path in map(Path, _CGROUP_LIMITS):
        try:
            written = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if written.isdigit():
            allowed = min(allowed, int(written) - psutil.Process(os.getpid()).memory_info().rss)
    return max(_SMALLEST_LIMIT, allowed // 2)


def reason(error: duckdb.Error) -> str:
    """The engine's message without the lines that speak of the translated statement, which the caller never wrote."""
    first = next((line for line in str(error).splitlines() if line.strip(" :")), type(error).__name__)
    _, python, raised = first.partition("while executing the UDF: ValueError: ")
    if python:
        return raised
    for kind in ("Binder Error: ", "Catalog Error: ", "Invalid Input Error: ", "Conversion Error: "):
        first = first.removeprefix(kind)
    return first
