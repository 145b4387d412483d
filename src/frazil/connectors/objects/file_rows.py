"""Rows of an object with columns, as records have their values."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import fastavro
import pyarrow.parquet as pq

from frazil.connectors.objects.config.object_sink import FormatKind
from frazil.connectors.objects.provenance import MEMBER

_ROWS = 4096


class FileRows:
    """The rows of a Parquet or Avro file that is held in memory."""

    def __init__(self, data: bytes, kind: FormatKind) -> None:
        self._data = data
        self._kind = kind

    @property
    def count(self) -> int:
        """Number of rows."""
        if self._kind == "avro":
            return sum(block.num_records for block in fastavro.block_reader(io.BytesIO(self._data)))
        return int(pq.ParquetFile(io.BytesIO(self._data)).metadata.num_rows)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows as values by column, without where the record came from (`_metadata`)."""
        rows: Iterable[Any] = fastavro.reader(io.BytesIO(self._data)) if self._kind == "avro" else self._parquet()
        for row in rows:
            yield {name: value for name, value in row.items() if name != MEMBER}

    def _parquet(self) -> Iterator[dict[str, Any]]:
        for batch in pq.ParquetFile(io.BytesIO(self._data)).iter_batches(_ROWS):
            yield from batch.to_pylist()
