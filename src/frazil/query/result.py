"""The answer to one statement, whichever engine gave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """Column names, rows of Python values in the order of the columns, and the time taken in seconds.

    Timestamps with a zone are aware `datetime` values in UTC; rows and maps are `dict`, arrays are `list`.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    elapsed_s: float = 0.0

    @property
    def row_count(self) -> int:
        return len(self.rows)
