"""Metrics as an OTLP receiver gets them over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from prometheus_client import Metric

from frazil.errors import ConfigError, ServiceUnavailable
from frazil.pipeline.report import BatchReport
from frazil.worker.watch.metrics import Metrics
from frazil.worker.watch.metrics_export import MetricsExport, metrics_export
from tests.otlp import Receiver, attributes, receiving
from tests.waits import eventually

REPORT = BatchReport(
    "c",
    read=5,
    stored=4,
    dead_letters=1,
    skipped=0,
    files=1,
    bytes_written=9,
    duration_s=2.0,
    write_s=1.0,
    commit_s=0.5,
)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def metrics() -> Metrics:
    return Metrics(lambda: {}, lambda: {"c": "RUNNING"})


def opened(receiver: Receiver, source: Metrics, **more: str) -> MetricsExport:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, **more}
    found = metrics_export(env, "127.0.0.1:8083", source.collect)
    assert found is not None
    return found


def test_counters_gauges_and_histograms_have_the_values_of_a_scrape(receiver: Receiver) -> None:
    source = metrics()
    for seconds in (0.2, 2.0, 2.0, 1000.0):
        source.observe(replace(REPORT, duration_s=seconds))
    export = opened(receiver, source)
    export.start()
    export.close()
    [stored] = receiver.metrics["frazil_records_stored"].sum.data_points
    assert (attributes(stored), stored.as_double) == ({"connector": "c"}, 16.0)
    assert receiver.metrics["frazil_records_stored"].sum.is_monotonic
    states = receiver.metrics["frazil_connector_state"].gauge.data_points
    assert {attributes(one)["state"] for one in states if one.as_double} == {"RUNNING"}
    [batches] = receiver.metrics["frazil_batch_duration_seconds"].histogram.data_points
    assert (batches.count, batches.sum) == (4, 1004.2)
    assert list(batches.explicit_bounds) == [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
    assert list(batches.bucket_counts) == [0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1]
    assert attributes(batches) == {"connector": "c"}
    assert 0 < batches.start_time_unix_nano <= batches.time_unix_nano
    assert "process_open_fds" in receiver.metrics
    [resource] = receiver.resources
    assert (resource["service.name"], resource["service.instance.id"]) == ("frazil", "127.0.0.1:8083")


def test_they_are_sent_again_and_again(receiver: Receiver) -> None:
    source = metrics()
    export = opened(receiver, source, OTEL_METRIC_EXPORT_INTERVAL="20")
    export.start()
    eventually(lambda: len(receiver.resources) > 1)
    source.observe(REPORT)
    eventually(lambda: receiver.metrics["frazil_records_stored"].sum.data_points[0].as_double == 4)
    export.close()


def test_what_cannot_be_collected_is_told_and_tried_again(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    source, failing = metrics(), [True]

    def collect() -> Iterable[Metric]:
        if failing:
            failing.pop()
            raise ServiceUnavailable("the broker is away")
        return source.collect()

    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_METRIC_EXPORT_INTERVAL": "20"}
    export = metrics_export(env, "w", collect)
    assert export is not None
    with caplog.at_level(logging.WARNING):
        export.start()
        eventually(lambda: receiver.metrics)
    export.close()
    assert "metrics were not sent by OTLP; they are sent again with the next ones" in caplog.text


def test_an_export_that_was_not_started_ends(receiver: Receiver) -> None:
    opened(receiver, metrics()).close()
    assert receiver.resources == []


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_METRICS_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_nothing_is_sent_unless_that_is_asked_for(env: dict[str, str]) -> None:
    assert metrics_export(env, "w", list) is None


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"OTEL_METRICS_EXPORTER": "console"}, "OTEL_METRICS_EXPORTER is console; metrics are sent by otlp only"),
        ({"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, "metrics are sent by http/protobuf only"),
        ({"OTEL_METRIC_EXPORT_INTERVAL": "10s"}, "OTEL_METRIC_EXPORT_INTERVAL is 10s; it takes milliseconds"),
        ({"OTEL_METRIC_EXPORT_INTERVAL": "0"}, "OTEL_METRIC_EXPORT_INTERVAL is 0; it takes milliseconds"),
    ],
)
def test_what_there_is_not_is_refused(env: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        metrics_export({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", **env}, "w", list)
