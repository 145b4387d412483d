"""A table scan that the embedded engine pulls, batch by batch, as often as it wants to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
from pyiceberg.table import FileScanTask

from frazil.query.files import arrow_schema, read_batches
from frazil.query.metadata import metadata_table
from frazil.query.newest import newest_files
from frazil.query.translate import Scan

# Files read ahead of the engine; bounds what is in memory to about as many files.
_FILES_AT_ONCE = 16


class ScanStream:
    """Implements Arrow's C stream protocol; each stream starts at the beginning of the same snapshot.

    `failure` keeps what went wrong while the engine pulled, because the engine only reports its text.
    """

    def __init__(self, scan: Scan) -> None:
        self.failure: Exception | None = None
        table = scan.source.table
        self._scan = table.scan(row_filter=scan.row_filter, selected_fields=scan.columns, limit=scan.limit)
        self._table = table
        self._newest = scan.newest
        self._projection = self._scan.projection()
        self._schema = arrow_schema(self._projection)
        self._tasks: list[FileScanTask] | None = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._read()
        except Exception as error:
            self.failure = error
            raise

    def _read(self) -> Iterator[pa.RecordBatch]:
        if self._tasks is None:
            tasks = list(self._scan.plan_files())
            self._tasks = newest_files(tasks, self._table.schema(), self._newest) if self._newest else tasks
        remaining = self._scan.limit
        files = iter(self._tasks)
        while group := list(islice(files, _FILES_AT_ONCE)):
            for batch in read_batches(self._table, group, self._projection, self._scan.row_filter, remaining):
                yield batch
                if remaining is not None:
                    remaining -= batch.num_rows
            if remaining is not None and remaining <= 0:
                return


def readable(scan: Scan) -> ScanStream | pa.Table:
    """What the engine reads for a scan.

    Without columns only the number of rows matters; it comes from the manifests where no filter has to be applied.
    """
    if scan.source.metadata is not None:
        return metadata_table(scan.source.table, scan.source.metadata)
    if not scan.columns:
        return pa.table({"rows": pa.nulls(scan.source.table.scan().count())})
    return ScanStream(scan)
