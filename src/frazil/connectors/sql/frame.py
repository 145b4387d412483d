"""Records of topics as typed rows, for programs: read anew each time that a frame of them is computed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from frazil.connectors.sql.columns import spark_columns
from frazil.connectors.sql.query import map_in_arrow
from frazil.connectors.sql.scan import Scan, ScannedTopic, hidden_columns
from frazil.connectors.sql.statement import METADATA
from frazil.connectors.typed_records import TypedRecords
from frazil.errors import BadRecord
from frazil.pipeline.offsets import Offsets


def typed_records(
    topic: ScannedTopic, scans: Sequence[Scan], begin: Offsets, end: Offsets, *, tolerant: bool
) -> TypedRecords:
    """Take the records of scans, which are those of a span of topics with the same columns.

    Bad records are left out where they are tolerated, else reading fails with the first.
    """
    columns = f"{spark_columns(topic.columns)}, {hidden_columns(METADATA, place=False)}"
    names = (*(field.name for field in topic.columns.fields), *METADATA)
    return TypedRecords(topic.name, columns, begin, end, [_Part(scan, names, tolerant) for scan in scans])


def records_frame(session: SparkSession, records: TypedRecords) -> DataFrame:
    """Make a frame of records."""
    parts = tuple(records.parts)
    numbers = session.range(0, len(parts), 1, max(len(parts), 1))
    return map_in_arrow(numbers, _Reading(parts), records.columns, records.topic)


@dataclass(frozen=True)
class _Part:
    scan: Scan
    names: tuple[str, ...]
    tolerant: bool

    def __call__(self) -> Iterator[pa.RecordBatch]:
        report, rows = self.scan()
        dead = report.result.dead
        if dead and (not self.tolerant or report.result.overflow):
            raise BadRecord(f"a record is bad: {min(dead, key=lambda letter: letter.coordinates)}")
        yield from (each.select(list(self.names)) for each in rows)


@dataclass(frozen=True)
class _Reading:
    """Makes rows of the parts whose numbers it is given; picklable."""

    parts: Sequence[Callable[[], Iterator[pa.RecordBatch]]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.parts[number]()
