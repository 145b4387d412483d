"""Rows in memory instead of files, to look at what a connector would store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass
class KeptRows:
    """A writer of tasks that keeps the rows in `parts`."""

    parts: list[pa.Table] = field(default_factory=list)
    waiting_bytes: int = 0

    def open(self) -> KeptRows:
        """Itself: it is for one task."""
        return self

    def add(self, table: pa.Table) -> None:
        """Keep rows."""
        self.parts.append(table)

    def encode_largest(self) -> None:
        """Nothing waits."""

    def close(self) -> list[Any]:
        """No files."""
        return []
