"""Pieces of a report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose other columns are numbers."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def count(value: float | None, unit: float = 1, suffix: str = "") -> str:
    """A whole number with separators; a dash for None."""
    return "–" if value is None else f"{value / unit:,.0f}{suffix}"


def memory(size: int) -> str:
    """Bytes as MiB."""
    return f"{size / 2**20:,.0f} MiB"
