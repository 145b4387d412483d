"""Tables that keep more of change events than the rows as they are: each change, or each version of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.connectors.iceberg.changes.changes import ChangeFileWriter, ChangeWriter, CollectingWriter
from frazil.connectors.iceberg.changes.match import Candidate, Deletes, Lookup, look_up
from frazil.connectors.iceberg.changes.merge import candidates, look_up_all, rewrites
from frazil.connectors.iceberg.changes.row_level import RowLevelOperation, check_mode
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter, PartitionedWriter
from frazil.connectors.iceberg.table.writers import file_writer
from frazil.pipeline.changes import ChangeSpec, Path
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.gaps import Before, WantedRows
from frazil.pipeline.keys import Keys
from frazil.pipeline.task_spec import Writer
from frazil.pipeline.transforms.plugin import CHANGE_POSITION, CURRENT
from frazil.pipeline.versions import NOTES, Versions, ended, with_positions


@dataclass(frozen=True)
class LogOperation(RowLevelOperation):
    """Operation by which each change is a new row; see `Append`."""

    def check(self, table: Table) -> None:
        check_mode(table, "append")

    def commit(self, target: TableBranch, table: Table, floor: Floor, batch: Commit) -> None:
        target.commit(table, floor, batch)

    def _changes(self, schema: Schema, name: str) -> ChangeSpec:
        return ChangeSpec(self._ids(schema, name), self.changes.operation, NOTES, log=True)

    def _writer(self, table: Table, before: Before | None) -> Writer:
        return LogFileWriter(file_writer(self.config, table), _arrow(table))


@dataclass(frozen=True)
class HistoryOperation(RowLevelOperation):
    """Operation by which each change begins a version of its row, and ends the one before; see `Append`.

    Versions are rows that are found by the key and by the place of the change that began them.
    """

    def check(self, table: Table) -> None:
        rewrites(table)
        self._keys(table)
        check_mode(table, "history")

    def commit(self, target: TableBranch, table: Table, floor: Floor, batch: Commit) -> None:
        if batch.truncates:
            batch = self._ending(target, table, batch)
        self._merge(target, table, floor, batch, self._of_versions(table))

    def _changes(self, schema: Schema, name: str) -> ChangeSpec:
        return ChangeSpec(self._keys_of(schema, name), self.changes.operation, NOTES, versions=True)

    def _writer(self, table: Table, before: Before | None) -> Writer:
        rows = None if before is None else before.rows
        return HistoryFileWriter(self._changes_of(table), _arrow(table), self._keys(table), rows)

    def _rows_of(self, target: TableBranch, table: Table, wanted: WantedRows) -> pa.Table:
        whole = WantedRows(wanted.keys, tuple(_arrow(table).names))
        writer = file_writer(self.config, table)
        return look_up_all(table, target.branch, self._keys(table), whole, writer, self._spread, last=True)

    def _of_versions(self, table: Table) -> tuple[Path, ...]:
        return (*self._keys(table), (CHANGE_POSITION,))

    def _changes_of(self, table: Table) -> ChangeFileWriter:
        return ChangeFileWriter(file_writer(self.config, table), self._of_versions(table))

    def _ending(self, target: TableBranch, table: Table, batch: Commit) -> Commit:
        """Make the commit of a record that empties the table: all rows that are current end."""
        ((place, end),) = batch.offsets.items()
        reached = batch.reached.get(place)
        position, ms = (end - 1, batch.valid_through_ms) if reached is None else (reached.order, reached.ts)
        what = Ending(self._changes_of(table), _arrow(table), position, ms or 0)
        found = self._spread(partial(end_all, what), Deletes().with_gone(table.io, candidates(table, target.branch)))
        files = [file for several, _ in found for file in several]
        return replace(batch, files=files, changes=[table for _, table in found if table is not None], truncates=False)


def _arrow(table: Table) -> pa.Schema:
    return arrow_schema(struct_of(table.schema()))


@dataclass(frozen=True)
class Ending:
    """The end of all rows, at a place in the source and a moment in epoch milliseconds."""

    writer: ChangeFileWriter
    schema: pa.Schema
    position: int
    ms: int


def end_all(what: Ending, candidate: Candidate) -> tuple[Sequence[DataFile], pa.Table | None]:
    """Write the rows of a data file that are current as ended; give their files and changes. Raises as `look_up`."""
    current = Keys(pa.table({"0": [True]}))
    rows = look_up(Lookup(what.writer.rows, ((CURRENT,),), current, tuple(what.schema.names)), candidate)
    writer = what.writer.open()
    writer.add(ended(rows, what.schema, what.position, what.ms))
    return writer.close(), writer.changes()


@dataclass(frozen=True)
class LogFileWriter:
    """Makes the writer of a task for a table that keeps each change; picklable."""

    rows: DataFileWriter
    schema: pa.Schema

    def open(self) -> LogWriter:
        """A writer for the changes of one task."""
        return LogWriter(self.rows.open(), self.schema)


class LogWriter:
    """Writes a row for each change."""

    def __init__(self, files: PartitionedWriter, schema: pa.Schema) -> None:
        self._files, self._schema = files, schema
        self.encode_largest, self.rehearse, self.close = files.encode_largest, files.rehearse, files.close

    @property
    def waiting_bytes(self) -> int:
        return self._files.waiting_bytes

    def add(self, table: pa.Table) -> None:
        """Take changes, as `ChangeWriter` does."""
        self._files.add(with_positions(table, self._schema))


@dataclass(frozen=True)
class HistoryFileWriter:
    """Makes the writer of a task for a table that keeps each version; `before` are those that it has. Picklable."""

    changes: ChangeFileWriter
    schema: pa.Schema
    keys: tuple[Path, ...]
    before: pa.Table | None

    def open(self) -> HistoryWriter:
        """A writer for the changes of one task, which has all those of a row."""
        before = self.schema.empty_table() if self.before is None else self.before
        return HistoryWriter(self.changes.open(), Versions(self.schema, self.keys, before))


class HistoryWriter(CollectingWriter):
    """Writes the versions that changes begin and end."""

    def __init__(self, rows: ChangeWriter, versions: Versions) -> None:
        super().__init__(rows)
        self._rows, self._versions = rows, versions
        self.changes = rows.changes

    def _hand_on(self, table: pa.Table) -> None:
        self._rows.add(self._versions.follow(table))
