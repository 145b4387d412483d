"""Console that the verbs print to, and ask on."""

import os
import select
import sys
from typing import IO, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from frazil.errors import UsageError
from frazil.sql.value_text import printable_lines

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]

# Wider than any line: nothing is wrapped.
_UNLIMITED = 1_000_000
# How soon a signal is seen that came just before waiting.
_LOOK_SECONDS = 0.2


class _PlainConsole(Console):
    """Prints strings without markup; a control character in one is shown, not sent to the terminal.

    A message may quote what somebody else wrote: a server, a record, a file.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A string as rich's text."""
        return super().render_str(printable_lines(text), **options)


def make_console(*, stderr: bool = False) -> Console:
    """A console that prints text as it is, without markup and without control characters.

    It is as wide as the terminal; where there is none lines stay whole, so that programs can read them. The
    environment variable `COLUMNS` sets another width for both.
    """
    console = _PlainConsole(stderr=stderr)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = _UNLIMITED
    return console


def file_console(file: IO[str]) -> Console:
    """A console on a file: whole lines, no colours."""
    return _PlainConsole(file=file, width=_UNLIMITED, force_terminal=False, no_color=True)


def tell_waiting(text: str) -> None:
    """Say on standard error what is waited for."""
    typer.echo(text, err=True)


def consent(yes: bool, question: str, nothing: str = "nothing was changed") -> None:
    """Return when the user has said yes, with an option or when asked.

    Any other answer ends the program with code 1, after it was told that `nothing` was done. Raises UsageError where
    nobody can be asked.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} This cannot be asked here: {nothing}; pass --yes to go on.")
    while True:
        typer.echo(f"{question} [y/N]: ", nl=False)
        answer = _typed_line().strip().lower()
        if answer in ("y", "yes"):
            return
        if answer in ("n", "no", ""):
            typer.echo(nothing)
            raise typer.Exit(1)
        typer.echo("Error: invalid input")


def _typed_line() -> str:
    """A line from the terminal; Ctrl+C is seen within a moment, also when it comes just before the reading.

    A signal that arrives between the interpreter's last look and a blocking read waits until the read ends.
    """
    while not select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
        pass
    line = sys.stdin.readline()
    if not line:
        typer.echo()
        raise typer.Abort
    return line
