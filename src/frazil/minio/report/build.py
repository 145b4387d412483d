"""Asks the questions and makes the page from the answers."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Protocol

from frazil.errors import QueryError
from frazil.minio.questions.bind import statement
from frazil.minio.questions.catalog import EVERY
from frazil.minio.questions.question import Value
from frazil.minio.report.page import Page
from frazil.minio.report.panels import OF_AGGREGATES, VIEWS, Span, facts, panel
from frazil.sql.result import Result

_TABLES = ("apilogs", "auditlogs", "errorlogs")


class Engine(Protocol):
    """Engine that answers statements: the embedded one or Trino."""

    def run(self, sql: str) -> Iterator[Result]:
        """Answers to the statements of a text, one after the other."""


def build(engine: Engine, span: Span, made: datetime, show: Callable[[str], None]) -> Page:
    """The page for a time; `show` is told what is being asked.

    A question that cannot be answered becomes a panel that says why: a table is missing, or has too much for the
    engine. Raises ServiceUnavailable when the catalog, the object store or Trino do not answer.
    """
    show("looking for the tables")
    [tables] = engine.run("SHOW TABLES")
    known = {row[0] for row in tables.rows}
    missing = [name for name in _TABLES if name not in known]
    answers: dict[str, Result | str] = {}
    views = [*VIEWS, *(view for view in OF_AGGREGATES if EVERY[view.question].table in known)]
    wanted = {view.question: view.rows for view in views}
    for number, (name, rows) in enumerate(wanted.items(), start=1):
        show(f"question {number} of {len(wanted)}: {EVERY[name].title}")
        answers[name] = _ask(engine, name, span, rows)
    show("drawing")
    panels = [panel(view, answers[view.question], span) for view in views]
    notices = []
    if missing:
        notices.append(
            f"There is no table {', '.join(missing)}: what would come from there is not on this page. "
            "The verb init creates the tables."
        )
    elif not any(shown.rows or shown.failure for shown in panels):
        notices.append("The tables have no records of this time.")
    return Page(
        title="MinIO log report",
        span=f"{_time(span.start)} to {_time(span.end)}",
        made=_time(made),
        facts=facts(answers["traffic"], answers["logins"]),
        notices=notices,
        panels=panels,
    )


def _ask(engine: Engine, name: str, span: Span, rows: int | None) -> Result | str:
    values: dict[str, Value] = {"since": span.start, "until": span.end}
    if rows is not None:
        values["rows"] = rows
    try:
        [answer] = engine.run(statement(EVERY[name], values))
    except QueryError as error:
        return f"No answer: {error}"
    return answer


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
