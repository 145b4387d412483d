"""Statements in a real Spark whose rows are objects, or files of a Delta table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from frazil.clients.object_store import ObjectStoreConfig
from frazil.connectors.objects.config.delta_keys import DeltaConfig
from frazil.connectors.objects.delta.table import DeltaTarget
from frazil.engine.jobs import SparkJobs
from tests.connectors.broker import Broker
from tests.connectors.iceberg.driver import TOLERANT
from tests.connectors.objects.delta.test_table import LocalPlace
from tests.connectors.sql.object_driver import ObjectDriver

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the socket that DataFrame.collect reads to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
]

CONFIG = {
    "frazil.sql.schema": "id BIGINT NOT NULL, at TIMESTAMP, items ARRAY<STRUCT<sku: STRING, n: INT>>",
    "frazil.sql": """
        CREATE TEMPORARY VIEW lines AS SELECT id, at, explode(items) AS item FROM t;
        SELECT id, at, CAST(at AS DATE) AS day, item.sku, CAST(100 / item.n AS DECIMAL(10, 2)) AS share,
          CAST('nan' AS DOUBLE) AS none, map('a', id) AS ids, unhex('ff') AS bytes
        FROM lines WHERE item.n < 5
    """,
    "flush.size": "7",
    **TOLERANT,
}


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker().install(monkeypatch)
    made.make("t", 2)
    for n in range(50):
        items = [{"sku": f"s{item}", "n": item + 1 if n != 13 else item} for item in range(n % 7)]
        made.send("t", [json.dumps({"id": n, "at": "2026-01-02T03:04:05.678901Z", "items": items}).encode()], n % 2)
    return made


def wanted(partition: int) -> list[tuple[int, str]]:
    """The rows of a partition whose objects are complete, and some more."""
    return [(n, f"s{item}") for n in range(50) if n % 2 == partition and n != 13 for item in range(min(n % 7, 4))]


def shown(rows: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(row["id"], row["sku"]) for row in rows]


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        (
            "json.JsonFormat",
            "1, 2026-01-02T03:04:05.678901Z, 2026-01-02, s0, 100.0, NaN, {'a': 1}, /w==",
        ),
        (
            "parquet.ParquetFormat",
            "1, 2026-01-02 03:04:05.678901+00:00, 2026-01-02, s0, 100.00, nan, [('a', 1)], b'\\xff'",
        ),
        (
            "avro.AvroFormat",
            "1, 2026-01-02 03:04:05.678000+00:00, 2026-01-02, s0, 100.00, nan, {'a': 1}, b'\\xff'",
        ),
    ],
)
def test_rows_are_objects_with_their_types(
    monkeypatch: pytest.MonkeyPatch, broker: Broker, jobs: SparkJobs, tmp_path: Path, kind: str, first: str
) -> None:
    config = {**CONFIG, "format.class": f"io.confluent.connect.s3.format.{kind}"}
    driver = ObjectDriver(monkeypatch, broker, tmp_path, config, executor=jobs.of("c"))
    driver.drain()
    found = driver.rows()
    for partition in (0, 1):
        rows = [row for name, several in found.items() if name.startswith(f"t+{partition}+") for row in several]
        assert rows and shown(rows) == wanted(partition)[: len(rows)]
    assert (
        ", ".join(map(str, next(rows for name, rows in found.items() if name.startswith("t+1"))[0].values())) == first
    )
    assert list(broker.letters("t-dlq")) == [("t", 1, 6, "")]


def test_rows_are_those_of_a_delta_table_whose_commits_have_the_position(
    monkeypatch: pytest.MonkeyPatch, broker: Broker, jobs: SparkJobs, tmp_path: Path
) -> None:
    place = LocalPlace(ObjectStoreConfig("b", "us-east-1", None), "lines", str(tmp_path))

    def driver() -> ObjectDriver:
        config = {**CONFIG, "format.class": "frazil.DeltaFormat", "topics.dir": "lines"}
        target = DeltaTarget(DeltaConfig(), place, "s", ())
        return ObjectDriver(monkeypatch, broker, tmp_path, config, executor=jobs.of("c"), table=target)

    first = driver()
    first.drain()
    again = driver()
    assert again.task.position == first.task.position
    again.drain()
    table = DeltaTable(place.uri)
    rows = table.to_pyarrow_table().to_pylist()
    for partition in (0, 1):
        own = shown([row for row in rows if row["id"] % 2 == partition])
        assert own and sorted(own) == wanted(partition)[: len(own)]
    types = {field.name: str(field.type) for field in table.schema().fields}
    assert (types["share"], types["day"], types["at"]) == tuple(
        f'PrimitiveType("{name}")' for name in ("decimal(10,2)", "date", "timestamp")
    )
