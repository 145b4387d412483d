from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from frazil.engine.jobs import SparkJobs
from tests.connectors.iceberg.driver import SIMPLE, TABLE, Memory, memory


@pytest.fixture
def one() -> Iterator[Memory]:
    """A broker, and a catalog with the table."""
    with memory({TABLE: SIMPLE}) as made:
        yield made


@pytest.fixture
def jobs(spark: SparkSession) -> Iterator[SparkJobs]:
    made = SparkJobs(spark)
    yield made
    made.close()
