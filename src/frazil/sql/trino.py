"""Statements on a Trino server: the stack's own, or the one that `TRINO_URL` names."""

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from frazil.clients.trino import FAILURES, connect, failure
from frazil.environment.extras import extra
from frazil.environment.settings import Settings
from frazil.errors import QueryError
from frazil.sql.arrow_values import day_interval, month_interval
from frazil.sql.result import Result
from frazil.sql.statements import READING, Statement, pieces, refused

with extra("trino"):
    from dateutil.relativedelta import relativedelta
    from trino.exceptions import TrinoUserError
    from trino.types import NamedRowTuple


class TrinoEngine:
    """Answers reading statements on the Trino server at `Settings.trino_url`.

    Names without catalog and schema mean the warehouse and the namespace of the settings. Raises ConfigError when the
    variables of the connection cannot be used; see `frazil.clients.trino.connect`.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection = connect(settings)

    def run(self, sql: str) -> Iterator[Result]:
        """Answers to the statements of a text, one after the other; see `reading` for those that are sent.

        Raises QueryError for what Trino refuses (a statement that writes is refused before any has run),
        ServiceUnavailable when it does not answer, ConfigError when it refuses the user or is not trusted.
        """
        for statement in reading(sql):
            started = time.perf_counter()
            cursor = self._connection.cursor()
            try:
                cursor.execute(statement.text)
                fetched = cursor.fetchall()
                columns = tuple(column.name for column in cursor.description or ())
                types = tuple(column.type_code for column in cursor.description or ())
            except KeyboardInterrupt:
                with suppress(*FAILURES):  # a server that is gone runs nothing
                    cursor.cancel()
                raise
            except TrinoUserError as error:
                raise QueryError(f"{error.error_name}: {error.message}") from None
            except FAILURES as error:
                raise failure(self._settings, error) from None
            rows = [tuple(plain(value) for value in row) for row in fetched]
            yield Result(columns, rows, time.perf_counter() - started, types=types)


def plain(value: Any) -> Any:
    """A value of the client as the embedded engine gives it.

    Rows are dict, their unnamed fields are called `field0`; intervals are text.
    """
    if isinstance(value, NamedRowTuple):
        names = value.__annotations__["names"]
        return {name or f"field{i}": plain(item) for i, (name, item) in enumerate(zip(names, value, strict=True))}
    if isinstance(value, timedelta):
        return day_interval(value // timedelta(milliseconds=1))
    if isinstance(value, relativedelta):
        return month_interval(value.years * 12 + value.months)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


_WHY = "only statements that change nothing are sent to Trino: SELECT, SHOW, DESCRIBE, EXPLAIN, USE, SET SESSION"
# They change what this connection remembers: names, settings, statements that were checked when they were prepared.
_OF_THE_CONNECTION = ("USE", "RESET", "DEALLOCATE")
_SETTINGS = ("SESSION", "TIME", "PATH")


def reading(sql: str) -> list[Statement]:
    """Statements of a text that Trino may get.

    Raises QueryError when one of them would write, also behind EXPLAIN ANALYZE, PREPARE or EXECUTE IMMEDIATE; nothing
    has run then.
    """
    statements = pieces(sql)
    for statement in statements:
        if not _only_reads(statement):
            raise refused(statement, _WHY)
    return statements


def _only_reads(statement: Statement) -> bool:
    word = statement.keyword
    if word in READING or word in _OF_THE_CONNECTION:
        return True
    if word == "SET":
        return any(token.text.upper().split()[:1] == [kind] for token in statement.words()[:1] for kind in _SETTINGS)
    if word == "EXPLAIN":
        analyzed = _analyzed(statement)
        return analyzed is None or _reads(analyzed)
    if word == "PREPARE":
        tokens = statement.words()
        return len(tokens) > 2 and tokens[1].text.upper() == "FROM" and _reads(statement.rest[tokens[2].start :])
    if word == "EXECUTE":
        tokens = statement.words()
        immediate = bool(tokens) and tokens[0].text.upper() == "IMMEDIATE"
        return not immediate or (len(tokens) > 1 and _reads(tokens[1].text))
    return False


def _reads(sql: str) -> bool:
    try:
        return all(_only_reads(statement) for statement in pieces(sql))
    except QueryError:  # nothing that can be told apart
        return False


def _analyzed(statement: Statement) -> str | None:
    """The statement that EXPLAIN ANALYZE [VERBOSE] runs; None for an EXPLAIN that runs nothing."""
    tokens = statement.words()
    if not tokens or tokens[0].text.upper() != "ANALYZE":
        return None
    at = 2 if len(tokens) > 1 and tokens[1].text.upper() == "VERBOSE" else 1
    return statement.rest[tokens[at].start :] if at < len(tokens) else ""
