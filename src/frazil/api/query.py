"""SQL over the tables, in Trino's dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.minio.questions.views import QUESTION_VIEWS
from frazil.sql.engine import embedded_engine
from frazil.sql.result import Result

if TYPE_CHECKING:
    import pyarrow as pa


class Answer:
    """The answer to one statement; in a notebook it shows as a table."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._result.columns

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as Python values."""
        return list(self._result.rows)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table. Raises UsageError for an answer to SHOW or DESCRIBE, which has only rows."""
        if self._result.arrow is None:
            raise UsageError("only answers to SELECT come in Arrow; use rows()")
        return self._result.arrow

    def __repr__(self) -> str:
        return f"<{len(self._result.rows):,} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from html import escape

        def cells(tag: str, values: tuple[Any, ...]) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(str(value))}</{tag}>" for value in values) + "</tr>"

        shown = "".join(cells("td", row) for row in self._result.rows[:_SHOWN])
        more = len(self._result.rows) - _SHOWN
        note = f"<p>and {more:,} more rows</p>" if more > 0 else ""
        return f"<table>{cells('th', self.columns)}{shown}</table>{note}"


_SHOWN = 100


def query(sql: str, *, env: Mapping[str, str] | None = None) -> Answer:
    """Answer one statement that reads, over the catalog that the environment describes.

    `env` takes the place of the process' environment and `.env`. Raises QueryError for what cannot be answered,
    UsageError for several statements, ServiceUnavailable when the catalog or the object store does not answer.
    """
    answers = list(embedded_engine(Settings.load(env), QUESTION_VIEWS).run(sql))
    if len(answers) != 1:
        raise UsageError(f"query answers one statement; these are {len(answers)}")
    return Answer(answers[0])
