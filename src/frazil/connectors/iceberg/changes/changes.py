"""Changes of a batch inside a task: files of new rows, and their keys, which tell the driver what they replace.

A task keeps the last change of each key and partition. Whether it is the last one of all tasks the driver finds out:
a row that is not is taken out of its file again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import DataFile

from frazil.connectors.iceberg.table.write import DataFileWriter, PartitionedWriter
from frazil.pipeline.changes import DELETED, PLACE, Path, last_in_partition
from frazil.pipeline.keys import Keys, columns_of

FILE = "frazil.file"
POSITION = "frazil.position"
"""Place of a changed row: path of its file, null without one, and position in it."""


@dataclass(frozen=True)
class ChangeFileWriter:
    """Makes the writer of a task for a table whose rows are found by the columns `keys`; picklable."""

    rows: DataFileWriter
    keys: tuple[Path, ...]

    def open(self) -> ChangeWriter:
        """A writer for the changes of one task."""
        return ChangeWriter(self.rows.open(), self.keys)


class CollectingWriter(ABC):
    """Collects changes, and hands on what they give before it is encoded or stored."""

    def __init__(self, to: PartitionedWriter | CollectingWriter) -> None:
        self._to = to
        self._collected: list[pa.Table] = []
        self._collected_bytes = 0

    @property
    def waiting_bytes(self) -> int:
        return self._collected_bytes + self._to.waiting_bytes

    def add(self, table: pa.Table) -> None:
        """Take changes: rows of the table's Arrow schema with DELETED and the columns of PLACE."""
        self._collected.append(table)
        self._collected_bytes += table.nbytes

    def encode_largest(self) -> None:
        """Turn collected rows into Parquet in memory."""
        self._hand_all_on()
        self._to.encode_largest()

    def rehearse(self) -> None:
        """Do what `close` does, but for storing files."""
        self._hand_all_on()
        self._to.rehearse()

    def close(self) -> list[DataFile]:
        """Write what waits; the files are durable on return. Raises as `PartitionedWriter.close` does."""
        self._hand_all_on()
        return self._to.close()

    def _hand_all_on(self) -> None:
        if self._collected:
            table = pa.concat_tables(self._collected)
            self._collected, self._collected_bytes = [], 0
            self._hand_on(table)

    @abstractmethod
    def _hand_on(self, table: pa.Table) -> None:
        """Hand on what changes give."""


class ChangeWriter(CollectingWriter):
    """Writes the rows that changes give."""

    def __init__(self, files: PartitionedWriter, keys: tuple[Path, ...]) -> None:
        super().__init__(files)
        self._files = files
        self._keys = keys
        self._sorted_out: list[pa.Table] = []
        self._changes: pa.Table | None = None

    def close(self) -> list[DataFile]:
        """See `CollectingWriter`; `changes` is complete then."""
        files = super().close()
        if self._sorted_out:
            table = pa.concat_tables(self._sorted_out)
            paths = pa.array([file.file_path for file in files], pa.string())
            place = table.schema.get_field_index(FILE)
            self._changes = table.set_column(place, FILE, paths.take(table.column(FILE).combine_chunks()))
        return files

    def changes(self) -> pa.Table | None:
        """The key columns under their numbers, DELETED, the columns of PLACE, FILE and POSITION; None without changes.

        Complete after `close`.
        """
        return self._changes

    def _hand_on(self, table: pa.Table) -> None:
        """Hand the last change of each key and partition on to the files."""
        codes = Keys(columns_of(table, self._keys)).codes
        table = table.take(pa.array(last_in_partition(codes, table.select(PLACE))))
        kept = pc.invert(table.column(DELETED))
        files, positions = np.full(table.num_rows, -1, np.int64), np.full(table.num_rows, -1, np.int64)
        places = np.flatnonzero(kept.to_numpy())
        if len(places):
            rows = table.filter(kept).drop_columns([DELETED, *PLACE])
            files[places], positions[places] = self._files.place(rows)
        changes = columns_of(table, self._keys)
        for name in (DELETED, *PLACE):
            changes = changes.append_column(name, table.column(name))
        changes = changes.append_column(FILE, pa.array(files, mask=files < 0))
        self._sorted_out.append(changes.append_column(POSITION, pa.array(positions)))
