"""Metrics of the worker: `kafka_connector_*` of records and files, `frazil_*` of commits, lag and states, and
`kafka_connect_*`, the names of Kafka Connect's own."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder

from frazil.clients.calls import CALLS
from frazil.engine.maintenance import MaintenanceReport
from frazil.pipeline.report import BatchReport, Totals
from frazil.worker.watch.at_scrape import AtScrape, Events, Slots, States
from frazil.worker.watch.families import OF_BATCHES, Family
from frazil.worker.watch.lag import Lag

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each counter, which nobody reads


class Metrics:
    """Counts committed batches in a registry of its own; lag and states are asked for at each scrape."""

    def __init__(
        self,
        lag: Callable[[], Lag],
        states: Callable[[], States],
        breakers: Callable[[], States] = dict,
        restarts: Callable[[], Mapping[str, int]] = dict,
        slots: Callable[[], Slots] = dict,
        sources: Callable[[], Sequence[Metric]] = tuple,
        events: Events = lambda present: {},
        home: Path = Path(),
    ) -> None:
        """`states` are those of the connectors, `breakers` those of the circuit breakers of object sinks, `restarts`
        how often connectors were started again by themselves, `slots` those of source connectors, `sources` the metrics
        that their runtime tells; it may raise ServiceUnavailable. `events` are counted, `home` is the worker's."""
        self.registry = CollectorRegistry()
        self.started_at = time.time()
        self._states = states
        self._lock = threading.Lock()
        self._known: set[str] = set()
        """Connectors that have counted something."""
        self._totals = Totals()
        registry, table = self.registry, ["connector", "table"]
        self._of_batches = [(family, _made(family, registry)) for family in OF_BATCHES]
        self._topic_last = Gauge(
            "kafka_connector_topic_last_write_timestamp",
            "Time of the last commit with records of the topic, ms since 1970",
            ["connector", "topic"],
            registry=registry,
        )
        self._last_commit = Gauge(
            "frazil_last_commit_timestamp_seconds", "Time of the last commit", ["connector"], registry=registry
        )
        self._maintenance = Counter(
            "frazil_maintenance_runs", "Maintenance runs over a table", [*table, "result"], registry=registry
        )
        self._maintenance_seconds = Counter(
            "frazil_maintenance_seconds", "Time spent in maintenance", table, registry=registry
        )
        self._maintenance_bytes = Counter(
            "frazil_maintenance_freed_bytes", "Bytes that maintenance has freed", table, registry=registry
        )
        self._maintenance_last = Gauge(
            "frazil_maintenance_last_run_timestamp_seconds",
            "Time of the last maintenance run that did not fail",
            table,
            registry=registry,
        )
        ProcessCollector(registry=registry)
        registry.register(CALLS)
        registry.register(AtScrape(lag, states, breakers, restarts, slots, sources, events, home))

    def observe_maintenance(self, report: MaintenanceReport) -> None:
        """Count one maintenance run."""
        with self._lock:
            self._known.add(report.connector)
        table = report.connector, report.table
        self._maintenance.labels(*table, "failed" if report.failed else "done").inc()
        self._maintenance_seconds.labels(*table).inc(report.seconds)
        self._maintenance_bytes.labels(*table).inc(max(report.bytes_freed, 0))
        if not report.failed:
            self._maintenance_last.labels(*table).set(time.time())

    def observe(self, report: BatchReport) -> None:
        """Count one committed batch."""
        name, now = report.connector, time.time()
        with self._lock:
            self._known.add(name)
            self._totals = self._totals.plus(report)
        exemplar = {"trace_id": report.trace_id} if report.trace_id else None
        for family, metric in self._of_batches:
            values = family.values(report)
            if isinstance(values, Mapping):
                for label, value in values.items():
                    _take(metric.labels(name, label), family, value, exemplar)
            else:
                for value in values if isinstance(values, Collection) else (values,):
                    _take(metric.labels(name, *_fixed(family)), family, value, exemplar)
        self._last_commit.labels(name).set(now)
        for topic, count in report.stored_by_topic.items():
            if count:
                self._topic_last.labels(name, topic).set(int(now * 1000))

    def totals(self) -> Totals:
        """Sums over all connectors."""
        with self._lock:
            return self._totals

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Text for a scrape and its media type: OpenMetrics, which has exemplars, for who accepts it; see `collect`."""
        self._keep_present()
        encode, media_type = choose_encoder(accept)
        return encode(self.registry), media_type

    def collect(self) -> Iterable[Metric]:
        """All metrics: counts of each connector of this worker from 0 on, and of no other."""
        self._keep_present()
        return self.registry.collect()

    def _keep_present(self) -> None:
        present = set(self._states())
        of_batches = [metric for _, metric in self._of_batches]
        maintenance = (self._maintenance, self._maintenance_seconds, self._maintenance_bytes, self._maintenance_last)
        with self._lock:
            gone, self._known = self._known - present, self._known & present
        for name in gone:
            for metric in (*of_batches, self._topic_last, self._last_commit, *maintenance):
                metric.remove_by_labels({"connector": name})
        for family, metric in self._of_batches:
            if family.kind in ("counter", "sum") and (family.fixed or not family.label):
                for name in present:
                    metric.labels(name, *_fixed(family))
        with self._lock:
            self._known |= present


def _fixed(family: Family) -> tuple[str, ...]:
    return (family.fixed,) if family.fixed else ()


def _made(family: Family, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    labels = ["connector", *([family.label] if family.label else [])]
    if family.kind == "histogram":
        return Histogram(family.name, family.text, labels, buckets=family.buckets, registry=registry)
    return (Counter if family.kind == "counter" else Gauge)(family.name, family.text, labels, registry=registry)


def _take(metric: Counter | Gauge | Histogram, family: Family, value: float, exemplar: dict[str, str] | None) -> None:
    if isinstance(metric, Histogram):
        metric.observe(value, exemplar)
    elif isinstance(metric, Counter) or family.kind == "sum":
        metric.inc(value)
    else:
        metric.set(value)
