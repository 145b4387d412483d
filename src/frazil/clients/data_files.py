"""Rows of a table's data files, in one Arrow schema whichever program wrote them."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, BoundTerm
from pyiceberg.io import FileIO, pyarrow
from pyiceberg.io.pyarrow import ArrowProjectionVisitor, ArrowScan, _ConvertToArrowExpression, schema_to_pyarrow
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import ListType, MapType, NestedField, StructType

_ALL_ROWS = AlwaysTrue()


class _Projection(ArrowProjectionVisitor):
    """PyIceberg's projection, which makes empty lists and maps of those that are null where they hold structs."""

    def list(self, list_type: ListType, list_array: pa.Array | None, value_array: pa.Array | None) -> pa.Array | None:
        return _with_nulls_of(list_array, super().list(list_type, list_array, value_array))

    def map(
        self, map_type: MapType, map_array: pa.Array | None, key_result: pa.Array | None, value_result: pa.Array | None
    ) -> pa.Array | None:
        return _with_nulls_of(map_array, super().map(map_type, map_array, key_result, value_result))


class _Conditions(_ConvertToArrowExpression):
    """PyIceberg's conditions on columns, which takes dots in names for ways into structs."""

    def _get_field_name(self, term: BoundTerm) -> str | tuple[str, ...]:
        wanted = term.ref().field
        path = None if self._schema is None else _path_of(self._schema.fields, wanted.field_id)
        return path or wanted.name


class _Scanner:
    """Arrow's scanner, which takes dots in the texts that choose columns for ways into structs."""

    @staticmethod
    def from_fragment(fragment: ds.Fragment, columns: Sequence[str] | None = None, **more: Any) -> ds.Scanner:
        chosen = None if columns is None else {name: ds.field(name) for name in columns}
        return ds.Scanner.from_fragment(fragment, columns=chosen, **more)


_read_deletes = pyarrow._read_deletes  # noqa: SLF001


def _deletes_by_file(io: FileIO, data_file: DataFile) -> dict[str, pa.ChunkedArray]:
    """PyIceberg's positions by data file, which makes a text of each path and looks through all for each data file."""
    if data_file.file_format != FileFormat.PARQUET:
        return _read_deletes(io, data_file)
    with io.new_input(data_file.file_path).open() as stream:
        table = pq.read_table(stream, columns=["file_path", "pos"], read_dictionary=["file_path"])
    paths = table.column("file_path").unify_dictionaries().combine_chunks()
    codes, positions = paths.indices.to_numpy(), table.column("pos").to_numpy()
    order = np.argsort(codes, kind="stable")
    parts = np.split(positions[order], np.flatnonzero(np.diff(codes[order])) + 1)
    return {path: pa.chunked_array([part]) for path, part in zip(paths.dictionary.to_pylist(), parts, strict=False)}


def _rows_left(positional_deletes: list[pa.ChunkedArray], start_index: int, end_index: int) -> pa.Array:
    """PyIceberg's places of the rows that are left between two positions, which looks each of them up among all."""
    left = np.ones(end_index - start_index, bool)
    for part in positional_deletes:
        positions = part.to_numpy()
        left[positions[(positions >= start_index) & (positions < end_index)] - start_index] = False
    return pa.array(np.flatnonzero(left))


pyarrow._read_deletes = _deletes_by_file  # noqa: SLF001
pyarrow._combine_positional_deletes = _rows_left  # noqa: SLF001
pyarrow.ArrowProjectionVisitor = _Projection  # type: ignore[misc]
pyarrow._ConvertToArrowExpression = _Conditions  # type: ignore[misc]  # noqa: SLF001
setattr(pyarrow, "ds", SimpleNamespace(**{**vars(ds), "Scanner": _Scanner}))  # noqa: B010 - it exports no ds


def _path_of(fields: Sequence[NestedField], field_id: int) -> tuple[str, ...] | None:
    """The names that lead to a field, outside of lists and maps."""
    for field in fields:
        if field.field_id == field_id:
            return (field.name,)
        inner = _path_of(field.field_type.fields, field_id) if isinstance(field.field_type, StructType) else None
        if inner is not None:
            return (field.name, *inner)
    return None


def _with_nulls_of(array: pa.Array | None, projected: pa.Array | None) -> pa.Array | None:
    if array is None or projected is None or array.null_count == projected.null_count:
        return projected
    return pc.if_else(array.is_valid(), projected, None)


def row_count(snapshot: Snapshot | None) -> int | None:
    """Number of rows by the summary; None with delete files, for then it counts rows that are not there any more."""
    if snapshot is None:
        return 0
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    deletes = {summary.get(f"total-{kind}-deletes", "0") for kind in ("position", "equality")}
    return int(summary["total-records"]) if "total-records" in summary and deletes == {"0"} else None


def arrow_schema(projection: Schema) -> pa.Schema:
    """Arrow schema of the rows of a projection."""
    return schema_to_pyarrow(projection, include_field_ids=False)


def read_batches(
    table: Table,
    tasks: Sequence[FileScanTask],
    projection: Schema,
    row_filter: BooleanExpression = _ALL_ROWS,
    limit: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of files, at most `limit`, in the schema `arrow_schema(projection)`.

    PyIceberg gives columns in the Arrow type that a file was written with, such as `string` or `large_string`, and
    rows of different types can neither be put together nor sorted. Raises OSError when a file cannot be read.
    """
    schema = arrow_schema(projection)
    scan = ArrowScan(table.metadata, table.io, projection, row_filter, limit=limit)
    for batch in scan.to_record_batches(tasks):
        yield batch.cast(schema)


def read_table(
    table: Table,
    tasks: Sequence[FileScanTask],
    projection: Schema,
    row_filter: BooleanExpression = _ALL_ROWS,
    limit: int | None = None,
) -> pa.Table:
    """Read the rows as one Arrow table."""
    batches = read_batches(table, tasks, projection, row_filter, limit)
    return pa.Table.from_batches(batches, arrow_schema(projection))


def file_batches(
    metadata: TableMetadata, io: FileIO, projection: Schema, file: DataFile, deleted: Sequence[pa.ChunkedArray] = ()
) -> Iterator[pa.RecordBatch]:
    """The rows of one file in its order and its types, without those at the positions of `deleted`."""
    scan = ArrowScan(metadata, io, projection, _ALL_ROWS)
    deletes = {file.file_path: list(deleted)} if deleted else {}
    # The public function has all rows of a file in memory at once.
    yield from scan._record_batches_from_scan_tasks_and_deletes([FileScanTask(file)], deletes)  # noqa: SLF001
