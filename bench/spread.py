"""Counts the files that records of many partition values make."""

from __future__ import annotations

import os

from bench.drain import started, wait_for_rows
from bench.environment import Show
from bench.results import Spread
from bench.systems import FRAZIL
from frazil.connectors.iceberg.sink_task import ROWS_PER_TASK
from frazil.environment.settings import Settings

_SECONDS = 300


def spread(settings: Settings, topic: str, records: int, run: str, show: Show) -> Spread:
    """Read a full topic of API records into an empty table.

    Raises FrazilError when that fails or takes more than five minutes.
    """
    with started(settings, FRAZIL, "api", topic, run, show) as (connector, table, _, config):
        connector.deploy(config)
        wait_for_rows(connector, table, records, _SECONDS, show)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    commits = [
        (rows, values, files, min(cores, -(-rows // ROWS_PER_TASK))) for rows, values, files in table.files_by_commit()
    ]
    return Spread(records, commits)
