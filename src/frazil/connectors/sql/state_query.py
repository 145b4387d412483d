"""A statement with state in Spark: its topics with watermarks, as streams, and as batches to try records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from frazil.connectors.plan import Plan
from frazil.connectors.sql.columns import spark_columns
from frazil.connectors.sql.query import SETTINGS, ArrowMapping, Query, analysis, map_in_arrow
from frazil.connectors.sql.rehearsal import Rehearse
from frazil.connectors.sql.scan import ScannedTopic, hidden_columns
from frazil.connectors.sql.state_config import StateConfig
from frazil.connectors.sql.statement import PLACE, Statement, topic_relation
from frazil.errors import ConfigError

_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STREAM_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # which streams cannot have, and Spark warns of
    "spark.sql.streaming.stateStore.providerClass": _ROCKS_DB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",  # the store has its own
}


@dataclass
class StateQuery(Query):
    """See `Query`; over batches each topic is complete, so nothing is late and every window is closed."""

    state: StateConfig

    @classmethod
    def over(
        cls, session: SparkSession, statement: Statement, topics: Sequence[ScannedTopic], state: StateConfig
    ) -> StateQuery:
        """Make a query as `Query.of` does."""
        return cls(session.newSession(), statement, topics, state)

    def check(self, tables: Sequence[pa.Table]) -> Plan:
        """See `Query`; Spark has to take the statement over streams too."""
        try:
            frame = self.stream(self.session, lambda topic: _nothing, 1)
            made: Any = frame
            java: Any = frame.sparkSession.sparkContext._jvm  # noqa: SLF001 - no public name
            checker = java.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
            checker.checkForStreaming(made._jdf.queryExecution().analyzed(), self._output(java))  # noqa: SLF001
        except PySparkException as error:
            raise ConfigError(f"frazil.sql: {analysis(error, self.statement)}") from None
        return super().check(tables)

    def _output(self, java: Any) -> Any:
        modes = java.org.apache.spark.sql.streaming.OutputMode
        return modes.Update() if self.statement.updates else modes.Append()

    def stream(self, session: SparkSession, scanning: Callable[[ScannedTopic], ArrowMapping], slots: int) -> DataFrame:
        """Make the statement over streams that give a number for each slot of a batch, which `scanning` makes rows of.

        Column `timestamp` is that of the batch: its number, in milliseconds.
        """
        for name, value in (SETTINGS | STREAM_SETTINGS).items():
            session.conf.set(name, value)
        ticks = session.readStream.format("rate-micro-batch").options(
            rowsPerBatch=slots, numPartitions=slots, startTimestamp=0, advanceMillisPerBatch=1
        )
        for topic in self.topics:
            schema = ", ".join(
                filter(None, [spark_columns(topic.columns), hidden_columns(topic.metadata, place=False)])
            )
            self._show(topic, map_in_arrow(ticks.load(), scanning(topic), schema, topic.name))
        return session.sql(self.statement.text)

    def rehearsal(self, relation: int, batch: pa.RecordBatch, tables: Sequence[pa.Table]) -> Rehearse:
        """Make what computes the statement over some rows of a topic alone; a call raises as `run` does."""
        offsets = pc.struct_field(batch.column(PLACE), "offset")

        def rehearse(first: int, last: int, but: Sequence[int]) -> None:
            within = pc.and_(pc.greater_equal(offsets, first), pc.less_equal(offsets, last))
            wanted = pc.and_not(within, pc.is_in(offsets, pa.array(but, pa.int64())))
            self.try_rows({relation: [batch.filter(wanted)]}, tables)

        return rehearse

    def _show(self, topic: ScannedTopic, frame: DataFrame) -> None:
        """Let the statement see a topic by its name."""
        frame = frame.drop(PLACE)
        watermark, keys = self.state.watermarks.get(topic.name), list(self.state.dedup_keys)
        if watermark is not None:
            frame = frame.withWatermark(watermark.column, watermark.delay)
        if keys:
            frame = frame.dropDuplicatesWithinWatermark(keys) if frame.isStreaming else frame.dropDuplicates(keys)
        frame.createOrReplaceTempView(topic_relation(topic.relation))


def _nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches
