"""Parquet files from the JSON of records."""

from collections.abc import Callable, Iterable, Iterator
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.connectors.objects.formats.json_tables import Refused, WriteTables, write_columns
from frazil.pipeline.dictionaries import with_dictionary
from frazil.pipeline.masked_nulls import without_masked_nulls
from frazil.pipeline.types import Struct

_PAGE_BYTES = 64 << 10


def write_parquet(
    open_lines: Callable[[], Iterable[bytes]], schema: Struct | None, codec: str, out: IO[bytes]
) -> Refused:
    """Write a file, each group of records as a row group; see `write_columns`."""
    return write_columns(open_lines, schema, tables_writer(codec), out, childless=False)


def tables_writer(codec: str) -> WriteTables:
    """Writes tables, each as a row group."""
    compression = {"none": "NONE", "lz4_raw": "LZ4"}.get(codec, codec.upper())

    def write(struct: Struct, tables: Iterator[pa.Table], out: IO[bytes]) -> None:
        writer: pq.ParquetWriter | None = None
        try:
            for table in tables:
                if writer is None:
                    writer = pq.ParquetWriter(
                        pa.PythonFile(out, "w"),
                        table.schema,
                        compression=compression,
                        data_page_size=_PAGE_BYTES,
                        use_dictionary=with_dictionary(table),
                        store_schema=False,
                    )
                writer.write_table(without_masked_nulls(table), row_group_size=max(table.num_rows, 1))
        finally:
            if writer is not None:
                writer.close()

    return write
