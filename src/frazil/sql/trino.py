"""Statements on a Trino server: the stack's own, or the one that `TRINO_URL` names."""

from __future__ import annotations

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
from frazil.sql.trino_statements import reading

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
