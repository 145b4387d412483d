"""Measures a system that reads a full topic into an empty table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from bench.environment import Show, running, with_home
from bench.results import Drain
from bench.sampling import TreeSampler, cpu_between
from bench.systems import Connector, System, sink_config
from bench.tables import WatchedTable, warm_window
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable
from frazil.minio.records.kinds import TableKind

_LOOK_S = 0.25
_STATUS_S = 2.0
_RUNNING_S = 120
_SLOWEST_RATE = 2_000
"""A system that stores fewer records per second than this is given up, two minutes of grace on top."""


def drain(
    settings: Settings,
    system: System,
    kind: TableKind,
    topic: str,
    records: int,
    run: str,
    show: Show,
    *,
    verify: bool = False,
    refused: int = 0,
) -> Drain:
    """Run `system` from an empty table until all `records` of `topic` are visible; `run` names connector and table.

    So many of them are `refused`. With `verify` every row is read at the end and compared with all others. Raises
    FrazilError when the system fails or does not finish in time; its processes are stopped then too.
    """
    with started(settings, system, kind, topic, run, show) as (connector, table, sampler, config):
        begin = time.time()
        connector.deploy(config)
        wait_for_rows(connector, table, records - refused, records / _SLOWEST_RATE + 120, show)
        sampler.take()
    result = summarise(system, records - refused, begin, table, sampler)
    result = replace(result, records=records, refused=refused)
    show(f"{run}: counting")
    table.look()
    result = replace(result, rows=table.count(), files=table.commits[-1].total_files, snapshots=len(table.commits))
    if verify:
        show(f"{run}: reading and comparing every row")
        result = replace(result, distinct=table.distinct())
    return result


@contextmanager
def started(
    settings: Settings, system: System, kind: TableKind, topic: str, run: str, show: Show
) -> Iterator[tuple[Connector, WatchedTable, TreeSampler, dict[str, str]]]:
    """A running worker, the table, a sampler of the worker, and the configuration of the connector to deploy."""
    table = WatchedTable.of_kind(settings, run.replace("-", "_"), kind)
    service = system.worker(with_home(settings, settings.home / "workers" / run))
    config = sink_config(settings, system, kind, topic, table.identifier, run)
    with (
        running(service, show) as process,
        ConnectClient(settings.connect_url) as client,
        TreeSampler(process) as sampler,
    ):
        yield Connector(client, settings, run), table, sampler, config


def wait_for_rows(
    connector: Connector,
    table: WatchedTable,
    records: int,
    seconds: float,
    show: Show,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Return when `records` rows are visible, for at most so many seconds.

    Every two seconds the connector is asked for its state and `check` is called. Raises what that raises, TerminalError
    when the connector or a task has failed, ServiceUnavailable when the time is over.
    """
    begin = next_status = time.monotonic()
    while True:
        looked = time.monotonic()
        table.look()
        if table.rows >= records:
            return
        elapsed = looked - begin
        if elapsed > seconds:
            raise ServiceUnavailable(
                f"{connector.name}: {table.rows:,} of {records:,} rows are visible after {elapsed:.0f} s and "
                f"{len(table.commits)} commits; it was stopped. Its worker's log says what it was doing."
            )
        if looked >= next_status:
            connector.runs()
            check()
            next_status = looked + _STATUS_S
            show(f"{connector.name}: {table.rows:,} of {records:,} rows visible after {elapsed:.0f} s")
        time.sleep(_LOOK_S)


def wait_until_running(connector: Connector, show: Show) -> None:
    """Return when it has a running task. Raises ServiceUnavailable when it has none in two minutes, and as `runs`."""
    deadline = time.monotonic() + _RUNNING_S
    while not connector.runs():
        if time.monotonic() > deadline:
            raise ServiceUnavailable(f"{connector.name} has no running task after {_RUNNING_S} s; it was stopped")
        show(f"waiting for the tasks of {connector.name}")
        time.sleep(0.5)


def summarise(system: System, records: int, begin: float, table: WatchedTable, sampler: TreeSampler) -> Drain:
    """Figures from what table and sampler have seen; raises ValueError when not all records were seen."""
    end = next((c.visible_at for c in table.commits if c.total_records >= records), None)
    if end is None:
        raise ValueError(f"{table.rows} of {records} rows")
    window = warm_window(table.commits, records)
    warm_rate = warm_per_cpu_s = None
    if window is not None:
        first, last = window
        rows = last.total_records - first.total_records
        warm_rate = rows / (last.committed_at - first.committed_at)
        warm_per_cpu_s = rows / cpu_between(sampler.samples, first.committed_at, last.committed_at)
    return Drain(
        system=system.name,
        title=system.title,
        records=records,
        rows=table.rows,
        seconds=end - begin,
        first_commit_s=table.commits[0].committed_at - begin,
        cpu_s=cpu_between(sampler.samples, begin, end),
        warm_rate=warm_rate,
        warm_per_cpu_s=warm_per_cpu_s,
        peak_pss=max(sample.pss for sample in sampler.samples),
        peak_rss=max(sample.rss for sample in sampler.samples),
        files=table.commits[-1].total_files,
        snapshots=len(table.commits),
    )
