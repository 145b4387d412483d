"""Transactions that apply each change to the table's metadata once.

PyIceberg applies all of them again, and copies the whole metadata, each time that it looks at it, twenty times in a
commit: for a table of a thousand columns or snapshots that takes longer than everything else of the commit.
"""

from collections.abc import Sequence

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate
from pyiceberg.table.update.snapshot import UpdateSnapshot


def transaction_on(table: Table) -> Transaction:
    """Begin a transaction, as `table.transaction()` does."""
    return _Transaction(table)


def append_files(update: UpdateSnapshot, table: Table, files: Sequence[DataFile]) -> None:
    """Add the files to a snapshot, with the kind of append that the table's properties want."""
    merge = table.properties.get("commit.manifest-merge.enabled", "false").lower() == "true"
    with update.merge_append() if merge else update.fast_append() as append:
        for file in files:
            append.append_data_file(file)


class _Transaction(Transaction):
    _applied: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The metadata of the table with the changes so far."""
        before, updates = self._table.metadata, self._updates
        if self._applied is None or self._applied[0] is not before or self._applied[1] is not updates:
            self._applied = before, updates, super().table_metadata
        return self._applied[2]
