"""The shell's own commands, which begin with a backslash."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import typer
from sqlglot import exp

from frazil.cli.ui.answers import Answers, SqlFormat
from frazil.errors import UsageError
from frazil.sql.render import TableLook
from frazil.sql.text_table import Expanded

HINT = "\\x or \\format json"
HELP = """\
Statements end with ; and may take several lines. Ctrl+C cancels, Ctrl+D leaves, Tab completes.
  \\dt              tables; so does \\d
  \\d TABLE         columns of a table; also \\d apilogs$snapshots
  \\dn              schemas
  \\i FILE          answer the statements of a file
  \\x [on|off|auto] one value per line; without a word the other way round
  \\timing          show, or do not show, how long a statement took
  \\format FORMAT   table, csv, json or parquet
  \\o FILE          answers go to a file; without a name to the terminal again
  \\?               this list
  \\q               leave"""


def completions() -> dict[str, tuple[str, ...] | None]:
    """Every command, with the words that may follow it; `tables` stands for their names."""
    return {
        "\\d": ("tables",),
        "\\dt": None,
        "\\dn": None,
        "\\i": None,
        "\\x": tuple(Expanded),
        "\\timing": None,
        "\\format": tuple(SqlFormat),
        "\\o": None,
        "\\?": None,
        "\\q": None,
    }


class Leave(Exception):
    """The user wants to leave the shell."""


@dataclass
class Session:
    """State of a shell between two statements; `run` answers statements into `answers`."""

    run: Callable[[str], None]
    answers: Answers = field(default_factory=Answers)
    look: TableLook = field(default_factory=lambda: TableLook(hint=HINT))

    def command(self, line: str) -> None:
        """Obey a line that begins with a backslash.

        Raises UsageError for a command or a word that it does not know, Leave for `\\q`, and what `run` raises.
        """
        word, _, rest = line.strip().rstrip(";").partition(" ")
        rest = rest.strip()
        if word == "\\q":
            raise Leave
        if word == "\\?":
            typer.echo(HELP)
        elif word == "\\d":
            self.run(f"DESCRIBE {_name(rest)}" if rest else "SHOW TABLES")
        elif word == "\\dt":
            self.run("SHOW TABLES")
        elif word == "\\dn":
            self.run("SHOW SCHEMAS")
        elif word == "\\i":
            self.run(_statements(rest))
        elif word == "\\x":
            self._expand(rest)
        elif word == "\\timing":
            self.look = replace(self.look, timing=not self.look.timing)
            typer.echo(f"Times are {'shown' if self.look.timing else 'not shown'}.")
        elif word == "\\format":
            self._format(rest)
        elif word == "\\o":
            self._output(rest)
        else:
            raise UsageError(f"there is no command {word}; \\? lists the commands")

    def _expand(self, word: str) -> None:
        if word and word not in tuple(Expanded):
            raise UsageError(f"\\x {word}: expected on, off or auto")
        other = Expanded.OFF if self.look.expanded is Expanded.ON else Expanded.ON
        self.look = replace(self.look, expanded=Expanded(word) if word else other)
        how = {
            Expanded.ON: "One value per line.",
            Expanded.OFF: "One row per line.",
            Expanded.AUTO: "One row per line; one value per line for a single row that is too wide.",
        }
        typer.echo(how[self.look.expanded])

    def _format(self, word: str) -> None:
        if word not in tuple(SqlFormat):
            raise UsageError(f"\\format {word}: expected {', '.join(SqlFormat)}")
        self._begin(SqlFormat(word), self.answers.path)

    def _output(self, name: str) -> None:
        if not name:
            # the terminal takes no Parquet
            form = SqlFormat.TABLE if self.answers.form is SqlFormat.PARQUET else self.answers.form
            self._begin(form, None)
            return
        self._begin(self.answers.form, Path(name).expanduser())

    def _begin(self, form: SqlFormat, path: Path | None) -> None:
        if (form, path) == (self.answers.form, self.answers.path):
            return
        self.answers.close()
        self.answers = Answers(form, path)
        place = f"to {path}, which is begun anew" if path else "to the terminal"
        typer.echo(f"Answers go as {form} {place}.")


def _statements(name: str) -> str:
    if not name:
        raise UsageError("\\i needs the name of a file")
    try:
        return Path(name).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} cannot be read: {error}") from error


def _name(text: str) -> str:
    """A table's name as SQL: `apilogs$snapshots` needs quotes; parts that are quoted already stay."""
    if '"' in text:
        return text
    return ".".join(exp.to_identifier(part, quoted=True).sql("trino") for part in text.split("."))
