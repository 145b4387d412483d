from __future__ import annotations

import pytest
from bench.cdc import Commit, lags


def test_a_change_is_visible_with_the_first_snapshot_that_has_it() -> None:
    commits = [Commit(10.0, {0: 2}, 1), Commit(20.0, {0: 2, 1: 5}, 1), Commit(30.0, {0: 4, 1: 5}, 1)]
    records = {0: [(0, 9.0), (1, 9.5), (2, 12.0), (3, 29.0)], 1: [(4, 19.0)]}
    assert lags(records, commits).tolist() == [1.0, 0.5, 18.0, 1.0, 1.0]
    with pytest.raises(IndexError):
        lags({0: [(4, 29.0)]}, commits)
