"""Schema evolution: one update on the driver for all unknown fields of a batch (iceberg-sink.md 3.3, X14)."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import Table

from frazil.errors import CommitConflict
from frazil.pipeline.infer import Path
from frazil.pipeline.types import Type
from frazil.sinks.iceberg.schema import iceberg_type

_ATTEMPTS = 3


def add_columns(catalog: Catalog, table: Table, unknown: Mapping[Path, Type]) -> Table:
    """Add every unknown field that the table does not have yet, as an optional column; returns the table as it is now.

    Raises CommitConflict when other writers win three times in a row.
    """
    for _ in range(_ATTEMPTS):
        known = {name for name in table.schema().column_names}
        missing = {path: type_ for path, type_ in unknown.items() if ".".join(path) not in known}
        if not missing:
            return table
        try:
            with table.update_schema() as update:
                for path, type_ in sorted(missing.items()):
                    update.add_column(path, iceberg_type(type_))
            return catalog.load_table(table.name())
        except (CommitFailedException, CommitStateUnknownException):
            table = catalog.load_table(table.name())
    raise CommitConflict(
        f"columns could not be added to {'.'.join(table.name())}: other writers changed it {_ATTEMPTS} times; "
        "nothing was written, the batch will be read again"
    )
