from __future__ import annotations

import pytest
from bench.load import PARTITIONS
from bench.objects import latencies, quantile, warm_looks


def test_a_record_is_stored_when_the_position_is_behind_it() -> None:
    looks = [(100.0, [0, 0, 0]), (101.0, [2, 1, 0]), (103.0, [2, 2, 2])]
    found = latencies(looks, first=99.0, rate=6, count=2 * PARTITIONS)
    due = [99 + (number + 1) / 6 for number in (0, 3, 1, 4, 2, 5)]
    stored = [101, 101, 101, 103, 103, 103]
    assert found.tolist() == pytest.approx([at - moment for at, moment in zip(stored, due, strict=True)])


def test_warm_is_between_the_first_objects_and_most_records() -> None:
    looks = [(1.0, [0, 0]), (2.0, [10, 0]), (3.0, [50, 40]), (4.0, [50, 50])]
    assert warm_looks(looks, 100) == ((2.0, 10), (4.0, 100))
    assert warm_looks(looks[3:], 100) is None
    assert warm_looks(looks[:2], 100) is None


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
