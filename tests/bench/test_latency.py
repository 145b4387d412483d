from __future__ import annotations

import numpy as np
import pytest
from bench.latency import latencies

from tests.bench.samples import commit


def test_a_row_waits_for_the_visibility_of_its_own_snapshot() -> None:
    commits = [commit(1, 110, 2, visible_at=111), commit(2, 120, 3, visible_at=120.5)]
    seen = latencies(commits, {2: np.array([112.0]), 1: np.array([101.0, 105.0])})
    assert sorted(seen) == [6.0, 8.5, 10.0]


def test_a_snapshot_that_was_never_seen_is_an_error() -> None:
    with pytest.raises(KeyError):
        latencies([], {7: np.array([1.0])})
