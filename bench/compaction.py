"""Time of a read of a merge-on-read table under constant change, beside that of a table which nothing has changed."""

from __future__ import annotations

from pyiceberg.table import Table

from bench.environment import Show
from bench.results import ReadTimes
from bench.tables import reading_times
from bench.upsert import CHANGES, change, fill_table
from frazil.connectors.iceberg.tools.describe import totals
from frazil.connectors.keys.maintenance import BY_NEED
from frazil.environment.settings import Settings

_WITHOUT = 60
"""Most commits without compaction, whose reads take longer and longer."""
_EVERY = 10


def measure(settings: Settings, rows: int, commits: int, show: Show, *, by_need: bool) -> ReadTimes:
    """Read the table after each tenth commit, in turn with the other. Raises TerminalError when a row is wrong."""
    run = f"compaction-{'by-need' if by_need else 'without'}"
    fresh = fill_table(settings, f"{run}-fresh".replace("-", "_"), "merge-on-read", rows, show)
    ratios: list[float] = []
    files: list[int] = []

    def look(number: int, table: Table) -> None:
        if number % _EVERY == 0:
            show(f"{run}: reading after commit {number}")
            ratios.append(min(reading_times(table.refresh())) / min(reading_times(fresh)))
            files.append(_files(table))

    count = commits if by_need else min(commits, _WITHOUT)
    done = change(settings, run, "merge-on-read", rows, count, show, {BY_NEED: str(by_need).lower()}, look)
    return ReadTimes("by need" if by_need else "without", rows, CHANGES, ratios, files, done.seconds, done.cpu_s)


def _files(table: Table) -> int:
    """Files that a reader has to open: of rows and of deletes."""
    found = totals(table.current_snapshot())
    return found.get("data_files", 0) + found.get("delete_files", 0)
