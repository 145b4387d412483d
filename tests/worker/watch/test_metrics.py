from __future__ import annotations

import re
from dataclasses import replace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from frazil.clients.kafka.groups import Behind
from frazil.connectors.iceberg.maintenance.policy import Step, StepResult
from frazil.engine.maintenance import MaintenanceReport
from frazil.errors import ServiceUnavailable
from frazil.pipeline.report import BatchReport
from frazil.worker.watch.at_scrape import Waits
from frazil.worker.watch.lag import Lag
from frazil.worker.watch.metrics import Metrics


def running() -> dict[str, str]:
    return {"c": "RUNNING", "d": "RUNNING"}


def report(connector: str = "c", **changes: int) -> BatchReport:
    return BatchReport(
        connector,
        read=changes.get("read", 100),
        stored=changes.get("stored", 90),
        dead_letters=changes.get("dead_letters", 6),
        skipped=changes.get("skipped", 4),
        files=3,
        bytes_written=5000,
        duration_s=2.0,
        write_s=1.5,
        commit_s=0.5,
        stored_by_topic={"t": 60, "u": 30, "idle": 0},
        dead_by_topic={"t": 6},
        skipped_by_reason={"tombstone": 3, "unrouted": 1},
    )


def test_objects_and_breakers_of_object_sinks() -> None:
    metrics = Metrics(lambda: {}, running, lambda: {"c": "half-open"})
    metrics.observe(replace(report(), object_s=(0.003, 0.11, 0.2)))
    text = lines(metrics)
    for line in (
        'frazil_object_write_duration_seconds_bucket{connector="c",le="0.1"} 1.0',
        'frazil_object_write_duration_seconds_bucket{connector="c",le="0.12"} 2.0',
        'frazil_object_write_duration_seconds_count{connector="c"} 3.0',
        'frazil_circuit_breaker_state{connector="c",state="half-open"} 1.0',
        'frazil_circuit_breaker_state{connector="c",state="open"} 0.0',
    ):
        assert line in text


def test_checking_by_a_schema_is_timed_where_there_is_one() -> None:
    metrics = Metrics(lambda: {}, running)
    metrics.observe(replace(report(), validation_s=0.3))
    metrics.observe(replace(report(), validation_s=0.0))
    metrics.observe(report("d"))
    name = "kafka_connector_schema_validation_duration_seconds"
    text = lines(metrics)
    assert f'{name}_bucket{{connector="c",le="0.5"}} 2.0' in text
    assert f'{name}_sum{{connector="c"}} 0.3' in text
    assert not any(line.startswith(name) and 'connector="d"' in line for line in text)


def lines(metrics: Metrics) -> list[str]:
    return metrics.exposition()[0].decode().splitlines()


def test_batches_are_summed_per_connector_and_topic() -> None:
    metrics = Metrics(lambda: {}, running)
    metrics.observe(report())
    metrics.observe(report())
    metrics.observe(report("d"))
    text = lines(metrics)
    for line in (
        'kafka_connector_records_processed_total{connector="c"} 200.0',
        'kafka_connector_records_failed_total{connector="c"} 12.0',
        'kafka_connector_dlq_messages_total{connector="d"} 6.0',
        'kafka_connector_s3_writes_total{connector="c"} 6.0',
        'kafka_connector_s3_write_duration_seconds_sum{connector="c"} 3.0',
        'kafka_connector_topic_records_processed_total{connector="c",topic="t"} 120.0',
        'kafka_connector_topic_records_failed_total{connector="c",topic="t"} 12.0',
        'frazil_records_stored_total{connector="c"} 180.0',
        'frazil_records_skipped_total{connector="c",reason="tombstone"} 6.0',
        'frazil_records_skipped_total{connector="c",reason="unrouted"} 2.0',
        'frazil_bytes_written_total{connector="c"} 10000.0',
        'frazil_commits_total{connector="c"} 2.0',
        'frazil_commit_duration_seconds_sum{connector="c"} 1.0',
        'frazil_batch_duration_seconds_bucket{connector="c",le="2.5"} 2.0',
    ):
        assert line in text
    assert any(line.startswith('frazil_last_commit_timestamp_seconds{connector="c"} 1.') for line in text)
    assert any(line.startswith('kafka_connector_topic_last_write_timestamp{connector="c",topic="t"} ') for line in text)
    assert not any('last_write_timestamp{connector="c",topic="idle"' in line for line in text)


def test_conservation_holds_over_the_counters() -> None:
    metrics = Metrics(lambda: {}, running)
    for dead in range(5):
        metrics.observe(report(read=100 + dead, dead_letters=6 + dead))
    totals = metrics.totals()
    assert totals.read == totals.stored + totals.dead_letters + totals.skipped == 510
    assert totals.failure_rate == pytest.approx(40 / 510)
    assert (totals.batches, totals.files, totals.bytes_written) == (5, 15, 25_000)


def test_lag_and_states_are_asked_for_at_each_scrape() -> None:
    lag: dict[tuple[str, str, int], Behind] = {}
    metrics = Metrics(lambda: lag, lambda: {"c": "RUNNING"})
    lag["c", "t", 2] = Behind(10, 27)
    text = lines(metrics)
    assert 'frazil_consumer_lag_records{connector="c",partition="2",topic="t"} 17.0' in text
    assert 'frazil_connector_state{connector="c",state="RUNNING"} 1.0' in text
    assert 'frazil_connector_state{connector="c",state="FAILED"} 0.0' in text
    assert "frazil_consumer_lag_known 1.0" in text
    lag["c", "t", 2] = Behind(27, 27)
    assert 'frazil_consumer_lag_records{connector="c",partition="2",topic="t"} 0.0' in lines(metrics)


def test_a_broker_that_does_not_answer_leaves_the_other_metrics(caplog: pytest.LogCaptureFixture) -> None:
    def unknown() -> Lag:
        raise ServiceUnavailable("broker 127.0.0.1:1 does not answer")

    metrics = Metrics(unknown, lambda: {"c": "RUNNING"})
    metrics.observe(report())
    text = lines(metrics)
    assert "frazil_consumer_lag_known 0.0" in text
    assert 'frazil_commits_total{connector="c"} 1.0' in text
    assert "broker 127.0.0.1:1 does not answer" in caplog.text


def test_who_accepts_openmetrics_gets_the_traces_of_durations_as_exemplars() -> None:
    metrics = Metrics(lambda: {("c", "t", 0): Behind(2, 7)}, running)
    metrics.observe(replace(report(), trace_id="0af7651916cd43dd8448eb211c80319c"))
    plain, plain_type = metrics.exposition("*/*")
    assert plain_type.startswith("text/plain") and b"trace_id" not in plain
    text, media_type = metrics.exposition("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert media_type.startswith("application/openmetrics-text")
    families = list(text_string_to_metric_families(text.decode()))  # type: ignore[no-untyped-call]
    found = {family.name for family in families for one in family.samples if one.exemplar}
    assert {"frazil_batch_duration_seconds", "frazil_commit_duration_seconds"} <= found
    assert {family.name for family in families} == {family.name for family in metrics.collect()}


def test_names() -> None:
    names = {metric.name for metric in Metrics(lambda: {}, running).collect()}
    assert {"kafka_connector_records_processed", "frazil_consumer_lag_records"} <= names


def test_maintenance_is_counted_by_table_and_result() -> None:
    metrics = Metrics(lambda: {}, running)
    grown = StepResult(Step.COMPACT, "data files", 9, 1, -50)
    freed = StepResult(Step.EXPIRE, "snapshots", 9, 1, 1050)
    metrics.observe_maintenance(MaintenanceReport("c", "n.t", 2.0, (grown, freed)))
    metrics.observe_maintenance(MaintenanceReport("c", "n.t", 3.0, (StepResult(Step.EXPIRE, "", failed=True),)))
    metrics.observe_maintenance(MaintenanceReport("c", "n.u", 1.0, error="the catalog is away"))
    text = lines(metrics)
    for line in (
        'frazil_maintenance_runs_total{connector="c",result="done",table="n.t"} 1.0',
        'frazil_maintenance_runs_total{connector="c",result="failed",table="n.t"} 1.0',
        'frazil_maintenance_runs_total{connector="c",result="failed",table="n.u"} 1.0',
        'frazil_maintenance_seconds_total{connector="c",table="n.t"} 5.0',
        'frazil_maintenance_freed_bytes_total{connector="c",table="n.t"} 1000.0',
    ):
        assert line in text
    assert any(x.startswith('frazil_maintenance_last_run_timestamp_seconds{connector="c",table="n.t"}') for x in text)
    assert not any("last_run_timestamp" in line and "n.u" in line for line in text)


def test_a_connector_counts_from_0_on_before_its_first_batch() -> None:
    text = lines(Metrics(lambda: {}, running))
    assert 'kafka_connector_dlq_messages_total{connector="d"} 0.0' in text
    assert 'kafka_connect_task_error_metrics_total_record_failures{connector="d",task="0"} 0.0' in text


def test_a_connector_that_is_deleted_leaves_no_metric() -> None:
    states = running()
    metrics = Metrics(lambda: {}, lambda: states)
    for name in states:
        metrics.observe(replace(report(name), newest={"n.t": 5}, object_s=(0.1,)))
        metrics.observe_maintenance(MaintenanceReport(name, "n.t", 1.0))
    before = lines(metrics)
    del states["d"]
    after = lines(metrics)
    assert sum('connector="c"' in line for line in after) == sum('connector="c"' in line for line in before)
    assert any('connector="d"' in line for line in before)
    assert not any('connector="d"' in line for line in after)


def test_the_newest_record_of_a_table_and_starts_by_themselves() -> None:
    metrics = Metrics(lambda: {}, running, restarts=lambda: {"c": 4})
    metrics.observe(replace(report(), newest={"n.t": 1_700_000_000_500, "n.u": 7}, schema_ids={"n.t": 3}))
    text = lines(metrics)
    assert 'frazil_newest_record_timestamp_seconds{connector="c",table="n.t"} 1.7000000005e+09' in text
    assert 'frazil_newest_record_timestamp_seconds{connector="c",table="n.u"} 0.007' in text
    assert 'frazil_table_schema_id{connector="c",table="n.t"} 3.0' in text
    assert 'frazil_connector_restarts_total{connector="c"} 4.0' in text


def test_names_of_kafka_connect() -> None:
    lag = {("c", "t", 0): Behind(3, 5), ("c", "t", 1): Behind(0, 9)}
    states = {"c": "RUNNING", "d": "FAILED"}
    metrics = Metrics(lambda: lag, lambda: states)
    metrics.observe(report())
    metrics.observe(report())
    text = lines(metrics)
    for line in (
        'sink_task_metrics_sink_record_read_total{connector="c",task="0"} 200.0',
        'sink_task_metrics_sink_record_send_total{connector="c",task="0"} 180.0',
        'sink_task_metrics_offset_commit_completion_total{connector="c",task="0"} 2.0',
        'sink_task_metrics_offset_commit_seq_no{connector="c",task="0"} 2.0',
        'sink_task_metrics_put_batch_avg_time_ms{connector="c",task="0"} 1500.0',
        'sink_task_metrics_partition_count{connector="c",task="0"} 2.0',
        'sink_task_metrics_sink_record_lag_max{connector="c",task="0"} 9.0',
        'task_error_metrics_deadletterqueue_produce_requests{connector="c",task="0"} 12.0',
        'connector_task_metrics_batch_size_avg{connector="c",task="0"} 100.0',
        'connect_worker_metrics_connector_failed_task_count{connector="d"} 1.0',
        'connect_worker_metrics_connector_failed_task_count{connector="c"} 0.0',
        "connect_worker_metrics_connector_count 2.0",
        'connector_status{connector="d",status="failed",task="0"} 1.0',
    ):
        assert f"kafka_connect_{line}" in text


def test_each_process_has_memory_files_and_threads() -> None:
    text = "\n".join(lines(Metrics(lambda: {}, running)))
    for name in ("resident_memory_bytes", "open_fds", "threads"):
        (value,) = re.findall(rf'^frazil_process_{name}{{process="worker"}} (\S+)$', text, re.MULTILINE)
        assert float(value) >= 1


def test_records_wait_since_they_were_seen_first() -> None:
    waits, key = Waits(), ("c", "t", 0)

    def waited(now: float, position: int, end: int) -> float:
        return waits.of({key: Behind(position, end)}, now)[key]

    assert waited(0, 5, 5) == 0
    assert waited(10, 5, 8) == 0
    assert waited(20, 5, 9) == 10
    assert waited(30, 8, 9) == 10  # what came at 10 is stored, what came at 20 is not
    assert waited(40, 9, 9) == 0
    for second in range(1000, 3000):
        assert waited(second, 9, second) == second - 1000
    assert waited(3000, 2900, 3000) == pytest.approx(100, abs=40)
    assert waits.of({}, 3001) == {}
