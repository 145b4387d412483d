"""A table that a connector has filled with small commits, and its maintenance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from frazil.connectors.iceberg.maintenance.policy import Policy, StepResult
from frazil.connectors.iceberg.maintenance.run import Maintenance
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.connectors.positions import KafkaIdentity
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable, written

CONNECTOR = "sink"
EVENTS = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "time", TimestamptzType()), NestedField(3, "bucket", StringType())
)
BY_DAY = PartitionSpec(
    PartitionField(2, 1000, DayTransform(), "time_day"), PartitionField(3, 1001, IdentityTransform(), "bucket")
)
OLD = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Writer:
    """Commits as a connector does; the rows of one commit are of one day and bucket."""

    def __init__(self, catalog: Catalog, table: Table, branch: str = MAIN_BRANCH) -> None:
        self.target = TableBranch(catalog, ".".join(table.name()), branch)
        self.count = 0

    def commit(self, rows: int = 1, day: int = 0, bucket: str | None = "b") -> None:
        table = self.target.load()
        files = DataFileWriter(table.metadata.model_dump_json(), tuple(sorted(table.io.properties.items())))
        ids = range(self.count, self.count + rows)
        content = [{"id": i, "time": OLD + timedelta(days=day), "bucket": bucket} for i in ids]
        data = pa.Table.from_pylist(content, schema=arrow_schema(struct_of(table.schema())))
        self.count += rows
        self.target.commit(
            table,
            self.floor(table),
            Commit(
                CONNECTOR,
                written(files, data),
                {("t", 0): 0},
                {("t", 0): self.count},
                KafkaIdentity("c", {"t": "i"}),
                None,
            ),
        )

    def floor(self, table: Table | None = None) -> Floor:
        return self.target.floor(table or self.target.load(), CONNECTOR)

    def table(self) -> Table:
        return self.target.load()

    def ids(self) -> list[int]:
        return sorted(self.table().scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())


@pytest.fixture
def writer(catalog: Catalog, make_table: MakeTable) -> Writer:
    """On an empty table that is partitioned by day and bucket."""
    return Writer(catalog, make_table(EVENTS, BY_DAY))


Maintain = Callable[[str, Policy], list[StepResult]]


@pytest.fixture(scope="session")
def maintain(runtime: IcebergRuntime, stack: LocalStack) -> Maintain:
    return Maintenance(runtime, stack.settings.catalog_properties()).run
