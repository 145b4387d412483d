"""Backfills into objects and Delta tables: the rows of a span are there once, and the connector's position stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import frazil
from frazil.connectors.backfill import Span
from frazil.connectors.objects.delta.table import Place
from frazil.connectors.objects.stored_positions import StoredPositions
from frazil.connectors.sql.config import sql_object_config
from frazil.errors import PositionLost, UsageError
from frazil.stack.local import LocalStack
from tests.acceptance.objects import ObjectPipe
from tests.connectors.broker import Broker, Killed
from tests.connectors.iceberg.driver import TOLERANT
from tests.connectors.sql.driver import PythonQuery, Rows, failure
from tests.connectors.sql.object_driver import ObjectDriver

pytestmark = [
    # PySpark leaves the socket that DataFrame.collect reads to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]

SPAN = Span({("t", 0): 3, ("t", 1): 0}, {("t", 0): 18, ("t", 1): 11})


def exploded(row: dict[str, Any]) -> Rows:
    if row["id"] % 10 == 7:
        raise failure()
    return [{"id": 10 * row["id"] + item, "text": ""} for item in range(row["id"] % 3)]


def test_all_rows_of_a_span_are_stored_wherever_it_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broker = Broker().install(monkeypatch)
    broker.make("t", 2)
    for n in range(40):
        broker.send("t", [json.dumps({"id": n}).encode() if n % 9 else b"no json"], partition=n % 2)
    config = {"flush.size": "4", "frazil.batch.max.records": "6", **TOLERANT}

    def driver(name: str) -> ObjectDriver:
        own = {**config, "name": name}
        return ObjectDriver(monkeypatch, broker, tmp_path / name, own, PythonQuery(exploded), span=SPAN)

    whole = driver("whole")
    whole.task.store(SPAN.end)
    stored = sorted(row["id"] // 10 for rows in whole.rows().values() for row in rows)
    read = [n for n in range(40) if SPAN.begin["t", n % 2] <= n // 2 < SPAN.end["t", n % 2]]
    assert stored == [n for n in read for _ in range(n % 3) if n % 9 and n % 10 != 7]
    assert whole.task.position == SPAN.end
    for number in range(1, len(whole.rows()) + 1):
        one = driver(f"killed-{number}")
        one.store.left = number
        with pytest.raises(Killed):
            one.task.store(SPAN.end)
        one.restart()
        one.task.store(SPAN.end)
        assert one.rows() == whole.rows()


class Past:
    """A topic with records of the hours 0 to 9, and a connector for their rows."""

    def __init__(self, stack: LocalStack, name: str, **config: str) -> None:
        self.pipe = ObjectPipe(stack.settings, name).create()
        self.config = {
            **self.pipe.config(**config),
            "connector.class": "SqlSink",
            "frazil.sql.schema": "id BIGINT NOT NULL",
            "frazil.sql": f"SELECT id, explode(array(1, 2)) AS item FROM {name}",  # noqa: S608 - a name of ours
        }
        for hour in range(10):
            self.pipe.send([json.dumps({"id": hour}).encode()], partition=hour % 2, timestamp=self.at(hour))
        self.opened = frazil.open(self.config, f"s3-{name}", env=stack.settings.env)

    @staticmethod
    def at(hour: int) -> int:
        return 1_760_000_000_000 + hour * 3_600_000

    def backfill(self, spark: SparkSession, since: int, until: int, *, again: bool = False) -> Any:
        return self.opened.backfill(
            spark, *(datetime.fromtimestamp(self.at(hour) / 1000, UTC) for hour in (since, until)), again=again
        )

    def of_objects(self) -> list[int]:
        return sorted(json.loads(line)["id"] for line in self.pipe.lines())

    def of_table(self) -> list[int]:
        parsed, _ = sql_object_config(self.config)
        settings = self.pipe.settings
        options = Place(parsed.store, "").options() | {
            "AWS_ACCESS_KEY_ID": settings.access_key,
            "AWS_SECRET_ACCESS_KEY": settings.secret_key,
        }
        uri = f"s3://{parsed.store.bucket}/{parsed.layout.topics_dir}"
        found: list[int] = DeltaTable(uri, storage_options=options).to_pyarrow_table().column("id").to_pylist()
        return sorted(found)


def twice(*ids: int) -> list[int]:
    return sorted([*ids, *ids])


@pytest.mark.spark
@pytest.mark.parametrize("delta", [False, True])
def test_a_span_is_stored_once_beside_the_connector(
    stack: LocalStack, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, delta: bool
) -> None:
    name = "past_delta" if delta else "past_lines"
    more = {"format__class": "frazil.DeltaFormat", "topics__dir": name} if delta else {}
    past = Past(stack, name, flush__size="4", frazil__batch__max__records="2", **more)
    found: Callable[[], list[int]] = past.of_table if delta else past.of_objects
    keep, kept = StoredPositions.keep, iter(range(100))

    def ends(self: StoredPositions, *given: Any) -> None:
        if next(kept) == 2:
            raise Killed
        keep(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(StoredPositions, "keep", ends)
        with pytest.raises(Killed):
            past.backfill(spark, 2, 7)
    past.backfill(spark, 2, 7)
    assert found() == twice(2, 3, 4, 5, 6)
    assert past.backfill(spark, 2, 7) is None, "they are there"
    with pytest.raises(UsageError, match=r"2 records of them are stored by .*\.backfill-\w+ already"):
        past.backfill(spark, 5, 9)
    assert past.opened.drain(spark).stored == 16, "four rows an object, the last record of each partition waits"
    assert found() == sorted(twice(*range(8)) + twice(2, 3, 4, 5, 6))
    with pytest.raises(UsageError, match="1 record of them is before the position of .*, which has stored them"):
        past.backfill(spark, 7, 9)
    past.backfill(spark, 8, 10)
    assert found() == sorted(twice(*range(10)) + twice(2, 3, 4, 5, 6))


@pytest.mark.spark
def test_a_topic_that_was_made_again_has_no_old_span(
    stack: LocalStack, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = Past(stack, "past_again")
    past.backfill(spark, 0, 2)
    monkeypatch.setattr("frazil.clients.kafka.topics.topic_ids", lambda servers, topics: dict.fromkeys(topics, "other"))
    with pytest.raises(PositionLost, match="deleted and made again"):
        past.backfill(spark, 0, 2)
