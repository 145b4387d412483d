"""Works of a batch as tasks of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from frazil.pipeline.source import Work


def run_works(session: SparkSession, works: Sequence[Work]) -> list[bytes]:
    """Run each work as one task of the session, and return when all are done; raises what Spark makes of an error.

    A plain job of numbers: there is nothing to plan, and works, which hold credentials, do not go through files.
    """
    count = len(works)
    if not count:
        return []
    return session.sparkContext.parallelize(range(count), count).map(_Numbered(tuple(works))).collect()


@dataclass(frozen=True)
class _Numbered:
    works: tuple[Work, ...]

    def __call__(self, number: int) -> bytes:
        return self.works[number]()
