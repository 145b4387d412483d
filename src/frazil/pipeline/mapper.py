"""What a sink may do to records of a known kind before and after they become columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec
import pyarrow as pa


class RecordMapper(Protocol):
    """Picklable and hashable: it travels to the tasks."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Top-level names that show a record for `map`, where the table has no such column."""

    def map(self, members: Mapping[str, msgspec.Raw]) -> Mapping[str, msgspec.Raw]:
        """The members under the table's column names. Raises ValueError for a record of another kind."""

    def redact(self, table: pa.Table) -> pa.Table:
        """The same rows without secrets."""
