"""Records of topics as a DataFrame of typed rows, for programs: read anew each time that the frame is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from frazil.connectors.sql.columns import spark_columns
from frazil.connectors.sql.query import map_in_arrow
from frazil.connectors.sql.scan import Scan, ScannedTopic, hidden_columns
from frazil.connectors.sql.statement import METADATA
from frazil.errors import BadRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def records_frame(session: SparkSession, topic: ScannedTopic, scans: Sequence[Scan], *, tolerant: bool) -> DataFrame:
    """Make a frame of the records of scans, which are of topics with the same columns; a task for each scan.

    Bad records are left out where they are tolerated, else the frame fails with the first.
    """
    reading = _Reading(tuple(scans), [*(field.name for field in topic.columns.fields), *METADATA], tolerant=tolerant)
    schema = f"{spark_columns(topic.columns)}, {hidden_columns(METADATA, place=False)}"
    return map_in_arrow(session.range(0, len(scans), 1, max(len(scans), 1)), reading, schema, topic.name)


class _Reading:
    """Makes rows of the scans whose numbers it is given; picklable."""

    def __init__(self, scans: Sequence[Scan], names: Sequence[str], *, tolerant: bool) -> None:
        self._scans, self._names, self._tolerant = scans, names, tolerant

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                report, rows = self._scans[number]()
                dead = report.result.dead
                if dead and (not self._tolerant or report.result.overflow):
                    raise BadRecord(f"a record is bad: {min(dead, key=lambda letter: letter.coordinates)}")
                yield from (each.select(self._names) for each in rows)
