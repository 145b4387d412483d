"""Program with a Spark of its own: a statement with state over many keys; prints what its newest progress says.

The argument is the most megabytes that RocksDB may have in that JVM.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from frazil.connectors.sql.columns import parse_columns
from frazil.connectors.sql.query import ArrowMapping
from frazil.connectors.sql.scan import ScannedTopic
from frazil.connectors.sql.state_config import StateConfig
from frazil.connectors.sql.state_query import StateQuery
from frazil.connectors.sql.state_rules import StateRules
from frazil.connectors.sql.statement import parse_statement

COLUMNS = "id BIGINT NOT NULL, text STRING"
KEYS, SIZE, BATCHES = 2_500, 4_000, 5
"""Keys of a task, letters of the value of each, and batches."""
BOUND = "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB"


def rows(topic: ScannedTopic) -> ArrowMapping:
    """Make rows with new keys of each number that the stream gives."""

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(1).to_pylist():
                letters = random.Random(number).randbytes(SIZE // 2).hex()
                ids = [number * KEYS + key for key in range(KEYS)]
                texts = [f"{letters}{key}" for key in ids]
                yield pa.RecordBatch.from_pydict({"id": ids, "text": texts})

    return made


def progress(session: SparkSession, folder: str) -> object:
    """Run the batches, and give the state of the last one."""
    statement = parse_statement(
        "SELECT id, max(text) AS text FROM t GROUP BY id", ["t"], StateRules({}, True, ("id",), False)
    )
    topic = ScannedTopic(0, 0, "t", parse_columns(COLUMNS), ())
    query = StateQuery.over(session, statement, [topic], StateConfig({}, (), late_letters=False))
    frame = query.stream(query.session, rows, 2)
    stream = (
        frame.writeStream.outputMode("update")
        .option("checkpointLocation", folder)
        .foreachBatch(lambda rows, number: rows.write.format("noop").mode("append").save())
        .start()
    )
    try:
        while stream.lastProgress is None or stream.lastProgress.batchId < BATCHES - 1:
            if not stream.isActive:
                raise stream.exception() or RuntimeError("the stream has ended")
            time.sleep(0.1)
        return json.loads(stream.lastProgress.json)["stateOperators"][0]
    finally:
        stream.stop()


def _main(bound: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as folder:
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.local.dir", f"{folder}/local")
            .config(BOUND, bound)
            .getOrCreate()
        )
        found = progress(session, Path(folder, "checkpoint").as_uri())
        session.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    _main(sys.argv[1])
