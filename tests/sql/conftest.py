"""Tables of the seeds' shape in the real catalog, filled once per run, with the rows beside them as an oracle.

Commits come from PyIceberg and from frazil's own writer in turn: their files hold text in different Arrow types.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, IdentityTransform

from frazil.clients.catalog import connect
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.minio.records.tables import API_SCHEMA, AUDIT_SCHEMA, ERROR_SCHEMA
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.sql.engine import Engine
from frazil.stack.local import LocalStack

NAMESPACE = "querytests"
START = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
COMMITS, ROWS_PER_COMMIT = 3, 60


@dataclass
class LogTables:
    """`rows` by table name, in the order of the commits."""

    stack: LocalStack
    catalog: Catalog
    engine: Engine
    namespace: str = NAMESPACE
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def answer(self, sql: str) -> list[tuple[Any, ...]]:
        [result] = self.engine.run(sql)
        return list(result.rows)


@pytest.fixture(scope="session")
def log_tables(stack: LocalStack) -> Iterator[LogTables]:
    yield from filled_tables(stack, NAMESPACE)


def filled_tables(stack: LocalStack, namespace: str) -> Iterator[LogTables]:
    """The three tables with rows, and an empty one, in a namespace that is dropped at the end."""
    catalog = connect(stack.settings.catalog_properties())
    catalog.create_namespace(namespace)
    tables = LogTables(stack, catalog, Engine(catalog, stack.settings.warehouse, namespace), namespace)
    chance = random.Random(7)
    for name, schema, partition in (
        ("apilogs", API_SCHEMA, "bucket"),
        ("errorlogs", ERROR_SCHEMA, None),
        ("auditlogs", AUDIT_SCHEMA, "category"),
    ):
        tables.rows[name] = _fill(catalog, (namespace, name), schema, partition, chance)
    catalog.create_table((namespace, "empty"), ERROR_SCHEMA)
    yield tables
    for name in (*tables.rows, "empty"):
        catalog.drop_table((namespace, name))
    catalog.drop_namespace(namespace)


def append_as_frazil(table: Table, rows: list[dict[str, Any]]) -> None:
    """Append rows in files like those that a connector writes."""
    arrow = arrow_schema(struct_of(table.schema()))
    writer = DataFileWriter(table.metadata.model_dump_json(), tuple(table.io.properties.items())).open()
    writer.add(pa.Table.from_pylist(rows, schema=arrow))
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in writer.close():
            append.append_data_file(file)


def _fill(
    catalog: Catalog, name: tuple[str, str], schema: Schema, partition: str | None, chance: random.Random
) -> list[dict[str, Any]]:
    fields = [PartitionField(schema.find_field("time").field_id, 1000, DayTransform(), "time_day")]
    if partition is not None:
        fields.append(PartitionField(schema.find_field(partition).field_id, 1001, IdentityTransform(), partition))
    table = catalog.create_table(name, schema, partition_spec=PartitionSpec(*fields))
    arrow = schema_to_pyarrow(table.schema(), include_field_ids=False)
    rows: list[dict[str, Any]] = []
    for commit in range(COMMITS):
        batch = [_row(chance, commit * ROWS_PER_COMMIT + i) for i in range(ROWS_PER_COMMIT)]
        known = [{key: value for key, value in row.items() if key in arrow.names} for row in batch]
        if commit % 2:
            append_as_frazil(table, known)
        else:
            table.append(pa.Table.from_pylist(known, schema=arrow))
        rows += [{key: row.get(key) for key in arrow.names} for row in known]
    return rows


def _row(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "version": "1",
        # some times occur twice, and the commits overlap
        "time": START + timedelta(minutes=30 * (number // 2) + chance.randrange(600), microseconds=number // 3),
        "node": f"node-{chance.randrange(3)}",
        "origin": chance.choice(["client", "internal", "", None]),
        "type": "object",
        "name": chance.choice(["s3.GetObject", "s3.PutObject", "s3.ListObjectsV2"]),
        "apiName": chance.choice(["s3.GetObject", "admin.AddUser", None]),
        # no "": the embedded store refuses a key with an empty partition value (`bucket=/`)
        "bucket": chance.choice(["photos", "logs", "Fotos-ünïcode", None]),
        "object": f"ordner/ø 'quoted' \"{number}\".txt",
        "category": chance.choice(["bucket", "user", "policy"]),
        "action": chance.choice(["create", "delete"]),
        "accessKey": "minioadmin",
        "message": f"message {number}",
        "tags": {"number": str(number), "": "empty key"} if number % 3 else None,
        "callInfo": {
            "httpStatusCode": chance.choice([200, 206, 404, 503]),
            "tx": chance.randrange(2**40),
            "sourceHost": f"192.168.1.{number % 256}",
            "requestHeader": {"Range": "bytes=0-1"},
        },
        "trace": {"source": ["api-errors.go:150", "bucket.go:4"], "variables": {"bucket": "photos"}},
    }
