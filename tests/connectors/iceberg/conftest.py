"""Tables on the real catalog and object store, each in a namespace of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Protocol

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from frazil.clients.catalog import connect
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime
from frazil.connectors.iceberg.table import attempts
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.driver import SIMPLE, TABLE, Memory, memory
from tests.connectors.iceberg.proxy import CatalogProxy


def written(writer: DataFileWriter, table: pa.Table) -> list[DataFile]:
    """The durable files of the rows."""
    files = writer.open()
    files.add(table)
    return files.close()


class MakeTable(Protocol):
    def __call__(
        self, schema: Schema = ..., spec: PartitionSpec = ..., properties: Mapping[str, str] = ...
    ) -> Table: ...


@pytest.fixture
def none() -> Iterator[Memory]:
    """A broker, and a catalog in memory without tables."""
    with memory({}) as made:
        yield made


@pytest.fixture
def one() -> Iterator[Memory]:
    """A broker, and a catalog in memory with one table."""
    with memory({TABLE: SIMPLE}) as made:
        yield made


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(attempts, "_LONGEST_WAIT_S", 0.01)


@pytest.fixture(scope="session")
def catalog(stack: LocalStack) -> Catalog:
    return connect(stack.settings.catalog_properties())


@pytest.fixture(scope="session")
def namespace(catalog: Catalog) -> str:
    name = f"sinks_{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(name)
    return name


@pytest.fixture
def make_table(catalog: Catalog, namespace: str) -> MakeTable:
    """A function that creates an empty table."""

    def create(
        schema: Schema = SIMPLE,
        spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        return catalog.create_table(
            f"{namespace}.t{uuid.uuid4().hex[:12]}", schema, partition_spec=spec, properties=dict(properties or {})
        )

    return create


@pytest.fixture
def proxy(stack: LocalStack) -> Iterator[CatalogProxy]:
    with CatalogProxy(stack.settings.catalog_uri).running() as running:
        yield running


@pytest.fixture
def proxied(stack: LocalStack, proxy: CatalogProxy) -> Catalog:
    """The same catalog through the proxy."""
    return connect({**stack.settings.catalog_properties(), "uri": proxy.uri})


@pytest.fixture(scope="session")
def runtime(spark: SparkSession, stack: LocalStack) -> IcebergRuntime:
    """Iceberg in that session."""
    return IcebergRuntime(lambda: spark, stack.settings)
