"""Lag and newest records in the metrics of a worker."""

from prometheus_client.parser import text_string_to_metric_families

from frazil.connectors.progress import progress

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
    assert progress(metrics, "a") == [
        ("Lag", "1,234 records, the first for 2 s"),
        ("Newest record", "db.t: 2023-11-14 22:13:20 UTC"),
    ]
    assert progress(metrics, "b") == [("Lag", "0 records")]
    assert progress(metrics, "of another worker") == []
