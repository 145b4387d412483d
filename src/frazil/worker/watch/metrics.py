"""Metrics of the worker: `kafka_connector_*` of records and files, `frazil_*` of commits, lag and states."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from frazil.connectors.breakers import STATES
from frazil.engine.maintenance import MaintenanceReport
from frazil.errors import FrazilError
from frazil.pipeline.report import BatchReport, Totals

logger = logging.getLogger(__name__)

Lag = Mapping[tuple[str, str, int], int]
"""Records that are not committed yet, by (connector, topic, partition)."""

_BUCKETS_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_MILLISECONDS = (5, 10, 20, 40, 60, 80, 100, 120, 150, 200, 250, 350, 500, 750)
_OBJECT_BUCKETS_S = (*(ms / 1000 for ms in _MILLISECONDS), 1, 1.5, 2.5, 5, 10, 30, 60)
_STATES = ("UNASSIGNED", "RUNNING", "FAILED", "PAUSED", "STOPPED", "RESTARTING")


class Metrics:
    """Counts committed batches in a registry of its own; lag and states are asked for at each scrape."""

    def __init__(
        self,
        lag: Callable[[], Lag],
        states: Callable[[], Mapping[str, str]],
        breakers: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`states` are those of the connectors, `breakers` those of the circuit breakers of object sinks."""
        self.registry = CollectorRegistry()
        self.started_at = time.time()
        self._lock = threading.Lock()
        self._totals = Totals()
        registry, connector = self.registry, ["connector"]

        def counter(name: str, text: str, labels: list[str]) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def histogram(name: str, text: str) -> Histogram:
            return Histogram(name, text, connector, buckets=_BUCKETS_S, registry=registry)

        self._processed = counter("kafka_connector_records_processed", "Records read", connector)
        self._failed = counter("kafka_connector_records_failed", "Records that could not be stored", connector)
        self._dead = counter("kafka_connector_dlq_messages", "Dead letters", connector)
        self._invalid = counter(
            "kafka_connector_schema_validation_failures", "Records that are not valid by their JSON Schema", connector
        )
        self._validation_seconds = histogram(
            "kafka_connector_schema_validation_duration_seconds",
            "Checking the records of a batch by their JSON Schema, in its slowest task",
        )
        self._writes = counter("kafka_connector_s3_writes", "Data files written", connector)
        self._write_seconds = histogram(
            "kafka_connector_s3_write_duration_seconds", "Storing the files of a batch, in its slowest task"
        )
        topic = ["connector", "topic"]
        self._topic_processed = counter("kafka_connector_topic_records_processed", "Records stored", topic)
        self._topic_failed = counter("kafka_connector_topic_records_failed", "Records that became dead letters", topic)
        self._topic_last = Gauge(
            "kafka_connector_topic_last_write_timestamp",
            "Time of the last commit with records of the topic, ms since 1970",
            topic,
            registry=registry,
        )
        self._stored = counter("frazil_records_stored", "Records stored", connector)
        self._skipped = counter(
            "frazil_records_skipped",
            "Records that give no row: tombstones, those that a transform dropped, and those that no table is for",
            ["connector", "reason"],
        )
        self._bytes = counter("frazil_bytes_written", "Bytes of data files", connector)
        self._object_seconds = Histogram(
            "frazil_object_write_duration_seconds",
            "Storing one object of an object sink, with what is tried again",
            connector,
            buckets=_OBJECT_BUCKETS_S,
            registry=registry,
        )
        self._commits = counter("frazil_commits", "Committed batches", connector)
        self._commit_seconds = histogram("frazil_commit_duration_seconds", "Committing the files of a batch")
        self._batch_seconds = histogram("frazil_batch_duration_seconds", "A batch, from its start to its commit")
        self._last_commit = Gauge(
            "frazil_last_commit_timestamp_seconds", "Time of the last commit", connector, registry=registry
        )
        table = ["connector", "table"]
        self._maintenance = counter("frazil_maintenance_runs", "Maintenance runs over a table", [*table, "result"])
        self._maintenance_seconds = counter("frazil_maintenance_seconds", "Time spent in maintenance", table)
        self._maintenance_bytes = counter("frazil_maintenance_freed_bytes", "Bytes that maintenance has freed", table)
        self._maintenance_last = Gauge(
            "frazil_maintenance_last_run_timestamp_seconds",
            "Time of the last maintenance run that did not fail",
            table,
            registry=registry,
        )
        registry.register(_AtScrape(lag, states, breakers))

    def observe_maintenance(self, report: MaintenanceReport) -> None:
        """Count one maintenance run."""
        table = report.connector, report.table
        self._maintenance.labels(*table, "failed" if report.failed else "done").inc()
        self._maintenance_seconds.labels(*table).inc(report.seconds)
        self._maintenance_bytes.labels(*table).inc(max(report.bytes_freed, 0))
        if not report.failed:
            self._maintenance_last.labels(*table).set(time.time())

    def observe(self, report: BatchReport) -> None:
        """Count one committed batch."""
        name, now = report.connector, time.time()
        self._processed.labels(name).inc(report.read)
        self._failed.labels(name).inc(report.dead_letters)
        self._dead.labels(name).inc(report.dead_letters)
        self._invalid.labels(name).inc(report.invalid)
        if report.validation_s is not None:
            self._validation_seconds.labels(name).observe(report.validation_s)
        self._writes.labels(name).inc(report.files)
        self._write_seconds.labels(name).observe(report.write_s)
        self._stored.labels(name).inc(report.stored)
        for reason, count in report.skipped_by_reason.items():
            self._skipped.labels(name, reason).inc(count)
        self._bytes.labels(name).inc(report.bytes_written)
        for seconds in report.object_s:
            self._object_seconds.labels(name).observe(seconds)
        self._commits.labels(name).inc()
        self._commit_seconds.labels(name).observe(report.commit_s)
        self._batch_seconds.labels(name).observe(report.duration_s)
        self._last_commit.labels(name).set(now)
        for topic, count in report.stored_by_topic.items():
            self._topic_processed.labels(name, topic).inc(count)
            if count:
                self._topic_last.labels(name, topic).set(int(now * 1000))
        for topic, count in report.dead_by_topic.items():
            self._topic_failed.labels(name, topic).inc(count)
        with self._lock:
            self._totals = self._totals.plus(report)

    def totals(self) -> Totals:
        """Sums over all connectors."""
        with self._lock:
            return self._totals

    def names(self) -> list[str]:
        """Names of all metric families, sorted."""
        return sorted({family.name for family in self.registry.collect()})


class _AtScrape(Collector):
    """Gauges whose values are asked for when somebody looks; a broker that does not answer leaves out the lag."""

    def __init__(
        self, lag: Callable[[], Lag], states: Callable[[], Mapping[str, str]], breakers: Callable[[], Mapping[str, str]]
    ) -> None:
        self._lag = lag
        self._states = states
        self._breakers = breakers

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return ()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        yield _one_of("frazil_connector_state", "1 for the present state", self._states(), _STATES)
        yield _one_of(
            "frazil_circuit_breaker_state",
            "1 for the present state of the circuit breaker of an object sink's store",
            self._breakers(),
            STATES,
        )
        known = GaugeMetricFamily("frazil_consumer_lag_known", "0 while the broker does not tell the lag")
        lag = GaugeMetricFamily(
            "frazil_consumer_lag_records", "Records not committed yet", labels=["connector", "topic", "partition"]
        )
        try:
            values = self._lag()
        except FrazilError as error:
            logger.warning("the lag of the connectors is not known: %s", error)
            known.add_metric([], 0.0)
        else:
            known.add_metric([], 1.0)
            for (connector, topic, partition), records in values.items():
                lag.add_metric([connector, topic, str(partition)], float(records))
        yield known
        yield lag


def _one_of(name: str, text: str, present: Mapping[str, str], states: Iterable[str]) -> GaugeMetricFamily:
    """A gauge for each state of each connector: 1 for the one that it is in, 0 for the others."""
    family = GaugeMetricFamily(name, text, labels=["connector", "state"])
    for connector, current in present.items():
        for state in states:
            family.add_metric([connector, state], 1.0 if state == current else 0.0)
    return family
