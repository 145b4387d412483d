"""The metadata tables `$files` and `$partitions`, from the manifests of the current snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, Transform
from pyiceberg.types import NestedField, PrimitiveType

_COUNTS = pa.map_(pa.int32(), pa.int64())
_BOUNDS = pa.map_(pa.int32(), pa.string())
_FILES = pa.schema(
    [
        ("content", pa.int32()),
        ("file_path", pa.string()),
        ("record_count", pa.int64()),
        ("file_format", pa.string()),
        ("file_size_in_bytes", pa.int64()),
        ("column_sizes", _COUNTS),
        ("value_counts", _COUNTS),
        ("null_value_counts", _COUNTS),
        ("nan_value_counts", _COUNTS),
        ("lower_bounds", _BOUNDS),
        ("upper_bounds", _BOUNDS),
        ("key_metadata", pa.binary()),
        ("split_offsets", pa.list_(pa.int64())),
        ("equality_ids", pa.list_(pa.int32())),
    ]
)


def files_table(table: Table) -> pa.Table:
    """One row per data and delete file; bounds as text, by field id."""
    fields = ((i, table.schema().find_type(i)) for i in table.schema().field_ids)
    types = {i: field_type for i, field_type in fields if isinstance(field_type, PrimitiveType)}

    def bounds(values: dict[int, bytes] | None) -> list[tuple[int, str]] | None:
        if values is None:
            return None
        transform: Transform[Any, Any] = IdentityTransform()
        text = transform.to_human_string
        return [(i, text(types[i], from_bytes(types[i], b))) for i, b in values.items() if i in types]

    def counts(values: dict[int, int] | None) -> list[tuple[int, int]] | None:
        return None if values is None else list(values.items())

    rows = [
        {
            "content": file.content.value,
            "file_path": file.file_path,
            "record_count": file.record_count,
            "file_format": file.file_format.value,
            "file_size_in_bytes": file.file_size_in_bytes,
            "column_sizes": counts(file.column_sizes),
            "value_counts": counts(file.value_counts),
            "null_value_counts": counts(file.null_value_counts),
            "nan_value_counts": counts(file.nan_value_counts),
            "lower_bounds": bounds(file.lower_bounds),
            "upper_bounds": bounds(file.upper_bounds),
            "key_metadata": file.key_metadata,
            "split_offsets": file.split_offsets,
            "equality_ids": file.equality_ids,
        }
        for file in _current_files(table)
    ]
    return pa.Table.from_pylist(rows, schema=_FILES)


@dataclass
class _ColumnRange:
    """What the files of a partition say together about one column; a file without a bound leaves it unknown."""

    lowest: Any = None
    highest: Any = None
    bounded: bool = True
    nulls: int | None = 0
    nans: int | None = 0

    def add(self, column: NestedField, file: DataFile) -> None:
        low = (file.lower_bounds or {}).get(column.field_id)
        high = (file.upper_bounds or {}).get(column.field_id)
        nulls = (file.null_value_counts or {}).get(column.field_id)
        nans = (file.nan_value_counts or {}).get(column.field_id)
        self.nulls = None if self.nulls is None or nulls is None else self.nulls + nulls
        self.nans = None if self.nans is None or nans is None else self.nans + nans
        if nulls == file.record_count:
            return
        if low is None or high is None or not isinstance(column.field_type, PrimitiveType):
            self.bounded = False
            return
        first, last = from_bytes(column.field_type, low), from_bytes(column.field_type, high)
        self.lowest = first if self.lowest is None else min(self.lowest, first)
        self.highest = last if self.highest is None else max(self.highest, last)

    def row(self) -> dict[str, Any]:
        return {
            "min": self.lowest if self.bounded else None,
            "max": self.highest if self.bounded else None,
            "null_count": self.nulls,
            "nan_count": self.nans,
        }


@dataclass
class _Partition:
    values: dict[str, Any]
    records: int = 0
    files: int = 0
    size: int = 0
    ranges: dict[str, _ColumnRange] = field(default_factory=dict)


def partitions_table(table: Table) -> pa.Table:
    """One row per partition, with the ranges of the columns that the table is not partitioned by as they are."""
    specs = table.metadata.specs()
    identity = {f.source_id for f in table.spec().fields if isinstance(f.transform, IdentityTransform)}
    columns = [
        column
        for column in table.schema().fields
        if isinstance(column.field_type, PrimitiveType) and column.field_id not in identity
    ]
    found: dict[tuple[tuple[str, Any], ...], _Partition] = {}
    for file in _current_files(table):
        if file.content != DataFileContent.DATA:
            continue
        values = {f.name: file.partition[i] for i, f in enumerate(specs[file.spec_id].fields)}
        partition = found.setdefault(tuple(values.items()), _Partition(values))
        partition.records += file.record_count
        partition.files += 1
        partition.size += file.file_size_in_bytes
        for column in columns:
            partition.ranges.setdefault(column.name, _ColumnRange()).add(column, file)

    rows = [
        {
            "partition": partition.values,
            "record_count": partition.records,
            "file_count": partition.files,
            "total_size": partition.size,
            "data": {name: column_range.row() for name, column_range in partition.ranges.items()},
        }
        for partition in found.values()
    ]
    schema = _partitions_schema(table, columns)
    return pa.Table.from_pylist([{k: v for k, v in row.items() if k in schema.names} for row in rows], schema=schema)


def _partitions_schema(table: Table, columns: list[NestedField]) -> pa.Schema:
    partition_fields = Schema(*table.metadata.specs_struct().fields)
    partition = pa.struct(list(schema_to_pyarrow(partition_fields, include_field_ids=False)))
    arrow = schema_to_pyarrow(Schema(*columns), include_field_ids=False)
    ranges = [
        pa.field(
            column.name,
            pa.struct(
                [("min", column.type), ("max", column.type), ("null_count", pa.int64()), ("nan_count", pa.int64())]
            ),
        )
        for column in arrow
    ]
    fields = [("record_count", pa.int64()), ("file_count", pa.int64()), ("total_size", pa.int64())]
    return pa.schema(
        ([("partition", partition)] if partition.num_fields else [])
        + fields
        + ([("data", pa.struct(ranges))] if ranges else [])
    )


def _current_files(table: Table) -> Iterator[DataFile]:
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else ():
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            yield entry.data_file
