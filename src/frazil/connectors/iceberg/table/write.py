"""Rows to Parquet data files of an Iceberg table, inside a task."""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import (
    PyArrowFileIO,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionFieldValue, PartitionSpec, partition_record_value
from pyiceberg.partitioning import PartitionKey as PyIcebergKey
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.locations import LocationProvider, ObjectStoreLocationProvider, SimpleLocationProvider
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.transforms import VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.utils.properties import property_as_bool

from frazil.clients.store import store_errors
from frazil.pipeline.dictionaries import with_dictionary
from frazil.pipeline.masked_nulls import without_masked_nulls

Properties = tuple[tuple[str, str], ...]
_Index = np.ndarray[Any, np.dtype[np.int64]]

_ROW = "frazil.row"

_DEFAULT_CODEC = "zstd"
_ROW_GROUP_ROWS = 1 << 20
_UPLOADS = 4


@dataclass(frozen=True)
class DataFileWriter:
    """Makes the writer of a task; picklable: metadata and file access travel as text.

    `write_properties` override the table's (`iceberg.tables.write-props.*`).
    """

    metadata_json: str
    io_properties: Properties
    write_properties: Properties = ()

    def open(self) -> PartitionedWriter:
        """A writer for the rows of one task."""
        return PartitionedWriter(_target(self.metadata_json, self.io_properties, self.write_properties))


class PartitionedWriter:
    """Collects rows by partition value and writes one file for each.

    Rows wait as Arrow data, because Parquet is written several times faster in large pieces than in small ones; who
    adds rows bounds how much waits.
    """

    def __init__(self, target: _Target) -> None:
        self.waiting_bytes = 0
        self._target = target
        self._files: dict[tuple[Any, ...], _File] = {}

    def add(self, table: pa.Table) -> None:
        """Take rows of the table's Arrow schema."""
        row_bytes = table.nbytes / max(table.num_rows, 1)
        for values, part in self._target.split(table):
            self._append(self._file(values), part, row_bytes)

    def place(self, table: pa.Table) -> tuple[_Index, _Index]:
        """Take rows, and tell where each one will be: the number of its file, as `close` gives them, and the place."""
        files, places = np.zeros(table.num_rows, np.int64), np.zeros(table.num_rows, np.int64)
        row_bytes = table.nbytes / max(table.num_rows, 1)
        for values, part in self._target.split(table.append_column(_ROW, pa.array(np.arange(table.num_rows)))):
            file, rows = self._file(values), part.column(_ROW).to_numpy()
            files[rows], places[rows] = file.number, np.arange(file.rows, file.rows + len(rows))
            self._append(file, part.drop_columns([_ROW]), row_bytes)
        return files, places

    def _file(self, values: tuple[Any, ...]) -> _File:
        file = self._files.get(values)
        if file is None:
            file = self._files[values] = _File(values, len(self._files))
        return file

    def _append(self, file: _File, part: pa.Table, row_bytes: float) -> None:
        """Take rows that have so many bytes on average: to measure each part takes longer than to cut it."""
        size = round(part.num_rows * row_bytes)
        file.rows += part.num_rows
        file.waiting.append(part)
        file.waiting_bytes += size
        self.waiting_bytes += size

    def encode_largest(self) -> None:
        """Turn the rows of the file that has most of them waiting into a row group."""
        largest = max(self._files.values(), key=lambda file: file.waiting_bytes)
        self.waiting_bytes -= largest.waiting_bytes
        self._target.encode(largest)

    def rehearse(self) -> None:
        """Do what `close` does, but for storing files."""
        for file in self._files.values():
            self._target.encode(file)
            self._target.finish(file)

    def close(self) -> list[DataFile]:
        """Write what waits; the files are durable on return. Raises ServiceUnavailable when the store fails.

        ConfigError when it refuses access.
        """
        for file in self._files.values():
            self._target.encode(file)
        with ThreadPoolExecutor(_UPLOADS) as uploads:
            return list(uploads.map(self._target.store, self._files.values()))


@dataclass
class _File:
    values: tuple[Any, ...]
    number: int
    rows: int = 0
    waiting: list[pa.Table] = field(default_factory=list)
    waiting_bytes: int = 0
    encoded: pa.BufferOutputStream | None = None
    parquet: pq.ParquetWriter | None = None


@lru_cache(maxsize=256)
def _target(metadata_json: str, io_properties: Properties, write_properties: Properties) -> _Target:
    return _Target(TableMetadataUtil.parse_raw(metadata_json), dict(io_properties), dict(write_properties))


class _Target:
    """Values derived from the metadata once per Python worker."""

    def __init__(self, metadata: TableMetadata, io: dict[str, str], overrides: dict[str, str]) -> None:
        self._schema = metadata.schema()
        self._spec = metadata.spec()
        properties = {**metadata.properties, **overrides}
        self._io = PyArrowFileIO(io)
        self._locations = _location_provider(metadata.location, properties)
        self._statistics = compute_statistics_plan(self._schema, properties)
        self._column_ids = parquet_path_to_id_mapping(self._schema)
        self._options = _parquet_options(properties)

    def split(self, table: pa.Table) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
        """The rows of each partition value, in their order of arrival; the values are those of the spec's fields."""
        fields = self._spec.fields
        if not fields:
            yield (), table
            return
        names = [str(position) for position in range(len(fields))]
        keys = pa.table([self._partition_values(table, f) for f in fields], names=names)
        codes = _group_codes(keys)
        order = np.argsort(codes, kind="stable")
        bounds = np.flatnonzero(np.diff(codes[order])) + 1
        starts = [0, *bounds.tolist(), len(order)]
        ordered = table if len(starts) == 2 else table.take(pa.array(order))
        for start, end in itertools.pairwise(starts):
            row = keys.slice(int(order[start]), 1).to_pylist()[0]
            yield tuple(row[name] for name in names), ordered.slice(start, end - start)

    def _partition_values(self, table: pa.Table, field: PartitionField) -> pa.ChunkedArray:
        if isinstance(field.transform, VoidTransform):
            return pa.chunked_array([pa.nulls(table.num_rows, pa.int64())])
        path = self._schema.find_column_name(field.source_id)
        assert path is not None  # noqa: S101 - a partition field's source is a column of the schema
        column = table.column(path) if path in table.column_names else _nested(table, path.split("."))
        source = self._schema.find_field(field.source_id)
        return field.transform.pyarrow_transform(source.field_type)(column)

    def encode(self, file: _File) -> None:
        """Turn the waiting rows of a file into a row group in memory."""
        if not file.waiting:
            return
        table = without_masked_nulls(pa.concat_tables(file.waiting))
        if file.parquet is None:
            file.encoded = pa.BufferOutputStream()
            chosen = with_dictionary(table)
            file.parquet = pq.ParquetWriter(file.encoded, table.schema, use_dictionary=chosen, **self._options)
        file.parquet.write_table(table, row_group_size=_ROW_GROUP_ROWS)
        file.waiting, file.waiting_bytes = [], 0

    def finish(self, file: _File) -> tuple[DataFile, pa.Buffer]:
        """Finish a file; give its descriptor and its content, which is not stored yet."""
        assert file.parquet is not None  # noqa: S101 - a file begins with rows
        assert file.encoded is not None  # noqa: S101
        file.parquet.close()
        content = file.encoded.getvalue()
        key = PartitionKey.of(file.values, self._spec, self._schema)
        location = self._locations.new_data_location(
            f"00000-0-{uuid.uuid4()}.parquet", key if key.fits_into_path() else None
        )
        statistics = data_file_statistics_from_parquet_metadata(
            file.parquet.writer.metadata, self._statistics, self._column_ids
        )
        data_file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=location,
            file_format=FileFormat.PARQUET,
            partition=key.partition,
            file_size_in_bytes=content.size,
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )
        data_file.spec_id = self._spec.spec_id
        return data_file, content

    def store(self, file: _File) -> DataFile:
        """Finish a file and put it into the object store."""
        data_file, content = self.finish(file)
        store_file(self._io, data_file.file_path, content)
        return data_file


def store_file(io: FileIO, location: str, content: pa.Buffer) -> None:
    """Put a file with a new name into the object store.

    Raises ServiceUnavailable when the store fails, ConfigError when it refuses.
    """
    with (
        store_errors(location, ("refused", "did not take")),
        io.new_output(location).create(overwrite=True) as stream,  # the name is new: no need to look
    ):
        stream.write(content)


def _location_provider(location: str, properties: dict[str, str]) -> LocationProvider:
    """Choose where files go, as PyIceberg does, which would load a class that the properties name."""
    spread = property_as_bool(properties, TableProperties.OBJECT_STORE_ENABLED, False)
    kind = ObjectStoreLocationProvider if spread else SimpleLocationProvider
    return kind(location.rstrip("/"), properties)


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


_LONGEST_PATH = 500
_NO_WORD = re.compile(r"[^A-Za-z0-9_]|^(?=[0-9])", re.ASCII)


class PartitionKey(PyIcebergKey):
    """PyIceberg's key, but by the fields of the spec: several may have one column, and its folders are words.

    SeaweedFS takes no other names of folders in a table's location. Only readers of paths see them: the values of the
    partition stand in the manifests.
    """

    @classmethod
    def of(cls, values: tuple[Any, ...], spec: PartitionSpec, schema: Schema) -> PartitionKey:
        """The key of a value for each field of the spec."""
        pairs = zip(spec.fields, values, strict=True)
        return cls([PartitionFieldValue(field, value) for field, value in pairs], spec, schema)

    @cached_property
    def partition(self) -> Record:
        """The values as Iceberg keeps them."""
        return Record(*(partition_record_value(each.field, each.value, self.schema) for each in self.field_values))

    def to_path(self) -> str:
        """The folders, `name=value` each, with a slash between them."""
        types = self.partition_spec.partition_type(self.schema).fields
        folders = []
        for index, part in enumerate(self.partition_spec.fields):
            text = part.transform.to_human_string(types[index].field_type, self.partition[index])
            folders.append(f"{_NO_WORD.sub('_', part.name)}={quote_plus(text, safe='')}")
        return "/".join(folders)

    def fits_into_path(self) -> bool:
        """Whether the folders may stand in a location.

        Not when there are none, when a value is empty, which SeaweedFS refuses, or when object names could exceed the
        1024 bytes of S3.
        """
        return 0 < len(self.to_path()) <= _LONGEST_PATH and all(each.value != "" for each in self.field_values)
