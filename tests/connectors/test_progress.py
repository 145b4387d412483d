"""Lag and newest records in the metrics of a worker."""

from prometheus_client.parser import text_string_to_metric_families

from frazil.connectors.gathering import gathering
from frazil.connectors.progress import progress
from tests.connectors.samples import MINIMAL_S3_SINK, MINIMAL_SINK

METRICS = """\
frazil_consumer_lag_records{connector="a",topic="t",partition="0"} 1200.0
frazil_consumer_lag_records{connector="a",topic="t",partition="1"} 34.0
frazil_consumer_lag_records{connector="b",topic="t",partition="0"} 0.0
frazil_consumer_lag_seconds{connector="a",topic="t",partition="0"} 2.4
frazil_consumer_lag_seconds{connector="b",topic="t",partition="0"} 0.0
frazil_newest_record_timestamp_seconds{connector="a",table="db.t"} 1.7e+09
"""


def test_lag_of_all_partitions_and_newest_record_of_each_table() -> None:
    metrics = list(text_string_to_metric_families(METRICS))
    assert progress(metrics, "a", {}) == [
        ("Lag", "1,234 records, the first for 2 s"),
        ("Newest record", "db.t: 2023-11-14 22:13:20 UTC"),
    ]
    assert progress(metrics, "b", {}) == [("Lag", "0 records")]
    assert progress(metrics, "of another worker", {}) == []


def test_records_that_wait_for_others_of_their_partition_are_told() -> None:
    metrics = list(text_string_to_metric_families(METRICS))
    told = dict(progress(metrics, "a", {**MINIMAL_S3_SINK, "flush.size": "1201"}))
    assert told["Waiting"] == (
        "1,234 records wait in open objects until their partition has 1,201 (`flush.size`); "
        "`rotate.schedule.interval.ms` stores them by the clock"
    )


def test_only_what_the_sink_gathers_waits() -> None:
    sink = {**MINIMAL_S3_SINK, "flush.size": "10"}
    assert gathering(sink, [9, 1]).startswith("10 records wait in open objects until their partition has 10")
    assert gathering(sink, [1]).startswith("1 record waits")
    scheduled = {**sink, "rotate.schedule.interval.ms": "1000"}
    unknown = {**sink, "connector.class": "org.example.Sink"}
    for config, lags in ((sink, [10]), (sink, [0]), (sink, []), (scheduled, [5]), (MINIMAL_SINK, [5]), (unknown, [5])):
        assert not gathering(config, lags)
