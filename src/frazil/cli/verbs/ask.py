"""The verb `ask`: answers to what operators of an object store want to know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.engines import EngineOption, ExpandedOption, FormatOption, open_engine
from frazil.cli.ui.program import PROGRAM, verb
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import NotFound, UsageError
from frazil.sql.render import Format, TableLook, render
from frazil.sql.result import Result
from frazil.sql.text_table import Expanded

if TYPE_CHECKING:
    from frazil.minio.questions.question import Question, Value
    from frazil.sql.engine import Engine
    from frazil.sql.trino import TrinoEngine


@verb(
    "ask  # all questions",
    "ask who-deleted --bucket photos --object 2025/q4/report.pdf --since 7d",
    "ask why-denied --user app-reader",
    "ask traffic --since 2026-11-01 --until 2026-12-01 --format csv",
    "ask changes --list  # what it answers, and its columns",
    "ask changes --sql  # the statement, for Trino or for `sql`",
    "ask --create-views  # store all questions as views, for Trino",
)
def ask(
    question: Annotated[str | None, typer.Argument(help="Question; without it, all of them are listed.")] = None,
    since: Annotated[
        str, typer.Option("--since", help="From then on: an age (30m, 24h, 7d, 2w), or a date or time in UTC.")
    ] = "24h",
    until: Annotated[str | None, typer.Option("--until", help="Before then, written alike.")] = None,
    bucket: Annotated[str | None, typer.Option("--bucket", help="This bucket only.")] = None,
    object_key: Annotated[str | None, typer.Option("--object", help="This object only; its whole key.")] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="This user only: user name, access key or name in a token.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("-n", "--rows", help="Rows at most; else what suits the question.")
    ] = None,
    form: FormatOption = Format.TABLE,
    expanded: ExpandedOption = False,
    engine: EngineOption = None,
    show_sql: Annotated[bool, typer.Option("--sql", help="Print the SQL statement instead of its answer.")] = False,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the questions; with a question, describe it and its columns.")
    ] = False,
    create_views: Annotated[
        bool, typer.Option("--create-views", help="Store every question as a view in the catalog, for Trino.")
    ] = False,
) -> None:
    """Answer a question about the logs: who deleted, why denied.

    It goes to the Trino server at TRINO_URL when that is set, else to the embedded engine; --engine chooses. Rows are
    those of the last 24 hours unless --since says otherwise.
    """
    if create_views:
        if question is not None or show_sql or show_list:
            raise UsageError("--create-views stores the views of all questions and stands alone; nothing was stored")
        _create_views()
        return
    if question is None:
        if show_sql:
            raise UsageError(f"--sql needs a question; `{PROGRAM} ask` lists them")
        _list(form)
        return
    from frazil.minio.questions.bind import statement
    from frazil.minio.questions.catalog import find

    found = find(question)
    if show_list:
        _describe(found, form)
        return
    if rows is not None and rows < 1:
        raise UsageError(f"-n {rows}: expected a number of rows from 1 on")
    given = {"since": since, "until": until, "bucket": bucket, "object": object_key, "user": user}
    values = _values(found, given)
    limit = rows or found.rows
    settings = Settings.load()
    if show_sql:
        typer.echo(statement(found, {**values, "rows": limit}, (settings.sql_catalog, settings.namespace)))
        return
    look = TableLook(expanded=Expanded.ON if expanded else Expanded.AUTO)
    asked = open_engine(settings, engine)
    if found.table and (found.table,) not in [row[:1] for row in next(iter(asked.run("SHOW TABLES"))).rows]:
        raise NotFound(
            f"there is no table {found.table} in {settings.namespace}. The connectors of `{PROGRAM} init --with "
            "aggregates` make it when calls come"
        )
    _answer(asked, statement(found, {**values, "rows": limit + 1}), limit, form, look)


def _values(question: Question, given: dict[str, str | None]) -> dict[str, Value]:
    """Values of the parameters that are given. Raises UsageError for those that the question does not take."""
    from frazil.text.times import point_in_time

    now = datetime.now(UTC)
    taken = {parameter.name: parameter for parameter in question.parameters}
    texts = {name: text for name, text in given.items() if text is not None}
    for name in texts:
        if name not in taken:
            raise UsageError(f"{question.name} does not take --{name}; it takes {_options(question)}")
    for name in question.required:
        if name not in texts:
            raise UsageError(f"{question.name} needs --{name}: {taken[name].meaning}")
    times = {name: point_in_time(text, now) for name, text in texts.items() if taken[name].type is datetime}
    if "until" in times and times["until"] <= times["since"]:
        raise UsageError(f"--until {given['until']} is not after --since {given['since']}; no record lies between them")
    return {**texts, **times}


def _answer(engine: Engine | TrinoEngine, sql: str, rows: int, form: Format, look: TableLook) -> None:
    """Print the answer; one row more was asked for than is shown, to know whether there are more."""
    console = make_console(stderr=True)
    with progress(console) as show:
        show("asking")
        [result] = engine.run(sql)
    render(replace(result, rows=result.rows[:rows]), form, make_console(), look)
    if result.row_count > rows:
        make_console(stderr=True).print(
            f"There are more rows than these {rows:,}; -n shows more, --since and --until choose others."
        )


def _create_views() -> None:
    from frazil.minio.questions.publish import publish_views

    settings = Settings.load()
    publish_views(settings, lambda name, outcome: typer.echo(f"view       {settings.namespace}.{name:<18} {outcome}"))


def _list(form: Format) -> None:
    from frazil.minio.questions.catalog import EVERY

    rows = [(q.name, q.title, _options(q)) for q in EVERY.values()]
    _print(("question", "answers", "options"), rows, form)
    if form is Format.TABLE:
        typer.echo(f"`{PROGRAM} ask QUESTION` answers it, `{PROGRAM} ask QUESTION --list` describes it.")


def _describe(question: Question, form: Format) -> None:
    if form is Format.TABLE:
        typer.echo(f"{question.title}\n\n{question.answers}\n\nOptions: {_options(question)}")
    _print(("column", "meaning"), list(question.columns.items()), form)


def _print(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], form: Format) -> None:
    render(Result(columns, list(rows)), form, make_console(), TableLook(hint="--format json", footer=False))


def _options(question: Question) -> str:
    names = {"rows": "-n"}
    return ", ".join(names.get(p.name, f"--{p.name}") for p in question.parameters)
