"""Answers as a table for people, JSON or CSV for programs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

from frazil.sql.result import Result
from frazil.sql.text_table import Expanded, write_table
from frazil.sql.value_text import json_text, json_value, printable_lines, text_of, unique_names

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    """Form in which an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True)
class TableLook:
    """Look of tables; see `frazil.sql.text_table.write_table`."""

    expanded: Expanded = Expanded.AUTO
    hint: str = "--expanded or --format json"
    footer: bool = True
    timing: bool = True


def render(result: Result, form: Format, console: Console, look: TableLook | None = None) -> None:
    """Write an answer.

    Timestamps are ISO 8601, with their offset where they have a zone. A table fits the width of the console, JSON and
    CSV are never cut; `look` is for tables. CSV follows RFC 4180, nested values as JSON text, null as an empty field;
    a control character in it reaches a file or a pipe as it is, and a terminal as an escape.
    """
    if form == Format.JSON:
        write_json(records(result), console.file)
    elif form == Format.CSV:
        text = printable_lines if console.is_terminal else str
        writer = csv.writer(console.file)
        writer.writerow(map(text, result.columns))
        writer.writerows([["" if value is None else text(text_of(value)) for value in row] for row in result.rows])
    else:
        look = look or TableLook()
        write_table(result, console, expanded=look.expanded, hint=look.hint, footer=look.footer, timing=look.timing)


def records(result: Result) -> list[dict[str, Any]]:
    """Rows as objects of JSON values; a column name that occurs again gets a number (`name_2`)."""
    names = unique_names(result.columns)
    return [dict(zip(names, map(json_value, row), strict=True)) for row in result.rows]


def write_json(items: Sequence[Any], out: IO[str]) -> None:
    """Write a JSON array, one element a line."""
    out.write("[" + ",\n ".join(json_text(json_value(item)) for item in items) + "]\n")
