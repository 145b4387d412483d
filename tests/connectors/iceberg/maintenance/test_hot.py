from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from frazil.connectors.iceberg.maintenance.compact import cold_filter, grows_cold, hot_partitions
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime, jvm
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable, written

Any_Transform = Transform[Any, Any]
IDENTITY: Any_Transform = IdentityTransform()
MOMENTS = (datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2027, 4, 2, 11, tzinfo=UTC))
LOCAL = tuple(moment.replace(tzinfo=None) for moment in MOMENTS)


def table_of(make_table: MakeTable, type_: IcebergType, transform: Any_Transform) -> Table:
    schema = Schema(NestedField(1, "v", type_))
    return make_table(schema, PartitionSpec(PartitionField(1, 1000, transform, "p")))


def fill(table: Table, values: Iterable[object]) -> None:
    """One commit with one data file for each value."""
    for value in values:
        files = DataFileWriter(table.metadata.model_dump_json(), tuple(sorted(table.io.properties.items())))
        rows = pa.Table.from_pylist([{"v": value}], schema=arrow_schema(struct_of(table.schema())))
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for file in written(files, rows):
                append.append_data_file(file)


@pytest.mark.stack
@pytest.mark.parametrize(
    ("type_", "transform", "cold"),
    [
        (TimestamptzType(), DayTransform(), True),
        (TimestamptzType(), HourTransform(), True),
        (TimestampType(), MonthTransform(), True),
        (DateType(), YearTransform(), True),
        (DateType(), IDENTITY, True),
        (StringType(), IDENTITY, False),
        (LongType(), BucketTransform(4), False),
    ],
)
def test_partitions_grow_cold_when_a_time_is_among_them(
    make_table: MakeTable, type_: IcebergType, transform: Any_Transform, cold: bool
) -> None:
    table = table_of(make_table, type_, transform)
    assert grows_cold(table.spec(), table) is cold
    assert not grows_cold(UNPARTITIONED_PARTITION_SPEC, table)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("type_", "transform", "values"),
    [
        (TimestamptzType(), DayTransform(), MOMENTS),
        (TimestamptzType(), HourTransform(), MOMENTS),
        (TimestamptzType(), MonthTransform(), MOMENTS),
        (TimestampType(), YearTransform(), LOCAL),
        (TimestampType(), IDENTITY, LOCAL),
        (TimestamptzType(), IDENTITY, (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), MOMENTS[0])),
        (DateType(), IDENTITY, (date(2026, 3, 1), date(2026, 3, 2))),
        (StringType(), IDENTITY, ("it's", 'a "b"')),
        (StringType(), TruncateTransform(2), ("abc", "xyz")),
        (StringType(), IDENTITY, (None, "b")),
        (LongType(), BucketTransform(16), (1, 34)),
        (IntegerType(), IDENTITY, (1, -2)),
        (LongType(), IDENTITY, (1, 1 << 40)),
        (BooleanType(), IDENTITY, (True, False)),
        (DoubleType(), IDENTITY, (1.5, 2.5)),
        (DoubleType(), IDENTITY, (float("nan"), 2.5)),
        (DecimalType(9, 2), IDENTITY, (Decimal("1.25"), Decimal("2.50"))),
        (UUIDType(), IDENTITY, (UUID(int=1).bytes, UUID(int=2).bytes)),
        (BinaryType(), IDENTITY, (b"a", b"b\x00")),
    ],
)
def test_the_filter_leaves_out_the_hot_partition_and_no_other(
    runtime: IcebergRuntime,
    stack: LocalStack,
    make_table: MakeTable,
    type_: IcebergType,
    transform: Any_Transform,
    values: tuple[object, ...],
) -> None:
    table = table_of(make_table, type_, transform)
    fill(table, values)
    table.refresh()
    first, second = table.metadata.snapshots
    assert hot_partitions(table, second, second.timestamp_ms + 1) == set()
    assert len(hot_partitions(table, second, 0)) == 2
    hot = hot_partitions(table, first, 0)
    assert len(hot) == 1
    java_table = runtime.table(stack.settings.catalog_properties(), ".".join(table.name()))
    expressions = jvm(runtime.session).org.apache.iceberg.expressions.Expressions
    left = java_table.newScan().filter(cold_filter(expressions, table, hot)).planFiles().iterator()
    kept = {file.file_path for task in table.scan(snapshot_id=first.snapshot_id).plan_files() for file in [task.file]}
    every = {task.file.file_path for task in table.scan().plan_files()}
    found = set()
    while left.hasNext():
        found.add(left.next().file().location())
    assert found == every - kept
    assert len(found) == 1
