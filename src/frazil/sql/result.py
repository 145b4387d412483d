"""The answer to one statement, whichever engine gave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Result:
    """Column names, rows of Python values in the order of the columns, and the time taken in seconds.

    Timestamps with a zone are aware `datetime` values; rows and maps are `dict`, arrays are `list`. An engine that
    answers in Arrow keeps its table in `arrow`, one that names Trino's types keeps these in `types`, and one that knows
    which data files it opened keeps their paths in `files`.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    elapsed_s: float = 0.0
    arrow: pa.Table | None = None
    types: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None

    @property
    def row_count(self) -> int:
        return len(self.rows)
