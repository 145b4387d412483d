"""Answers as a table for people, JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

from frazil.query.result import Result

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def render(result: Result, form: Format, console: Console, *, footer: bool = True) -> None:
    """Write an answer; `footer` adds the number of rows and the time taken below a table.

    Timestamps are ISO 8601, with their offset where they have a zone. A table is cut to the width of the console, JSON
    and CSV never are; control characters are shown, not sent. CSV follows RFC 4180, nested values as JSON text,
    null as an empty field.
    """
    if form == Format.JSON:
        write_json(records(result), console.file)
    elif form == Format.CSV:
        writer = csv.writer(console.file)
        writer.writerow(result.columns)
        writer.writerows([["" if value is None else text_of(value) for value in row] for row in result.rows])
    else:
        _write_table(result, console, footer=footer)


def records(result: Result) -> list[dict[str, Any]]:
    """Rows as objects of JSON values; a column name that occurs again gets a number (`name_2`)."""
    names: list[str] = []
    for column in result.columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return [dict(zip(names, map(json_value, row), strict=True)) for row in result.rows]


def write_json(items: Sequence[Any], out: IO[str]) -> None:
    """One array, one element a line."""
    lines = (json.dumps(json_value(item), ensure_ascii=False, allow_nan=False) for item in items)
    out.write("[" + ",\n ".join(lines) + "]\n")


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: what has no JSON type becomes text, and a float without a number too (`NaN`)."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(json_value(key)): json_value(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: json_value(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def text_of(value: Any) -> str:
    """A value in one field: plain text, and JSON for what is nested."""
    plain = json_value(value)
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False, separators=(", ", ": "))


def printable(text: str) -> str:
    """Text that cannot steer a terminal: control characters become escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _write_table(result: Result, console: Console, *, footer: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(result.columns):
        numbers = _all_numbers(row[index] for row in result.rows)
        table.add_column(
            Text(printable(column)), overflow="ellipsis", no_wrap=True, justify="right" if numbers else "left"
        )
    for row in result.rows:
        table.add_row(
            *(Text("NULL", style="dim") if value is None else Text(printable(text_of(value))) for value in row)
        )
    console.print(table)
    if not footer:
        return
    rows = "1 row" if result.row_count == 1 else f"{result.row_count:,} rows"
    console.print(f"({rows} in {result.elapsed_s:.2f} s)", style="dim", highlight=False)


def _all_numbers(values: Iterable[Any]) -> bool:
    found = [value for value in values if value is not None]
    return bool(found) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in found)
