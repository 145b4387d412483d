"""Spark for a program that may need it: started at the first use, and stopped behind the last."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from frazil.engine import spark
from frazil.engine.jobs import ConnectorJobs, SparkJobs
from frazil.environment.settings import Settings


@contextmanager
def spark_on_demand(settings: Settings, connector: str) -> Iterator[Callable[[], ConnectorJobs]]:
    """Give a function that returns the executor of a connector; it raises as `spark.start` does."""
    with ExitStack() as ending:

        @cache
        def executor() -> ConnectorJobs:
            session = spark.start(settings)
            ending.callback(spark.stop, session)
            jobs = SparkJobs(session)
            ending.callback(jobs.close)
            return jobs.of(connector)

        yield executor
