"""The mapping of records of a known kind to column names, and the redaction of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec
import pyarrow as pa


class RecordMapper(Protocol):
    """Maps and redacts records; picklable and hashable, since it travels to the tasks."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Top-level names that show a record for `map`, where the table has no such column."""

    def map(self, members: Mapping[str, msgspec.Raw]) -> Mapping[str, msgspec.Raw]:
        """Put the members under the table's column names. Raises ValueError for a record of another kind."""

    def redact(self, table: pa.Table) -> pa.Table:
        """Remove secrets from rows."""
