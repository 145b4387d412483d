"""Rows to Parquet data files of an Iceberg table, inside a task."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    PyArrowFileIO,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
from pyiceberg.table.locations import LocationProvider, load_location_provider
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.typedef import Record

Properties = tuple[tuple[str, str], ...]

_DEFAULT_CODEC = "zstd"
_ROW_GROUP_ROWS = 1 << 20


@dataclass(frozen=True)
class DataFileWriter:
    """Writes tables of the table's Arrow schema; picklable: metadata and file access travel as text.

    `write_properties` override the table's (`iceberg.tables.write-props.*`).
    """

    metadata_json: str
    io_properties: Properties
    write_properties: Properties = ()

    def write(self, table: pa.Table) -> list[DataFile]:
        """One file per partition value, each durable on return. Errors of the object store are raised as OSError."""
        target = _target(self.metadata_json, self.io_properties, self.write_properties)
        return [target.write(key, part) for key, part in target.split(table)]


@lru_cache(maxsize=8)
def _target(metadata_json: str, io_properties: Properties, write_properties: Properties) -> _Target:
    return _Target(TableMetadataUtil.parse_raw(metadata_json), dict(io_properties), dict(write_properties))


class _Target:
    """What is derived from the metadata once per Python worker."""

    def __init__(self, metadata: TableMetadata, io: dict[str, str], overrides: dict[str, str]) -> None:
        self._schema = metadata.schema()
        self._spec = metadata.spec()
        self._properties = {**metadata.properties, **overrides}
        self._io = PyArrowFileIO(io)
        self._locations: LocationProvider = load_location_provider(metadata.location, self._properties)
        self._statistics = compute_statistics_plan(self._schema, self._properties)
        self._column_ids = parquet_path_to_id_mapping(self._schema)
        self._options = _parquet_options(self._properties)

    def split(self, table: pa.Table) -> Iterator[tuple[PartitionKey | None, pa.Table]]:
        """The rows of each partition value, in their order of arrival."""
        fields = self._spec.fields
        if not fields:
            yield None, table
            return
        keys = pa.table(
            [self._partition_values(table, field) for field in fields], names=[str(i) for i in range(len(fields))]
        )
        codes = _group_codes(keys)
        order = np.argsort(codes, kind="stable")
        bounds = np.flatnonzero(np.diff(codes[order])) + 1
        starts = [0, *bounds.tolist(), len(order)]
        ordered = table if len(starts) == 2 else table.take(pa.array(order))
        for start, end in zip(starts, starts[1:], strict=False):
            row = keys.slice(int(order[start]), 1).to_pylist()[0]
            values = [PartitionFieldValue(field, row[str(i)]) for i, field in enumerate(fields)]
            yield PartitionKey(values, self._spec, self._schema), ordered.slice(start, end - start)

    def _partition_values(self, table: pa.Table, field: Any) -> pa.ChunkedArray:
        path = self._schema.find_column_name(field.source_id)
        assert path is not None  # noqa: S101 - a partition field's source is a column of the schema
        column = table.column(path) if path in table.column_names else _nested(table, path.split("."))
        source = self._schema.find_field(field.source_id)
        return field.transform.pyarrow_transform(source.field_type)(column)

    def write(self, key: PartitionKey | None, table: pa.Table) -> DataFile:
        name = f"00000-0-{uuid.uuid4()}.parquet"
        output = self._io.new_output(self._locations.new_data_location(name, key))
        with output.create() as stream, pq.ParquetWriter(stream, table.schema, **self._options) as writer:
            writer.write_table(table, row_group_size=_ROW_GROUP_ROWS)
            writer.close()
            size = stream.tell()
            statistics = data_file_statistics_from_parquet_metadata(
                writer.writer.metadata, self._statistics, self._column_ids
            )
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=output.location,
            file_format=FileFormat.PARQUET,
            partition=key.partition if key else Record(),
            file_size_in_bytes=size,
            sort_order_id=None,
            spec_id=self._spec.spec_id,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )


def _nested(table: pa.Table, path: list[str]) -> pa.ChunkedArray:
    return pc.struct_field(table.column(path[0]), path[1:])


def _group_codes(keys: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """An integer per row, equal for rows of equal keys; nulls are a value of their own."""
    codes = np.zeros(keys.num_rows, dtype=np.int64)
    for column in keys.columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy(zero_copy_only=False)
    return codes


def _parquet_options(properties: dict[str, str]) -> dict[str, Any]:
    codec = properties.get("write.parquet.compression-codec", _DEFAULT_CODEC)
    level = properties.get("write.parquet.compression-level", "1" if codec == "zstd" else None)
    return {
        "compression": "none" if codec == "uncompressed" else codec,
        "compression_level": None if level is None or level == "null" else int(level),
        "store_decimal_as_integer": True,
    }
