"""The verb `sql`: statements from an argument, a file or a pipe, and the shell."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.answers import Answers, SqlFormat
from frazil.cli.ui.console import make_console
from frazil.cli.ui.engines import EngineName, EngineOption, open_engine
from frazil.cli.ui.program import StatementCommand, verb
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.sql.parameters import TYPES, Value, parse_parameter
from frazil.sql.render import TableLook
from frazil.sql.result import Result
from frazil.sql.text_table import Expanded

if TYPE_CHECKING:
    from frazil.sql.engine import Engine
    from frazil.sql.trino import TrinoEngine


@verb(
    "sql  # the shell",
    'sql "SELECT name, count(*) AS calls FROM apilogs GROUP BY name ORDER BY calls DESC"',
    """sql 'SELECT bucket, "callInfo"."httpStatusCode" AS status FROM apilogs LIMIT 5'""",
    'sql "SELECT * FROM auditlogs LIMIT 1" --expanded',
    "sql 'SELECT name, count(*) FROM apilogs WHERE bucket = :bucket GROUP BY name' --param bucket=\"it's\"",
    """sql 'SELECT * FROM "apilogs$snapshots"' --format json""",
    'sql "SELECT * FROM errorlogs" --format parquet --output-file errors.parquet',
    "sql --file report.sql --format csv",
    'sql --engine trino "SHOW CATALOGS"',
    cls=StatementCommand,
)
def sql(
    statement: Annotated[
        str | None,
        typer.Argument(
            help="Statements in Trino's dialect, separated by `;`; `-` reads standard input. Without it, the shell on "
            "a terminal, else standard input."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Read the statements from a file.")] = None,
    form: Annotated[SqlFormat, typer.Option("--format", help="How to write the answers.")] = SqlFormat.TABLE,
    output: Annotated[
        Path | None,
        typer.Option("--output-file", help="Write the answers to a file. Parquet takes the answer to one statement."),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            help=f"name=value or name:TYPE=value: what :name in the statements stands for. TYPE is one of "
            f"{', '.join(TYPES)}.",
        ),
    ] = None,
    engine: EngineOption = None,
    expanded: Annotated[
        bool, typer.Option("--expanded", "-x", help="Tables as one value per line, so that each column has room.")
    ] = False,
) -> None:
    """Answer SQL statements that read: SELECT, SHOW, DESCRIBE.

    They go to the Trino server at TRINO_URL when that is set, else to the embedded engine; --engine chooses. Statements
    run one after the other and stop at the first error.

    Exit codes: 0 all were answered, 1 one was not, 2 wrong usage, 130 ended by Ctrl+C.
    """
    answers = Answers(form, output)
    values = dict(parse_parameter(text) for text in param or ())
    look = TableLook(expanded=Expanded.ON if expanded else Expanded.AUTO)
    if statement is None and file is None and sys.stdin.isatty() and sys.stdout.isatty():
        _shell(answers, look, values, engine)
        return
    from frazil.sql.binding import bind
    from frazil.sql.statements import pieces

    text, used = bind(_text(statement, file), values)
    unused = ", ".join(name for name in values if name not in used)
    if unused:
        raise UsageError(f"no statement has a parameter {unused}, written :name; nothing was run")
    if form is SqlFormat.PARQUET and len(pieces(text)) > 1:
        raise UsageError("a Parquet file holds one answer and there are several statements; nothing was run")
    settings = Settings.load()
    try:
        answer(open_engine(settings, engine), text, answers, look)
    finally:
        answers.close()


def print_sql(settings: Settings, text: str) -> None:
    """Print the answers to statements as tables; see `sql`. Raises QueryError or ServiceUnavailable."""
    answer(open_engine(settings), text, Answers(), TableLook())


def answer(engine: Engine | TrinoEngine, text: str, answers: Answers, look: TableLook) -> None:
    """Answer statements one after the other; what is written before an error stays written.

    Raises QueryError, ServiceUnavailable, and UsageError where an answer cannot be written.
    """
    answers.check()
    results = engine.run(text)
    while True:
        with progress(make_console(stderr=True)) as show:
            show("running")
            result = next(results, None)
        if result is None:
            return
        answers.write(result, look)


def _shell(answers: Answers, look: TableLook, values: Mapping[str, Value], name: EngineName | None) -> None:
    from frazil.cli.shell.commands import HINT, Session
    from frazil.cli.shell.loop import run_shell
    from frazil.sql.binding import bind
    from frazil.sql.engine import Engine

    answers.check()
    settings = Settings.load()
    engine = open_engine(settings, name)

    def ask(show: str) -> Result:
        return next(engine.run(show))

    def run(text: str) -> None:
        answer(engine, bind(text, values)[0], session.answers, session.look)

    session = Session(run, answers, replace(look, hint=HINT))
    where = "the embedded engine" if isinstance(engine, Engine) else f"Trino at {settings.trino_url}"
    run_shell(settings, session, ask, f"SQL in Trino's dialect for {where}. \\? shows help, \\q leaves.")


def _text(statement: str | None, file: Path | None) -> str:
    if statement is not None and file is not None:
        raise UsageError('give the statements either as an argument, sql "SELECT ...", or with --file')
    if file is None:
        text = sys.stdin.read() if statement in (None, "-") else str(statement)
        if not text.strip():
            raise UsageError('there is no statement; give it as an argument, sql "SELECT ...", or on standard input')
        return text
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--file {file} cannot be read: {error}") from None
