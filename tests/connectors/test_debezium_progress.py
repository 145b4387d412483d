"""What Debezium's metrics say of a connector."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from frazil.connectors.progress import captured

TOLD = """
debezium_metrics_SnapshotRunning{plugin="postgres",name="shop",context="snapshot"} 1.0
debezium_metrics_SnapshotCompleted{plugin="postgres",name="shop",context="snapshot"} 0.0
debezium_metrics_TotalTableCount{plugin="postgres",name="shop",context="snapshot"} 5.0
debezium_metrics_RemainingTableCount{plugin="postgres",name="shop",context="snapshot"} 2.0
debezium_metrics_RowsScanned{plugin="postgres",name="shop",context="snapshot",table="a"} 1000.0
debezium_metrics_RowsScanned{plugin="postgres",name="shop",context="snapshot",table="b"} 234.0
debezium_metrics_Connected{plugin="postgres",name="shop",context="streaming"} 1.0
debezium_metrics_TotalNumberOfEventsSeen{plugin="postgres",name="shop",context="streaming"} 7.0
debezium_metrics_TotalNumberOfCreateEventsSeen{plugin="postgres",name="shop",context="streaming"} 4.0
debezium_metrics_TotalNumberOfUpdateEventsSeen{plugin="postgres",name="shop",context="streaming"} 2.0
debezium_metrics_TotalNumberOfDeleteEventsSeen{plugin="postgres",name="shop",context="streaming"} 1.0
debezium_metrics_MilliSecondsBehindSource{plugin="postgres",name="shop",context="streaming"} 1500.0
debezium_metrics_Connected{plugin="postgres",name="other",context="streaming"} 0.0
debezium_metrics_MilliSecondsBehindSource{plugin="postgres",name="other",context="streaming"} -1.0
"""
METRICS = list(text_string_to_metric_families(TOLD))


def test_a_snapshot_and_how_far_it_is_behind_are_told_of_the_connector_with_the_prefix() -> None:
    assert captured(METRICS, "shop") == [
        ("Snapshot", "running: 3 of 5 tables, 1,234 rows"),
        ("Log of the database", "read"),
        ("Changes", "7: 4 inserts, 2 updates, 1 delete"),
        ("Behind the database", "1.5 s at its newest change"),
    ]
    assert captured(METRICS, "other") == [("Log of the database", "not read: no connection"), ("Changes", "0")]
    assert captured(METRICS, "none") == []
