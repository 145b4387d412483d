"""Batches of a program's own stream in the table of a connector, by `Connector.store`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import frazil
from frazil.clients.catalog import connect
from frazil.errors import UsageError
from frazil.stack.local import LocalStack

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the socket that DataFrame.collect reads to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]


class Job:
    """A program whose stream of files goes to a table; it may end behind the commit of a batch."""

    def __init__(self, stack: LocalStack, spark: SparkSession, folder: Path, name: str, **config: str) -> None:
        self.spark, self.folder, self.name = spark, folder, name
        self.properties = stack.settings.catalog_properties()
        (folder / "files").mkdir()
        self.opened = frazil.open(
            {
                "connector.class": "SqlSink",
                "topics": "t",
                "frazil.sql.schema": "id BIGINT NOT NULL",
                "frazil.sql": "SELECT id FROM t",
                "iceberg.tables": f"streaming.{name}",
                "iceberg.tables.auto-create-enabled": "true",
                **config,
            },
            name,
            env=stack.settings.env,
        )
        self.told: list[Any] = []

    def send(self, *ids: int) -> None:
        (self.folder / "files" / f"{ids[0]}.json").write_text("\n".join(json.dumps({"id": each}) for each in ids))

    def run(self, *, dies: bool = False) -> None:
        def store(frame: DataFrame, batch: int) -> None:
            self.told.append(self.opened.store(frame.selectExpr("id", "id * 10 AS tenfold"), batch))
            if dies:
                raise RuntimeError("the program ends here")

        stream = self.spark.readStream.schema("id BIGINT").json(str(self.folder / "files"))
        query = (
            stream.writeStream.option("checkpointLocation", str(self.folder / "checkpoint")).foreachBatch(store).start()
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    def rows(self) -> list[tuple[int, int]]:
        table = connect(self.properties).load_table(f"streaming.{self.name}")
        return sorted((row["id"], row["tenfold"]) for row in table.scan().to_arrow().to_pylist())


@pytest.mark.parametrize(
    "config",
    [{}, {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}],
    ids=["appends", "upserts"],
)
def test_a_batch_that_is_computed_again_is_not_stored_again(
    stack: LocalStack, spark: SparkSession, tmp_path: Path, config: dict[str, str]
) -> None:
    job = Job(stack, spark, tmp_path, f"stream_{'upserts' if config else 'appends'}", **config)
    job.send(1, 2, 3)
    with pytest.raises(StreamingQueryException, match="the program ends here"):
        job.run(dies=True)
    assert job.rows() == [(1, 10), (2, 20), (3, 30)]
    job.send(4)
    job.run()
    assert job.rows() == [(1, 10), (2, 20), (3, 30), (4, 40)]
    assert [None if each is None else each.stored for each in job.told] == [3, None, 1]


def test_rows_that_are_of_no_batch_are_refused(stack: LocalStack, spark: SparkSession, tmp_path: Path) -> None:
    job = Job(stack, spark, tmp_path, "stream_none")
    with pytest.raises(UsageError, match="store is for foreachBatch"):
        job.opened.store(spark.range(3), 0)
