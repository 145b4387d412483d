"""Answers for people: a table that names the columns it has no room for, or one value per line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from frazil.sql.result import Result
from frazil.sql.value_text import printable, printable_lines, text_of
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# A text column is not made narrower than its name or this many cells.
_READABLE = 12
_NAMES_SHOWN = 12
_NULL = "NULL"
# What Trino calls the only column of SHOW CREATE … and EXPLAIN.
_TEXTS = ("Create ", "Query Plan")


class Expanded(StrEnum):
    """Choice to print one value per line: always, never, or for a single row that is wider than the terminal."""

    ON = "on"
    OFF = "off"
    AUTO = "auto"


def write_table(
    result: Result,
    console: Console,
    *,
    expanded: Expanded = Expanded.AUTO,
    hint: str = "--expanded or --format json",
    footer: bool = True,
    timing: bool = True,
) -> None:
    """Print an answer as wide as the console.

    A value that is too long ends in `…`. Columns without room are left out on the right, and a line below says how many
    of them, which, and that `hint` shows them. The answer to SHOW CREATE or EXPLAIN is printed as the lines it has.
    `footer` adds the number of rows, `timing` the seconds. Control characters are shown, not sent.
    """
    from rich.text import Text

    if expanded is not Expanded.ON and _is_text(result):
        for (value,) in result.rows:
            console.print(Text(_NULL if value is None else printable_lines(str(value))), soft_wrap=True)
        _write_footer(result, console, footer=footer, timing=timing)
        return
    cells = [[_text(value) for value in row] for row in result.rows]
    layout = _Layout(result, cells, console.width)
    if expanded is Expanded.ON or (expanded is Expanded.AUTO and layout.hidden and len(cells) == 1):
        _write_expanded(result, cells, console)
        hidden = 0
    else:
        _write_rows(result, cells, layout, console)
        hidden = layout.hidden
    if hidden:
        names = [printable(name) for name in result.columns[-hidden:]]
        more = f" and {hidden - _NAMES_SHOWN} more" if hidden > _NAMES_SHOWN else ""
        console.print(
            f"{hidden} of {len(result.columns)} columns have no room: {', '.join(names[:_NAMES_SHOWN])}{more}. "
            f"{hint} shows them.",
            style="yellow",
            soft_wrap=True,
        )
    _write_footer(result, console, footer=footer, timing=timing)


def _is_text(result: Result) -> bool:
    """Whether an answer is text of several lines: that of SHOW CREATE or EXPLAIN, never a value of a table."""
    return len(result.columns) == 1 and result.columns[0].startswith(_TEXTS)


def _write_footer(result: Result, console: Console, *, footer: bool, timing: bool) -> None:
    if footer:
        rows = counted(result.row_count, "row")
        console.print(f"({rows} in {result.elapsed_s:.2f} s)" if timing else f"({rows})", style="dim")


class _Layout:
    """Columns that a width has room for, from the left, and their widths."""

    def __init__(self, result: Result, cells: Sequence[Sequence[Text]], width: int) -> None:
        from rich.cells import cell_len

        self.right = [_all_numbers([row[i] for row in result.rows]) for i in range(len(result.columns))]
        names = [cell_len(printable(name)) for name in result.columns]
        natural = [max([names[i], *(row[i].cell_len for row in cells)]) for i in range(len(names))]
        whole = [
            right or all(value is None or isinstance(value, datetime | date) for value in values)
            for right, values in zip(self.right, _columns(result), strict=True)
        ]
        least = [natural[i] if whole[i] else min(natural[i], max(names[i], _READABLE)) for i in range(len(names))]
        count = 1 if names else 0
        while count < len(names) and sum(least[: count + 1]) + _frame(count + 1) <= width:
            count += 1
        self.widths = least[:count]
        self.hidden = len(names) - count
        self._share(natural, width - sum(self.widths) - _frame(count))

    def _share(self, natural: Sequence[int], room: int) -> None:
        """Widen the columns that need it, the narrowest first, each by an equal part of what is left."""
        short = sorted(
            (i for i, width in enumerate(self.widths) if width < natural[i]), key=lambda i: natural[i] - self.widths[i]
        )
        for position, i in enumerate(short):
            more = min(natural[i] - self.widths[i], max(0, room) // (len(short) - position))
            self.widths[i] += more
            room -= more


def _frame(columns: int) -> int:
    """Cells that the lines and spaces of a table of so many columns take."""
    return 3 * columns - 1


def _write_rows(result: Result, cells: Sequence[Sequence[Text]], layout: _Layout, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, width, right in zip(result.columns, layout.widths, layout.right, strict=False):
        table.add_column(
            Text(printable(name)),
            overflow="ellipsis",
            no_wrap=True,
            justify="right" if right else "left",
            min_width=min(width, console.width),
            max_width=width,
        )
    for row in cells:
        table.add_row(*row[: len(layout.widths)])
    console.print(table)


def _write_expanded(result: Result, cells: Sequence[Sequence[Text]], console: Console) -> None:
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    names = [printable(name) for name in result.columns]
    width = max(map(cell_len, names), default=0)
    for number, row in enumerate(cells, start=1):
        console.print(Text(f"-[ row {number:,} ]".ljust(width + 3, "-"), style="dim"), soft_wrap=True)
        for name, cell in zip(names, row, strict=True):
            console.print(Text.assemble((set_cell_size(name, width), "bold"), " | ", cell), soft_wrap=True)


def _text(value: Any) -> Text:
    from rich.text import Text

    return Text(_NULL, style="dim") if value is None else Text(printable(text_of(value)))


def _columns(result: Result) -> list[list[Any]]:
    return [[row[i] for row in result.rows] for i in range(len(result.columns))]


def _all_numbers(values: Sequence[Any]) -> bool:
    found = [value for value in values if value is not None]
    return bool(found) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in found)
