"""Metrics whose values are asked for when somebody looks: states, lag, restarts and processes."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from frazil.clients.postgres import Slot
from frazil.connectors.breakers import STATES as BREAKER_STATES
from frazil.errors import FrazilError
from frazil.worker.watch.lag import Lag

logger = logging.getLogger(__name__)

States = Mapping[str, str]
Slots = Mapping[tuple[str, str], Slot | None]
Events = Callable[[Collection[str]], Mapping[tuple[str, str], int]]
"""Numbers of events by connector and kind, of connectors that are present."""

STATES = ("UNASSIGNED", "RUNNING", "FAILED", "PAUSED", "STOPPED", "RESTARTING")
_SAMPLES = 256
_TASKS = ("running", "failed", "paused", "restarting", "unassigned")


class AtScrape(Collector):
    """Asks what is true now; a broker that does not answer leaves out the lag."""

    def __init__(
        self,
        lag: Callable[[], Lag],
        states: Callable[[], States],
        breakers: Callable[[], States],
        restarts: Callable[[], Mapping[str, int]],
        slots: Callable[[], Slots],
        sources: Callable[[], Sequence[Metric]],
        events: Events,
        home: Path,
    ) -> None:
        self._lag = lag
        self._states = states
        self._breakers = breakers
        self._restarts = restarts
        self._slots = slots
        self._sources = sources
        self._events = events
        self._home = home
        self._waits = Waits()

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return ()

    def collect(self) -> Iterator[Metric]:
        states = self._states()
        yield _one_of("frazil_connector_state", "1 for the present state", states, STATES)
        yield _one_of(
            "frazil_circuit_breaker_state",
            "1 for the present state of the circuit breaker of an object sink's store",
            self._breakers(),
            BREAKER_STATES,
        )
        restarts = CounterMetricFamily(
            "frazil_connector_restarts",
            "Starts of a connector by itself, after a failure that may pass",
            labels=["connector"],
        )
        for name, count in self._restarts().items():
            restarts.add_metric([name], float(count))
        yield restarts
        yield from self._lags()
        yield from _of_slots(self._slots())
        yield from self._of_sources()
        yield from _connect_states(states)
        yield from _processes()
        events = CounterMetricFamily(
            "frazil_events", "What happened to a connector, or to the worker", labels=["connector", "event"]
        )
        for place, count in self._events(states).items():
            events.add_metric(place, float(count))
        yield events
        yield from _disk(self._home)

    def _of_sources(self) -> Iterator[Metric]:
        known = GaugeMetricFamily(
            "frazil_source_metrics_known", "0 while the runtime of source connectors does not tell its metrics"
        )
        try:
            found = self._sources()
        except FrazilError as error:
            logger.warning("%s", error)
            known.add_metric([], 0.0)
        else:
            known.add_metric([], 1.0)
            yield from found
        yield known

    def _lags(self) -> Iterator[GaugeMetricFamily]:
        labels = ["connector", "topic", "partition"]
        known = GaugeMetricFamily("frazil_consumer_lag_known", "0 while the broker does not tell the lag")
        records = GaugeMetricFamily("frazil_consumer_lag_records", "Records not committed yet", labels=labels)
        seconds = GaugeMetricFamily(
            "frazil_consumer_lag_seconds",
            "Least time that the first record that is not committed yet has waited: since this worker was first asked "
            "and knew of it; 0 when there is none",
            labels=labels,
        )
        partitions = _connect("sink-task-metrics", "partition-count", "Partitions of the topics that are named")
        most = _connect(
            "sink-task-metrics", "sink-record-lag-max", "Records not committed yet, of the partition with most"
        )
        try:
            values = self._lag()
        except FrazilError as error:
            logger.warning("the lag of the connectors is not known: %s", error)
            known.add_metric([], 0.0)
        else:
            known.add_metric([], 1.0)
            waits = self._waits.of(values, time.monotonic())
            by_connector: dict[str, list[int]] = {}
            for (connector, topic, partition), behind in values.items():
                records.add_metric([connector, topic, str(partition)], float(behind.lag))
                seconds.add_metric([connector, topic, str(partition)], waits[connector, topic, partition])
                by_connector.setdefault(connector, []).append(behind.lag)
            for connector, lags in by_connector.items():
                partitions.add_metric([connector, "0"], float(len(lags)))
                most.add_metric([connector, "0"], float(max(lags)))
        yield from (known, records, seconds, partitions, most)


def _of_slots(slots: Slots) -> Iterator[GaugeMetricFamily]:
    labels = ["connector", "slot"]
    known = GaugeMetricFamily("frazil_source_slot_known", "0 while PostgreSQL does not tell of the slot", labels=labels)
    lost = GaugeMetricFamily(
        "frazil_source_slot_lost", "1 when PostgreSQL has removed log that the connector has not read", labels=labels
    )
    behind = GaugeMetricFamily(
        "frazil_source_slot_behind_bytes", "Log of PostgreSQL that the connector has not confirmed", labels=labels
    )
    kept = GaugeMetricFamily("frazil_source_slot_kept_bytes", "Log that PostgreSQL keeps for the slot", labels=labels)
    for place, slot in slots.items():
        known.add_metric(place, float(slot is not None))
        if slot is not None:
            lost.add_metric(place, float(slot.lost))
            for family, value in ((behind, slot.behind_bytes), (kept, slot.kept_bytes)):
                if value is not None:
                    family.add_metric(place, float(value))
    yield from (known, lost, behind, kept)


class Waits:
    """Tells how long records wait, from the ends of the partitions at each look."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[tuple[str, str, int], deque[tuple[float, int]]] = {}

    def of(self, lag: Lag, now: float) -> dict[tuple[str, str, int], float]:
        """Seconds since the look at which the first record behind each position was there."""
        with self._lock:  # two may scrape at once
            return self._found(lag, now)

    def _found(self, lag: Lag, now: float) -> dict[tuple[str, str, int], float]:
        self._ends = {key: self._ends.get(key, deque()) for key in lag}
        found: dict[tuple[str, str, int], float] = {}
        for key, (position, end) in lag.items():
            ends = self._ends[key]
            if not ends or end > ends[-1][1]:
                ends.append((now, end))
            while ends and ends[0][1] <= position:
                ends.popleft()
            if len(ends) > _SAMPLES:
                self._ends[key] = deque(list(ends)[::2])
            found[key] = now - ends[0][0] if ends else 0.0
        return found


def _connect(bean: str, attribute: str, text: str) -> GaugeMetricFamily:
    """An attribute of one of Kafka Connect's beans, named as the JMX exporter names it."""
    name = f"kafka_connect_{bean}_{attribute}".replace("-", "_")
    return GaugeMetricFamily(name, text, labels=["connector", "task"])


def _connect_states(states: States) -> Iterator[GaugeMetricFamily]:
    """Numbers of connectors and tasks, and their states, under Kafka Connect's names; a connector is one task."""
    worker = "kafka_connect_connect_worker_metrics"
    for what in ("connector", "task"):
        yield GaugeMetricFamily(f"{worker}_{what}_count", f"{what.title()}s of this worker", value=len(states))
    for state in _TASKS:
        tasks = GaugeMetricFamily(
            f"{worker}_connector_{state}_task_count", f"Tasks of the connector that are {state}", labels=["connector"]
        )
        for name, present in states.items():
            tasks.add_metric([name], float(present == state.upper()))
        yield tasks
    status = GaugeMetricFamily(
        "kafka_connect_connector_status", "1 for the present state", labels=["connector", "task", "status"]
    )
    for name, present in states.items():
        status.add_metric([name, "0", present.lower()], 1.0)
    yield status


def _processes() -> Iterator[GaugeMetricFamily]:
    """Memory, files and threads of the worker, of its JVM, and of all its Python workers together."""
    families = [
        GaugeMetricFamily(f"frazil_process_{name}", text, labels=["process"])
        for name, text in (
            ("resident_memory_bytes", "Memory of the worker, its JVM, and its Python workers together"),
            ("open_fds", "Open files and connections"),
            ("threads", "Threads"),
        )
    ]
    sums: dict[str, list[float]] = {}
    worker = psutil.Process()
    for process in (worker, *worker.children(recursive=True)):
        try:
            with process.oneshot():
                kind = "worker" if process == worker else "jvm" if process.name() == "java" else "python"
                values = process.memory_info().rss, process.num_fds(), process.num_threads()
        except psutil.Error:  # it has ended since it was listed
            continue
        sums[kind] = [one + more for one, more in zip(sums.get(kind, (0.0, 0.0, 0.0)), values, strict=True)]
    for kind, values_of_kind in sums.items():
        for family, value in zip(families, values_of_kind, strict=True):
            family.add_metric([kind], value)
    yield from families


def _disk(home: Path) -> Iterator[GaugeMetricFamily]:
    """Room on the disk of the worker's home; nothing where the system does not tell."""
    try:
        told = psutil.disk_usage(str(home))
    except OSError as error:
        logger.warning("the room on the disk of %s is not known: %s", home, error)
        return
    yield GaugeMetricFamily("frazil_disk_free_bytes", "Free room on the disk of the worker's home", value=told.free)
    yield GaugeMetricFamily("frazil_disk_size_bytes", "Size of the disk of the worker's home", value=told.total)


def _one_of(name: str, text: str, present: States, states: Iterable[str]) -> GaugeMetricFamily:
    """A gauge for each state of each connector: 1 for the one that it is in, 0 for the others."""
    family = GaugeMetricFamily(name, text, labels=["connector", "state"])
    for connector, current in present.items():
        for state in states:
            family.add_metric([connector, state], 1.0 if state == current else 0.0)
    return family
