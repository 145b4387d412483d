"""Memory stays bounded however many tables and partitions a task has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import NestedField, StringType, TimestamptzType

from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.pipeline import task
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.route import Route
from frazil.pipeline.rows import Rows
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import Bounds, Routing, TableSpec, TaskSpec
from tests.pipeline.kafka_rows import Row, chunk

LOGS = Schema(
    NestedField(1, "time", TimestamptzType()),
    NestedField(2, "bucket", StringType()),
    NestedField(3, "text", StringType()),
)
DAY_AND_BUCKET = PartitionSpec(
    PartitionField(1, 1000, DayTransform(), "time_day"), PartitionField(2, 1001, IdentityTransform(), "bucket")
)
PLACES = 200
ROWS = 2_000
BATCHES = 30
LIMIT = 4 << 20
OPEN_FILE = 128 << 10


def batches(held: list[int]) -> Iterator[Rows]:
    """Rows for 200 places in turn; notes what Arrow holds meanwhile."""
    for number in range(BATCHES):
        first = number * ROWS
        values = [
            b'{"time":"2026-01-31T10:30:00Z","bucket":"db.b%d","text":"%d%b"}' % (n % PLACES, n, b"x" * 400)
            for n in range(first, first + ROWS)
        ]
        yield chunk([Row(first + index, value) for index, value in enumerate(values)])
        held.append(pa.total_allocated_bytes())


def table(name: str, folder: Path, spec: PartitionSpec) -> TableSpec:
    metadata = new_table_metadata(LOGS, spec, UNSORTED_SORT_ORDER, (folder / name).as_uri(), {})
    return TableSpec(name, DecodeSpec(struct_of(LOGS), False), DataFileWriter(metadata.model_dump_json(), ()))


@pytest.mark.parametrize("routed", [False, True], ids=["200 partitions", "200 tables"])
def test_what_waits_is_bounded(routed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "MAX_WAITING_BYTES", LIMIT)
    if routed:
        tables = tuple(table(f"db.b{n}", tmp_path, UNPARTITIONED_PARTITION_SPEC) for n in range(PLACES))
        spec = TaskSpec(tables, routing=Routing(Route(("bucket",), dynamic=True), Bounds()))
    else:
        spec = TaskSpec((table("db.t", tmp_path, DAY_AND_BUCKET),))
    before = pa.total_allocated_bytes()
    held: list[int] = []
    result = run(batches(held), spec)
    files = [file for found in result.tables.values() for file in found.files]
    assert len(files) == PLACES
    assert sum(file.record_count for file in files) == ROWS * BATCHES
    # Rows that wait, twice while they are cut into pieces, and what an open Parquet file takes however little is in it.
    assert max(held) - before < 2 * LIMIT + PLACES * OPEN_FILE
    assert max(held[BATCHES // 2 :]) - max(held[: BATCHES // 2]) < LIMIT
