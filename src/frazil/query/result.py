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

    Timestamps with a zone are aware `datetime` values in UTC; rows and maps are `dict`, arrays are `list`. An engine
    that answers in Arrow keeps its table in `arrow`, one that names Trino's types keeps these in `types`.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    elapsed_s: float = 0.0
    arrow: pa.Table | None = None
    types: tuple[str, ...] = ()

    @property
    def row_count(self) -> int:
        return len(self.rows)
