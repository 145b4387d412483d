"""Measures how long a record takes from its production to its row, at a steady rate."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from bench.drain import started, wait_for_rows, wait_until_running
from bench.environment import Show
from bench.load import SEED, Pace, create_topic
from bench.results import Latency
from bench.sampling import TreeSampler, cpu_between
from bench.systems import Connector, System
from bench.tables import Commit, WatchedTable
from frazil.clients.kafka.produce import RecordProducer
from frazil.environment.settings import Settings
from frazil.errors import TerminalError
from frazil.minio.generators.generate import records
from frazil.minio.records.kinds import TableKind

SETTLE_S = 5.0
_LAST_ROWS_S = 300
"""Time for the last rows: the peer may need several commit timeouts of 60 s."""


def latency(
    settings: Settings, system: System, kind: TableKind, rate: int, seconds: int, run: str, show: Show
) -> Latency:
    """Produce `rate` records per second for so many seconds, and compare each record's time with its visibility.

    The record's own column `time` holds the moment at which it was due, so no part of the system tells the figures
    and they are the same for every system. Raises FrazilError when the system fails or rows stay away.
    """
    topic, count = f"bench-{run}", rate * seconds
    create_topic(settings, topic)
    with started(settings, system, kind, topic, run, show) as (connector, table, sampler, config):
        connector.deploy(config)
        wait_until_running(connector, show)
        time.sleep(SETTLE_S)
        pace = Pace(time.time() + 0.5, rate)
        first = datetime.fromtimestamp(pace.first, UTC)
        values = records(kind, count, SEED, start=first, span=timedelta(seconds=seconds))
        return steady(
            settings, Watched(connector, table, sampler), topic, pace, values, (count, count), system.title, show
        )


@dataclass(frozen=True)
class Watched:
    """A connector that runs, its table and its worker."""

    connector: Connector
    table: WatchedTable
    sampler: TreeSampler


def steady(
    settings: Settings,
    watched: Watched,
    topic: str,
    pace: Pace,
    values: Iterator[bytes],
    counts: tuple[int, int],
    title: str,
    show: Show,
) -> Latency:
    """Produce values at a pace, and compare the column `time` of each row with its visibility.

    `counts` are those of the records and of their rows. Raises as `latency` does.
    """
    count, rows = counts
    connector, table, sampler = watched.connector, watched.table, watched.sampler
    with ThreadPoolExecutor(1, thread_name_prefix="producer") as executor:
        sent = executor.submit(_produce, settings.bootstrap_servers, topic, pace, values, count)
        try:
            longest = count / pace.rate + _LAST_ROWS_S
            wait_for_rows(connector, table, rows, longest, show, lambda: _raise_failure(sent))
            last_acknowledged = sent.result()
        finally:
            pace.stop()
    sampler.take()
    table.look()
    seen = latencies(table.commits, table.times_by_snapshot())
    all_visible = next(c.visible_at for c in table.commits if c.total_records >= rows)
    p50, p99 = np.percentile(seen, [50, 99])
    return Latency(
        title=title,
        rate=pace.rate,
        records=rows,
        rows=table.count(),
        p50_s=float(p50),
        p99_s=float(p99),
        max_s=float(seen.max()),
        last_s=all_visible - last_acknowledged,
        producer_delay_s=pace.worst_delay,
        cores=cpu_between(sampler.samples, pace.first, all_visible) / (last_acknowledged - pace.first),
        peak_pss=max(sample.pss for sample in sampler.samples),
        snapshots=len(table.commits),
    )


def latencies(
    commits: Sequence[Commit], times: Mapping[int, np.ndarray[tuple[int], np.dtype[np.float64]]]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seconds from each row's time to the visibility of its snapshot. Raises KeyError for an unseen snapshot."""
    visible = {commit.snapshot_id: commit.visible_at for commit in commits}
    return np.concatenate([visible[snapshot_id] - values for snapshot_id, values in times.items()])


def _produce(bootstrap: str, topic: str, pace: Pace, values: Iterator[bytes], count: int) -> float:
    """When the broker had acknowledged the last record. Raises TerminalError when it has fewer than `count`."""
    with RecordProducer(bootstrap) as producer:
        acknowledged = producer.send(topic, pace(values), count)
    if acknowledged != count:
        raise TerminalError(f"{topic}: only {acknowledged:,} of {count:,} records were produced")
    return time.time()


def _raise_failure(sent: Future[float]) -> None:
    if sent.done():
        sent.result()
