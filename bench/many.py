"""Measures a worker with a hundred connectors that have little to do each: start, idling, a trickle, the last rows."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
from confluent_kafka import Producer
from pyiceberg.exceptions import NoSuchTableError

from bench.environment import Show, running, with_home
from bench.results import ManyConnectors
from bench.sampling import TreeSampler, cpu_between
from bench.systems import FRAZIL
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka.security import secured
from frazil.clients.kafka.topics import ensure_topics
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError

CONNECTORS, PARTITIONS, RATE, INTERVAL_MS = 100, 3, 10, 10_000
_SETTLE_S, _IDLE_S, _TRICKLE_S = 20.0, 30.0, 60.0
_RUNNING_S, _DRAINED_S = 180.0, 300.0
_LOOKERS = 4


def many_connectors(settings: Settings, run: str, show: Show, count: int = CONNECTORS) -> ManyConnectors:
    """Deploy the connectors at once, let them idle, then give each some records a second.

    Each has a topic and a table of its own. Raises FrazilError when one fails or when rows are missing.
    """
    names = [f"{run}-{number:03d}" for number in range(count)]
    ensure_topics(settings.bootstrap_servers, {name: (PARTITIONS, {}) for name in names})
    service = FRAZIL.worker(with_home(settings, settings.home / "workers" / run))
    with running(service, show) as process, ConnectClient(settings.connect_url) as client:
        with TreeSampler(process) as sampler:
            began = time.monotonic()
            for name in names:
                client.put_config(name, _config(settings, name))
            while left := [name for name in names if not _runs(client, name)]:
                show(f"{count - len(left)} of {count} connectors run")
                if time.monotonic() - began > _RUNNING_S:
                    raise ServiceUnavailable(f"{len(left)} connectors do not run after {_RUNNING_S:.0f} s")
                time.sleep(0.2)
            running_s = time.monotonic() - began
            show(f"{count} connectors idle")
            time.sleep(_SETTLE_S)
            idle_from = time.time()
            time.sleep(_IDLE_S)
            idle_to = time.time()
            records = _trickle(settings, names, show)
            sent = time.monotonic()
            threads, descriptors = _held(process)
            _wait_for_rows(settings, {name: records for name in names}, show)
            drained_s = time.monotonic() - sent
        cores = cpu_between(sampler.samples, idle_from, idle_to) / (idle_to - idle_from)
        busy = cpu_between(sampler.samples, idle_to, idle_to + _TRICKLE_S) / _TRICKLE_S
    return ManyConnectors(count, running_s, cores, busy, drained_s, threads, descriptors)


def _config(settings: Settings, name: str) -> dict[str, str]:
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "1",
        "topics": name,
        "iceberg.tables": f"{settings.namespace}.{name.replace('-', '_')}",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.commit.interval-ms": str(INTERVAL_MS),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{f"iceberg.catalog.{key}": value for key, value in settings.catalog_properties().items()},
    }


def _runs(client: ConnectClient, name: str) -> bool:
    status = client.status(name)
    if status["connector"]["state"] == "FAILED":
        raise TerminalError(f"{name} is FAILED: {status['connector'].get('trace', '')}")
    return bool(status["connector"]["state"] == "RUNNING")


def _trickle(settings: Settings, names: list[str], show: Show) -> int:
    """Send each topic its records a second, and return how many each got, when all are acknowledged."""
    producer = Producer({**secured(settings.bootstrap_servers, "producer"), "linger.ms": 20})
    sent = 0
    first = time.monotonic()
    while (elapsed := time.monotonic() - first) < _TRICKLE_S:
        if sent < int(elapsed * RATE):
            for name in names:
                producer.produce(name, json.dumps({"id": sent, "name": f"name {sent}", "at": time.time()}).encode())
            sent += 1
            show(f"{sent * len(names):,} records sent")
        producer.poll(0.01)
    if producer.flush(30):
        raise TerminalError("not all records were acknowledged; nothing was measured")
    return sent


def _wait_for_rows(settings: Settings, wanted: dict[str, int], show: Show) -> None:
    catalog = connect(settings.catalog_properties())
    left = dict(wanted)
    until = time.monotonic() + _DRAINED_S

    def rows(name: str) -> int:
        try:
            snapshot = catalog.load_table(f"{settings.namespace}.{name.replace('-', '_')}").current_snapshot()
        except NoSuchTableError:
            return 0
        found = snapshot.summary if snapshot is not None else None
        return int(found.additional_properties.get("total-records", "0")) if found is not None else 0

    with ThreadPoolExecutor(_LOOKERS) as pool:
        while left:
            found = dict(zip(left, pool.map(rows, left), strict=True))
            over = [name for name in left if found[name] > left[name]]
            if over:
                raise TerminalError(f"{over[0]} has {found[over[0]]} rows instead of {left[over[0]]}")
            left = {name: count for name, count in left.items() if found[name] < count}
            show(f"{len(left)} tables wait for their last rows")
            if left and time.monotonic() > until:
                raise TerminalError(f"{len(left)} tables have not all rows after {_DRAINED_S:.0f} s")
            time.sleep(0.5)


def _held(process: psutil.Process) -> tuple[int, int]:
    """Threads and open files of the worker's process and its JVM; the Python workers of tasks are left out."""
    family = [process, *(child for child in process.children(recursive=True) if "java" in child.name())]
    return sum(one.num_threads() for one in family), sum(one.num_fds() for one in family)
