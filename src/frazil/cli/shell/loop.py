"""The shell: reads statements from the terminal until the user leaves."""

import os
from collections.abc import Callable
from pathlib import Path

import typer

from frazil.cli.shell.commands import Leave, Session, completions
from frazil.cli.shell.completion import SqlCompleter
from frazil.cli.ui.console import make_console
from frazil.environment.extras import extra
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.sql.result import Result
from frazil.sql.statements import ends_statement

with extra("shell"):
    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer

_PROMPT = "frazil> "
_CONTINUED = "     -> "


def run_shell(settings: Settings, session: Session, ask: Callable[[str], Result], greeting: str) -> None:
    """Read and answer statements and commands; an error is printed and the next line is read.

    `ask` answers the SHOW statements of completion. What is typed is kept in `sql_history` of the home folder, readable
    by its owner only. Returns when the user leaves with Ctrl+D or `\\q`.
    """
    completer = SqlCompleter(ask, settings.namespace, dict(completions()))
    prompt: PromptSession[str] = PromptSession(
        _PROMPT,
        multiline=Condition(lambda: not _is_whole(get_app().current_buffer.text)),
        prompt_continuation=_CONTINUED,
        history=FileHistory(str(_history(settings.home))),
        completer=completer,
        complete_while_typing=False,
        complete_in_thread=True,
        enable_history_search=True,
        lexer=PygmentsLexer(SqlLexer),
    )
    errors = make_console(stderr=True)
    typer.echo(greeting)
    try:
        while True:
            try:
                _answer(prompt.prompt(), session)
            except KeyboardInterrupt:
                continue
            except FrazilError as error:
                completer.forget()
                errors.print(f"frazil: {error}", style="red", soft_wrap=True)
    except (EOFError, Leave):
        return
    finally:
        session.answers.close()


def _answer(text: str, session: Session) -> None:
    line = text.strip()
    if line.rstrip(";").strip().lower() in ("quit", "exit"):
        raise Leave
    if line.rstrip(";").strip().lower() == "help":
        line = "\\?"
    if line.startswith("\\"):
        session.command(line)
    elif line:
        try:
            session.run(line)
        except KeyboardInterrupt:
            typer.echo("cancelled", err=True)


def _is_whole(text: str) -> bool:
    """Whether Enter ends the typed text, instead of adding a line to it."""
    line = text.strip()
    return not line or line.startswith("\\") or line.lower() in ("quit", "exit", "help") or ends_statement(line)


def _history(home: Path) -> Path:
    """The file of what was typed; it can hold what only its owner should read."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "sql_history"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    return path
