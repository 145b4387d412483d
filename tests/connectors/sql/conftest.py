from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from frazil.engine.jobs import SparkJobs


@pytest.fixture
def jobs(spark: SparkSession) -> Iterator[SparkJobs]:
    made = SparkJobs(spark)
    yield made
    made.close()
