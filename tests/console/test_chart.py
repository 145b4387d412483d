"""Small plots."""

from __future__ import annotations

from frazil.console.chart import HEIGHT, WIDTH, points


def test_the_greatest_value_reaches_the_top_and_zero_lies_at_the_ground() -> None:
    found = [tuple(map(float, pair.split(","))) for pair in points([0, 5, 10]).split()]
    assert found == [(0, HEIGHT - 1), (WIDTH / 2, HEIGHT - 1 - (HEIGHT - 2) / 2), (WIDTH, 1)]


def test_nothing_is_drawn_where_nothing_happened() -> None:
    assert points([0, 0, 0]) == points([]) == points([3]) == ""
