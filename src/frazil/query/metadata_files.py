"""The metadata tables `$files` and `$partitions`, from the manifests of the current snapshot."""

from __future__ import annotations

import json
import re
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
from pyiceberg.types import (
    BooleanType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    TimestampType,
    TimestamptzType,
)

# Iceberg's own programs write no more digits of a second than needed.
_LAST_ZEROS = re.compile(r"(\.\d*[1-9])0+(?=[+-]|$)")
_COUNTS = pa.map_(pa.int32(), pa.int64())
_BOUNDS = pa.map_(pa.int32(), pa.string())


def files_table(table: Table) -> pa.Table:
    """One row per data and delete file; bounds as text by field id, and as JSON values by column name."""
    schema = table.schema()
    fields = ((i, schema.find_type(i)) for i in schema.field_ids)
    types = {i: field_type for i, field_type in fields if isinstance(field_type, PrimitiveType)}
    names = sorted((schema.find_column_name(i) or str(i), i) for i in types)
    specs = table.metadata.specs()

    def bound(field_id: int, values: dict[int, bytes] | None) -> Any:
        stored = (values or {}).get(field_id)
        return None if stored is None else from_bytes(types[field_id], stored)

    def text(field_id: int, value: Any) -> str:
        transform: Transform[Any, Any] = IdentityTransform()
        written = transform.to_human_string(types[field_id], value)
        is_time = isinstance(types[field_id], TimestampType | TimestamptzType)
        return _LAST_ZEROS.sub(r"\1", written) if is_time else written

    def metrics(file: DataFile) -> str:
        by_name = {}
        for name, i in names:
            low, high = bound(i, file.lower_bounds), bound(i, file.upper_bounds)
            json_types = isinstance(types[i], BooleanType | IntegerType | LongType)
            by_name[name] = {
                "column_size": (file.column_sizes or {}).get(i),
                "value_count": (file.value_counts or {}).get(i),
                "null_value_count": (file.null_value_counts or {}).get(i),
                "nan_value_count": (file.nan_value_counts or {}).get(i),
                "lower_bound": low if low is None or json_types else text(i, low),
                "upper_bound": high if high is None or json_types else text(i, high),
            }
        return json.dumps(by_name, ensure_ascii=False, separators=(",", ":"))

    def row(file: DataFile) -> dict[str, Any]:
        return {
            "content": file.content.value,
            "file_path": file.file_path,
            "file_format": file.file_format.value,
            "spec_id": file.spec_id,
            "partition": {f.name: file.partition[i] for i, f in enumerate(specs[file.spec_id].fields)},
            "record_count": file.record_count,
            "file_size_in_bytes": file.file_size_in_bytes,
            "column_sizes": _entries(file.column_sizes),
            "value_counts": _entries(file.value_counts),
            "null_value_counts": _entries(file.null_value_counts),
            "nan_value_counts": _entries(file.nan_value_counts),
            "lower_bounds": [(i, text(i, bound(i, file.lower_bounds))) for i in file.lower_bounds or () if i in types],
            "upper_bounds": [(i, text(i, bound(i, file.upper_bounds))) for i in file.upper_bounds or () if i in types],
            "key_metadata": file.key_metadata,
            "split_offsets": file.split_offsets,
            "equality_ids": file.equality_ids,
            "sort_order_id": file.sort_order_id,
            "readable_metrics": metrics(file),
        }

    columns = _files_schema(_partition_type(table))
    rows = ({name: value for name, value in row(f).items() if name in columns.names} for f in _current_files(table))
    return pa.Table.from_pylist(list(rows), schema=columns)


def _files_schema(partition: pa.StructType) -> pa.Schema:
    columns: list[tuple[str, pa.DataType]] = [
        ("content", pa.int32()),
        ("file_path", pa.string()),
        ("file_format", pa.string()),
        ("spec_id", pa.int32()),
        ("partition", partition),
        ("record_count", pa.int64()),
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
        ("sort_order_id", pa.int32()),
    ]
    kept = [pa.field(*column) for column in columns if column[0] != "partition" or partition.num_fields]
    return pa.schema([*kept, pa.field("readable_metrics", pa.string(), metadata={"trino": "json"})])


def _entries(counts: dict[int, int] | None) -> list[tuple[int, int]] | None:
    return None if counts is None else list(counts.items())


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
    partition = _partition_type(table)
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


def _partition_type(table: Table) -> pa.StructType:
    fields = Schema(*table.metadata.specs_struct().fields)
    return pa.struct(list(schema_to_pyarrow(fields, include_field_ids=False)))


def _current_files(table: Table) -> Iterator[DataFile]:
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else ():
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            yield entry.data_file
