from __future__ import annotations

import pytest
from bench.load import PARTITIONS
from bench.objects import latencies, quantile


def test_a_record_is_stored_when_the_position_is_behind_it() -> None:
    looks = [(100.0, [0, 0, 0]), (101.0, [2, 1, 0]), (103.0, [2, 2, 2])]
    found = latencies(looks, first=99.0, rate=6, count=2 * PARTITIONS)
    due = [99 + (number + 1) / 6 for number in (0, 3, 1, 4, 2, 5)]
    stored = [101, 101, 101, 103, 103, 103]
    assert found.tolist() == pytest.approx([at - moment for at, moment in zip(stored, due, strict=True)])


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ([], 0.0),
        ([(0.1, 0.0), (float("inf"), 0.0)], 0.0),
        ([(0.1, 98.0), (0.2, 100.0), (float("inf"), 100.0)], 0.15),
        ([(0.1, 100.0), (0.2, 100.0)], 0.099),
        ([(0.1, 10.0), (float("inf"), 100.0)], 0.1),
    ],
)
def test_quantiles(bounds: list[tuple[float, float]], expected: float) -> None:
    assert quantile(bounds, 0.99) == pytest.approx(expected)
