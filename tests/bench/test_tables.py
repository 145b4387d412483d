from __future__ import annotations

from bench.tables import warm_window

from tests.bench.samples import commit


def test_the_warm_window_leaves_out_the_first_commit_and_the_last_few_records() -> None:
    commits = [commit(1, 10, 100), commit(2, 20, 500), commit(3, 30, 960), commit(4, 90, 1000)]
    assert warm_window(commits, 1000) == (commits[0], commits[2])


def test_one_commit_has_no_warm_window() -> None:
    assert warm_window([commit(1, 10, 1000)], 1000) is None
    assert warm_window([], 1000) is None
    assert warm_window([commit(1, 10, 1), commit(2, 20, 2)], 1000) is None
