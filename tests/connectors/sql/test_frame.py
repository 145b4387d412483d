"""Records as a DataFrame: typed rows with their places, and what becomes of bad records."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from frazil.connectors.sql.config import sql_config
from frazil.connectors.sql.frame import records_frame, typed_records
from frazil.connectors.sql.runs import scans_of
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.sink import SqlSink
from frazil.connectors.sql.statement import METADATA
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.pipeline.source import divided, ranges_between
from tests.connectors.broker import Broker
from tests.connectors.iceberg.driver import memory
from tests.connectors.samples import MINIMAL_SINK
from tests.connectors.sql.driver import STATEMENT, snapshot


def frame(session: SparkSession, broker: Broker, *, tolerant: bool) -> DataFrame:
    config, own = sql_config({**MINIMAL_SINK, **STATEMENT})
    every = replace(own.statement, metadata=METADATA, names=None)
    (topic,) = scanned_topics(config, replace(own, statement=every))
    shares = divided(ranges_between({}, broker.ends("t")), 3)
    scans = [scan for share in shares for scan in scans_of({"t": topic}, share, snapshot(broker, ["t"]), {}, None)]
    return records_frame(session, typed_records(topic, scans, {}, {}, tolerant=tolerant))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_records_are_typed_rows_with_their_places(spark: SparkSession) -> None:
    with memory({}) as (broker, _):
        broker.send("t", [json.dumps({"id": n, "items": [n]}).encode() for n in range(5)], key=b"k", stamp=1000)
        broker.send("t", [b"no json", None])
        found = frame(spark, broker, tolerant=True)
        assert found.columns == ["id", "text", "items", *METADATA]
        rows = found.where("id >= 3").selectExpr(
            "id", "items[0] AS item", "_topic", "_offset", "unix_millis(_timestamp)"
        )
        assert sorted(map(tuple, rows.collect())) == [(3, 3, "t", 3, 1000), (4, 4, "t", 4, 1000)]
        assert found.count() == 5
        with pytest.raises(PySparkException, match="a record is bad: offset 5 of topic t|a record is bad: .*t"):
            frame(spark, broker, tolerant=False).collect()


def test_a_frame_of_several_topics_is_of_one_that_is_named() -> None:
    config = {**MINIMAL_SINK, **STATEMENT, "topics": "t,u", "frazil.sql": "SELECT id FROM t UNION ALL SELECT id FROM u"}
    sink = SqlSink(config, Settings({}), Settings({}).bootstrap_servers)
    with pytest.raises(UsageError, match="name one of t, u"):
        sink.records("", None, None)
