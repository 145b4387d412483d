"""Works of a batch as tasks of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from frazil.pipeline.source import Work

_RESULT_DDL = "result binary"


def run_works(session: SparkSession, works: Sequence[Work]) -> list[bytes]:
    """Run each work as one task of the session, and return when all are done; raises what Spark makes of an error."""
    if not works:
        return []
    numbers = session.range(0, len(works), numPartitions=len(works))
    return [bytes(row["result"]) for row in numbers.mapInArrow(_Part(tuple(works)), _RESULT_DDL).collect()]


@dataclass(frozen=True)
class _Part:
    """The function for `mapInArrow`: numbers of works in, what they return out."""

    works: tuple[Work, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield pa.record_batch({"result": pa.array([self.works[number]()], pa.binary())})
