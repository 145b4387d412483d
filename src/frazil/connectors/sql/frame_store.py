"""Batches of a program's own stream of Spark in the table of a connector: each is one commit, and none is stored twice.

Spark numbers the batches of a stream, and computes the one that a crash has ended again. So the table keeps the number
of the last one, as the position of a connector that is named after the stream.
"""

from dataclasses import replace

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from frazil.connectors.backfill import digest_of
from frazil.connectors.iceberg.batch import Batch
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.sink_tables import SinkTables
from frazil.connectors.sql.columns import shape_of
from frazil.connectors.sql.query import written
from frazil.connectors.sql.write import WriteOfNone, discovered, result_of_none
from frazil.errors import UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import TaskResult
from frazil.pipeline.task_spec import TaskSpec
from frazil.pipeline.types import Struct

_BATCHES = ("batches", 0)


def store_batch(
    frame: DataFrame, number: int, config: IcebergSinkConfig, catalog: Catalog, executor: Executor
) -> BatchReport | None:
    """Store a batch of a stream; None where the table has it. Raises UsageError outside of foreachBatch, and as a
    batch of the connector does."""
    stream = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    if stream is None:
        raise UsageError("store is for foreachBatch of a stream, which numbers its batches. Nothing was stored")
    named = replace(
        config,
        name=f"{config.name}.stream-{digest_of(stream)}",
        transforms=None,
        envelope=None,
        errors_tolerance="none",
    )
    tables = SinkTables(named, catalog, None, executor)
    (floor,) = tables.floors().values()
    if floor.offsets.get(_BATCHES, 0) > number:
        return None
    columns, _ = shape_of(pa.struct(list(to_arrow_schema(frame.schema))))
    assert isinstance(columns, Struct)  # noqa: S101 - it is one

    def read(spec: TaskSpec, one_task: bool) -> TaskResult:
        (table,) = spec.tables
        if table.writer is None:
            return discovered(table.name, columns)
        rows = frame.coalesce(1) if one_task else frame
        return result_of_none(table.name, [], written(rows, WriteOfNone(spec, _BATCHES[0])))

    letters = LetterBook(None, "", named.name)
    batch = Batch(named, tables.identity, letters, tables, {_BATCHES: number}, {_BATCHES: number + 1}, read)
    batch.store()
    return batch.report()
