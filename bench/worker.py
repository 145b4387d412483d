"""Measures a worker that has nothing to read: its start, its connectors' start, its answers, what it costs."""

from __future__ import annotations

import time

import httpx
import numpy as np

from bench.environment import Show, running, with_home
from bench.load import create_topic
from bench.results import IdleWorker
from bench.sampling import TreeSampler, cpu_between
from bench.systems import Connector, System, sink_config
from bench.tables import WatchedTable
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable

FEW, MANY = 3, 30
_RUNNING_S = 60
_SETTLE_S, _IDLE_S = 20.0, 60.0
_CALLS = 1_000


def idle_worker(settings: Settings, system: System, run: str, show: Show) -> IdleWorker:
    """A new worker gets 3 connectors and idles for a minute; then it gets 27 more and is asked for its list.

    Each connector has a topic of its own, and all have one table. Raises FrazilError when one does not run.
    """
    table = WatchedTable.of_kind(settings, run.replace("-", "_"), "api")
    service = system.worker(with_home(settings, settings.home / "workers" / run))
    begin = time.monotonic()
    with (
        running(service, show) as process,
        ConnectClient(settings.connect_url) as client,
        TreeSampler(process) as sampler,
    ):
        ready = time.monotonic() - begin

        def deploy(number: int) -> float:
            """Seconds from the request to the moment at which the connector and its task are RUNNING."""
            name = f"{run}-{number}"
            show(f"connector {number + 1} of {MANY}")
            create_topic(settings, name)
            config = sink_config(settings, system, "api", name, table.identifier, run)
            sent = time.monotonic()
            connector = Connector(client, settings, name)
            connector.deploy(config)
            while not connector.runs():
                if time.monotonic() - sent > _RUNNING_S:
                    raise ServiceUnavailable(f"{name} does not run after {_RUNNING_S} s; it was stopped")
                time.sleep(0.02)
            return time.monotonic() - sent

        starts = [deploy(number) for number in range(FEW)]
        show(f"{FEW} connectors idle")
        time.sleep(_SETTLE_S)
        idle_from = time.time()
        time.sleep(_IDLE_S)
        idle_to = time.time()
        idle = [sample for sample in sampler.samples if idle_from <= sample.at <= idle_to]
        cores = cpu_between(sampler.samples, idle_from, idle_to) / (idle_to - idle_from)
        starts += [deploy(number) for number in range(FEW, MANY)]
        listed, expanded = _answers(settings.connect_url, ""), _answers(settings.connect_url, "?expand=status")
        stopping = time.monotonic()
        service.stop()
        stopped = time.monotonic() - stopping
    return IdleWorker(
        title=system.title,
        ready_s=ready,
        first_running_s=starts[0],
        slowest_running_s=max(starts[1:]),
        cores=cores,
        pss=max(sample.pss for sample in idle),
        list_p99_s=listed,
        status_p99_s=expanded,
        stop_s=stopped,
    )


def _answers(url: str, query: str) -> float:
    """The 99th percentile of the time that the list of connectors takes, in seconds."""
    took = []
    with httpx.Client(base_url=url, trust_env=False) as client:
        for _ in range(_CALLS):
            sent = time.perf_counter()
            client.get(f"/connectors{query}").raise_for_status()
            took.append(time.perf_counter() - sent)
    return float(np.percentile(took, 99))
