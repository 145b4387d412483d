"""Pieces of a report in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose other columns are numbers."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def markdown_columns(items: Iterable[T], *columns: tuple[str, Callable[[T], str]]) -> str:
    """A table with a row for each item, by the headers of its columns and what these say of it."""
    return markdown_table([header for header, _ in columns], ([cell(one) for _, cell in columns] for one in items))


def count(value: float | None, unit: float = 1, suffix: str = "") -> str:
    """A whole number with separators; a dash for None."""
    return "–" if value is None else f"{value / unit:,.0f}{suffix}"


def memory(size: int) -> str:
    """Bytes as MiB."""
    return f"{size / 2**20:,.0f} MiB"
