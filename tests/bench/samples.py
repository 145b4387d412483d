"""Results to render and sum up."""

from __future__ import annotations

from bench.results import Drain
from bench.tables import Commit


def drained(system: str = "frazil", title: str = "frazil", seconds: float = 10.0, rows: int = 1000) -> Drain:
    return Drain(
        system=system,
        title=title,
        records=1000,
        rows=rows,
        seconds=seconds,
        first_commit_s=2.0,
        cpu_s=5.0,
        warm_rate=None,
        warm_per_cpu_s=None,
        peak_pss=100 << 20,
        peak_rss=150 << 20,
        files=8,
        snapshots=1,
    )


def commit(number: int, committed_at: float, total: int, visible_at: float | None = None) -> Commit:
    return Commit(number, committed_at, committed_at if visible_at is None else visible_at, total, 8 * number)
