"""Position delete files: which rows of which data files are not there any more (merge-on-read)."""

import struct
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from frazil.connectors.iceberg.table.write import store_file
from frazil.pipeline.keys import Codes

_PATH, _POSITION = 2147483546, 2147483545
"""Field ids that the Iceberg specification reserves for the two columns."""
_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(_PATH)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(_POSITION)}),
    ]
)
_UPLOADS = 4


def write_deletes(table: Table, deleted: Sequence[tuple[DataFile, Codes]]) -> list[DataFile]:
    """Write a durable file for each partition with rows to delete. Raises as `store_file` does."""
    by_partition: dict[tuple[int, Record], list[tuple[DataFile, Codes]]] = {}
    for file, positions in deleted:
        by_partition.setdefault((file.spec_id, file.partition), []).append((file, positions))

    def write(group: Sequence[tuple[DataFile, Codes]]) -> DataFile:
        return _write(table, sorted(group, key=lambda one: one[0].file_path.encode()))

    with ThreadPoolExecutor(_UPLOADS) as uploads:
        return list(uploads.map(write, by_partition.values()))


def _write(table: Table, group: Sequence[tuple[DataFile, Codes]]) -> DataFile:
    paths = [file.file_path for file, _ in group]
    names = pa.array(np.repeat(np.arange(len(group)), [len(positions) for _, positions in group]))
    positions = np.concatenate([np.sort(positions) for _, positions in group])
    content = pa.table([pa.array(paths).take(names), pa.array(positions)], schema=_SCHEMA)
    buffer = pa.BufferOutputStream()
    pq.write_table(content, buffer, compression="zstd", use_dictionary=["file_path"])
    data = buffer.getvalue()
    location = table.location_provider().new_data_location(f"00000-0-{uuid.uuid4()}-deletes.parquet")
    store_file(table.io, location, data)
    bounds = (
        {_PATH: paths[0].encode(), _POSITION: struct.pack("<q", positions.min())},
        {_PATH: paths[-1].encode(), _POSITION: struct.pack("<q", positions.max())},
    )
    return _descriptor(group[0][0], location, data.size, content.num_rows, *bounds)


def _descriptor(
    like: DataFile, location: str, size: int, rows: int, lower: Mapping[int, bytes], upper: Mapping[int, bytes]
) -> DataFile:
    """A delete file belongs to the partition and the spec of the data files that it names."""
    counts: Any = {_PATH: rows, _POSITION: rows}
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=like.partition,
        record_count=rows,
        file_size_in_bytes=size,
        value_counts=counts,
        null_value_counts={_PATH: 0, _POSITION: 0},
        nan_value_counts={},
        column_sizes={},
        lower_bounds=dict(lower),
        upper_bounds=dict(upper),
        split_offsets=None,
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
    )
    file.spec_id = like.spec_id
    return file
