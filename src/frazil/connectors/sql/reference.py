"""Iceberg tables and files that a statement joins with, as they are when a batch begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from frazil.clients.catalog import catalog_errors
from frazil.connectors.sql.reference_files import FILES, ReferenceFiles
from frazil.errors import ConfigError

MOST_ROWS = 1_000_000
"""Rows of a table that a statement may join with: they are in the memory of the worker."""


class ReferenceTables:
    """Tables by their names; one that has not changed is not read again."""

    def __init__(self, catalog: Catalog, names: Sequence[str], folder: Path | None) -> None:
        self._catalog = catalog
        self._names = names
        self._files = ReferenceFiles(folder)
        self._known: dict[str, tuple[int | None, pa.Table]] = {}

    def read(self) -> list[pa.Table]:
        """The rows of each table now. Raises ConfigError for a table that is not there, or too large."""
        return [
            self._files.read(name.removeprefix(FILES)) if name.startswith(FILES) else self._read(name)
            for name in self._names
        ]

    def _read(self, name: str) -> pa.Table:
        with catalog_errors(self._catalog.properties, f"table {name}"):
            try:
                table = self._catalog.load_table(name)
            except NoSuchTableError:
                raise ConfigError(
                    f"frazil.sql reads table {name}, and the catalog has no such table; a topic with a dot in its name "
                    "stands in `backquotes`. Nothing was read"
                ) from None
            snapshot = table.current_snapshot()
            version = None if snapshot is None else snapshot.snapshot_id
            known = self._known.get(name)
            if known is not None and known[0] == version:
                return known[1]
            scan = table.scan()
            rows = sum(task.file.record_count for task in scan.plan_files())
            if rows > MOST_ROWS:
                raise ConfigError(
                    f"frazil.sql joins with table {name}, which has {rows:,} rows; it may have {MOST_ROWS:,}, for the "
                    "worker keeps them in memory. Nothing was read. Make a smaller table of it"
                )
            found = scan.to_arrow()
        self._known[name] = version, found
        return found
