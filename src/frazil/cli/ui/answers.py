"""Output of the answers of `sql`: to the terminal, a pipe or a file, in one of four forms."""

import sys
from contextlib import suppress
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import IO

import typer

from frazil.cli.ui.console import file_console, make_console
from frazil.cli.ui.outfile import whole_file
from frazil.errors import UsageError
from frazil.sql.render import Format, TableLook, render
from frazil.sql.result import Result


class SqlFormat(StrEnum):
    """Form of the answer to a statement."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


class Answers:
    """Writes one answer after the other.

    A file is begun anew with the first answer and holds all that follow; one that is Parquet takes one answer and
    appears when it is complete. Without a file everything goes to standard output, Parquet only where that is no
    terminal. `check` and `write` raise UsageError for what cannot be written, with nothing written.
    """

    def __init__(self, form: SqlFormat = SqlFormat.TABLE, path: Path | None = None) -> None:
        self.form = form
        self.path = path
        self._file: IO[str] | None = None
        self._written = 0

    def check(self) -> None:
        """Refuse Parquet where there is no place for it, before a statement runs."""
        if self.form is not SqlFormat.PARQUET:
            return
        if self.path is None and sys.stdout.isatty():
            raise UsageError(
                "Parquet is not text: nothing was written to the terminal. Name a file with --output-file, in the "
                "shell with \\o FILE"
            )
        if self._written:
            held = self.path or "standard output"
            raise UsageError(f"a Parquet file holds one answer, and {held} has one; name another file for the next")

    def write(self, result: Result, look: TableLook) -> None:
        """Write an answer."""
        self.check()
        if self.form is SqlFormat.PARQUET:
            self._write_parquet(result)
        elif self.path is None:
            render(result, Format(self.form), make_console(), look)
            sys.stdout.flush()
        else:
            file = self._open(self.path)
            try:
                render(result, Format(self.form), file_console(file), look)
                file.flush()
            except OSError as error:
                self._give_up(file)
                raise _unwritable(self.path, error) from None
        self._written += 1

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _give_up(self, file: IO[str]) -> None:
        """Close a file whose rest cannot be written."""
        self._file = None
        with suppress(OSError):  # that it fails was the reason
            file.close()

    def _open(self, path: Path) -> IO[str]:
        if self._file is None:
            try:
                self._file = path.open("w", encoding="utf-8", newline="")  # CSV brings its own line ends
            except OSError as error:
                raise _unwritable(path, error) from None
        return self._file

    def _write_parquet(self, result: Result) -> None:
        from frazil.sql.parquet import write_parquet

        if self.path is None:
            write_parquet(result, sys.stdout.buffer)
            return
        content = BytesIO()
        write_parquet(result, content)
        with whole_file(self.path) as save:
            save(content.getvalue())
        typer.echo(f"{result.row_count:,} {'row is' if result.row_count == 1 else 'rows are'} in {self.path}", err=True)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path} cannot be written: {error.strerror or error}. Name a file in a folder that you may write"
    )
