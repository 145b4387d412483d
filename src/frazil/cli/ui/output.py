"""Forms in which the verbs print: tables for people; JSON, YAML and bare names for programs."""

import json
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from frazil.cli.ui.console import make_console
from frazil.sql.value_text import json_text, printable_lines

_GAP = 2
_LEAST = 20
"""Columns between those of a table, and characters that one which is cut keeps."""


class Output(StrEnum):
    """Form of an answer; NAME is of lists."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


def _without_names(output: Output) -> Output:
    if output is Output.NAME:
        raise typer.BadParameter("'name' is for verbs that list; this one has table, json and yaml")
    return output


OutputOption = Annotated[
    Output,
    typer.Option(
        "--output", "-o", metavar="[table|json|yaml]", callback=_without_names, help="For people or programs."
    ),
]
ListOption = Annotated[Output, typer.Option("--output", "-o", help="For people, for programs, or only the names.")]


def show(
    output: Output,
    document: Any,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Collection[str] = (),
    names: Iterable[str] | None = None,
) -> None:
    """Print `document` as JSON or YAML, `rows` below `header` as a table, or `names`: the first column without them."""
    if output is Output.TABLE:
        show_table(header, list(rows), numbers=numbers)
    elif output is Output.NAME:
        for name in (str(row[0]) for row in rows) if names is None else names:
            typer.echo(printable_lines(name))
    else:
        typer.echo(as_text(document, output))


def as_text(document: Any, output: Output) -> str:
    """A document as JSON or YAML, without a newline at its end."""
    text = json_text(document, indent=2)
    if output is not Output.YAML:
        return text
    import yaml

    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=1_000_000).rstrip("\n")


def show_table(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    numbers: Collection[str] = (),
    red: Collection[int] = (),
    cut: str = "",
) -> None:
    """Print a table. Columns of `numbers` are aligned to the right; column `cut` ends where a terminal does.

    Red are the rows of `red`, by index, and those with FAILED in them.
    """
    from rich.cells import cell_len
    from rich.segment import Segment, Segments
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    lines = [[printable_lines(str(value)) for value in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(header, *lines, strict=True)]
    others = sum(width + _GAP for name, width in zip(header, widths, strict=True) if name != cut)
    table = Table(box=None, pad_edge=False)
    for name in header:
        right = name in numbers
        if name == cut:
            table.add_column(name, no_wrap=True, max_width=max(_LEAST, console.width - others))
        else:
            table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=right)
    for index, texts in enumerate(lines):
        wrong = index in red or any("FAILED" in text for text in texts)
        table.add_row(*map(Text, texts), style="red" if wrong else None)
    for line in console.render_lines(table, pad=False):
        while line and not line[-1].text.strip():  # which would make each line as long as the longest
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        console.print(Segments([*line, Segment.line()]), end="")
