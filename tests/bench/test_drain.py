from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from bench.drain import summarise
from bench.sampling import Sample, TreeSampler
from bench.systems import PEER_1
from bench.tables import WatchedTable

from tests.bench.samples import commit


def test_figures_run_from_the_start_to_the_commit_that_shows_the_last_row() -> None:
    commits = [commit(1, 110, 400), commit(2, 120, 1000, visible_at=121), commit(3, 200, 1000)]
    table = cast(WatchedTable, SimpleNamespace(commits=commits, rows=1000))
    samples = [Sample(100, 5, 10, 30), Sample(140, 25, 20, 20), Sample(300, 25, 5, 5)]
    sampler = cast(TreeSampler, SimpleNamespace(samples=samples))
    result = summarise(PEER_1, 1000, 100, table, sampler)
    assert result.seconds == pytest.approx(21)
    assert result.first_commit_s == pytest.approx(10)
    assert result.cpu_s == pytest.approx(10.5)
    assert result.warm_rate == pytest.approx(60)
    assert result.warm_per_cpu_s == pytest.approx(120)
    assert (result.peak_pss, result.peak_rss) == (20, 30)
    assert result.snapshots == 3


def test_missing_rows_are_no_result() -> None:
    table = cast(WatchedTable, SimpleNamespace(commits=[commit(1, 110, 400)], rows=400))
    with pytest.raises(ValueError, match="400 of 1000"):
        summarise(PEER_1, 1000, 100, table, cast(TreeSampler, SimpleNamespace(samples=[])))
