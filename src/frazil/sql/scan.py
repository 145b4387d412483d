"""A table scan that the embedded engine pulls, batch by batch, as often as it wants to."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import FileScanTask, Table

from frazil.clients.data_files import arrow_schema, read_batches
from frazil.sql.metadata import metadata_table
from frazil.sql.newest import newest_files
from frazil.sql.translation.scans import Scan
from frazil.sql.translation.twins import distinct_schema, relabelled

# Files are read ahead of the engine while they are together at most this large (as stored), and at most so many.
_BYTES_AT_ONCE = 64 << 20
_FILES_AT_ONCE = 16
_HIDDEN = {"$path": pa.string(), "$partition": pa.string(), "$file_modified_time": pa.timestamp("ms", tz="UTC")}


class ScanStream:
    """Implements Arrow's C stream protocol; each stream starts at the beginning of the same snapshot.

    `failure` keeps what went wrong while the engine pulled, because the engine only reports its text. `opened` are the
    paths of the files that were read.
    """

    def __init__(self, scan: Scan) -> None:
        self.failure: Exception | None = None
        self.opened: list[str] = []
        table = scan.source.table
        self._scan = table.scan(
            row_filter=scan.row_filter,
            selected_fields=scan.columns or _least(scan),
            snapshot_id=scan.source.snapshot_id,
            limit=scan.limit,
        )
        self._table = table
        self._newest = scan.newest
        self._hidden = scan.hidden
        self._projection = self._scan.projection()
        fields = [pa.field(name, _HIDDEN[name]) for name in scan.hidden]
        read = arrow_schema(self._projection)
        self._given = distinct_schema(read, [scan.names.get(name, name) for name in read.names])
        self._schema = pa.schema([*self._given, *fields])
        self._tasks: list[FileScanTask] | None = None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns that the stream has."""
        return self._schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._read()
        except Exception as error:
            self.failure = error
            raise

    def files(self) -> list[FileScanTask]:
        """The files that hold what is wanted."""
        if self._tasks is None:
            tasks = self._planned()
            self._tasks = newest_files(tasks, self._table.schema(), self._newest) if self._newest else tasks
        return self._tasks

    def _planned(self) -> list[FileScanTask]:
        try:
            return list(self._scan.plan_files())
        except TypeError:
            # PyIceberg compares a partition of nulls under OR; so every file is read and its rows are filtered
            return list(self._scan.update(row_filter=AlwaysTrue()).plan_files())

    def _read(self) -> Iterator[pa.RecordBatch]:
        remaining = self._scan.limit
        for group in _groups(self.files(), alone=bool(self._hidden)):
            self.opened += [task.file.file_path for task in group]
            more = [_constant(self._table, group[0], name) for name in self._hidden]
            for batch in read_batches(self._table, group, self._projection, self._scan.row_filter, remaining):
                given = relabelled(batch, self._given)
                yield _with_columns(given, self._schema, more) if more else given
                if remaining is not None:
                    remaining -= batch.num_rows
            if remaining is not None and remaining <= 0:
                return


def _least(scan: Scan) -> tuple[str, ...]:
    """Choose one column, where the statement needs only columns that are not in the files."""
    return (scan.source.schema.fields[0].name,)


def _groups(tasks: Sequence[FileScanTask], *, alone: bool) -> Iterator[list[FileScanTask]]:
    group: list[FileScanTask] = []
    size = 0
    for task in tasks:
        if group and (alone or len(group) == _FILES_AT_ONCE or size + task.file.file_size_in_bytes > _BYTES_AT_ONCE):
            yield group
            group, size = [], 0
        group.append(task)
        size += task.file.file_size_in_bytes
    if group:
        yield group


def _with_columns(batch: pa.RecordBatch, schema: pa.Schema, values: Sequence[Any]) -> pa.RecordBatch:
    kinds = schema.types[batch.num_columns :]
    more = [pa.repeat(pa.scalar(value, kind), batch.num_rows) for value, kind in zip(values, kinds, strict=True)]
    return pa.RecordBatch.from_arrays([*batch.columns, *more], schema=schema)


def _constant(table: Table, task: FileScanTask, name: str) -> Any:
    """The value of a hidden column for the rows of a file."""
    values: dict[str, Callable[[], Any]] = {
        "$path": lambda: task.file.file_path,
        "$partition": lambda: _partition(table, task),
        "$file_modified_time": lambda: _modified(table, task.file.file_path),
    }
    return values[name]()


def _partition(table: Table, task: FileScanTask) -> str:
    """A file's partition as its folder is named, `time_day=2025-01-31/bucket=photos`; empty without partitions."""
    spec = table.metadata.specs()[task.file.spec_id]
    return spec.partition_to_path(task.file.partition, table.schema()) if spec.fields else ""


def _modified(table: Table, path: str) -> datetime:
    if not isinstance(table.io, PyArrowFileIO):
        raise OSError(f"{path}: the object store does not say when it was written")
    scheme, netloc, inside = table.io.parse_location(path, table.io.properties)
    info = table.io.fs_by_scheme(scheme, netloc).get_file_info(inside)
    if info.mtime is None:
        raise FileNotFoundError(f"{path} is not there any more")
    moment: datetime = info.mtime.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def readable(scan: Scan) -> ScanStream | pa.Table:
    """Data that the engine reads for a scan.

    Without columns only the number of rows matters; it comes from the manifests where no filter has to be applied.
    """
    if scan.rows is not None:
        return scan.rows
    if scan.source.metadata is not None:
        return metadata_table(scan.source.table, scan.source.metadata)
    if not scan.columns and not scan.hidden:
        counted = scan.source.table.scan(row_filter=scan.row_filter, snapshot_id=scan.source.snapshot_id).count()
        return pa.table({"rows": pa.nulls(counted)})
    return ScanStream(scan)
