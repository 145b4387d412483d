"""Forms in which the verbs print: tables for people, JSON for programs."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from frazil.cli.ui.console import make_console
from frazil.sql.value_text import json_text, printable_lines


class Output(StrEnum):
    """Form of an answer."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="For people or for programs.")]


def show_json(document: Any) -> None:
    """Print a document as JSON of several lines."""
    typer.echo(json_text(document, indent=2))


def show_table(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: Collection[str] = (), red: Collection[int] = ()
) -> None:
    """Print a table. Columns of `numbers` are aligned to the right.

    Red are the rows of `red`, by index, and those with FAILED in them.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in header:
        number = name in numbers
        table.add_column(name, justify="right" if number else "left", overflow="fold", no_wrap=number)
    for index, row in enumerate(rows):
        texts = [printable_lines(str(value)) for value in row]
        wrong = index in red or any("FAILED" in text for text in texts)
        table.add_row(*map(Text, texts), style="red" if wrong else None)
    make_console().print(table)
