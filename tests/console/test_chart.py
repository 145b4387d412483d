"""Small plots."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pytest

from frazil.console.chart import HEIGHT, PLOT_HEIGHT, PLOT_WIDTH, WIDTH, plot, points


def test_the_greatest_value_reaches_the_top_and_zero_lies_at_the_ground() -> None:
    found = [tuple(map(float, pair.split(","))) for pair in points([0, 5, 10]).split()]
    assert found == [(0, HEIGHT - 1), (WIDTH / 2, HEIGHT - 1 - (HEIGHT - 2) / 2), (WIDTH, 1)]


def test_nothing_is_drawn_where_nothing_happened() -> None:
    assert points([0, 0, 0]) == points([]) == points([3]) == ""


def test_numbers_along_times_are_a_line() -> None:
    times = [dt.datetime(2026, 1, 1, hour, tzinfo=dt.UTC) for hour in range(3)]
    found = plot(["hour", "bucket", "calls"], [[at, "b", calls] for at, calls in zip(times, (0, 5, 10), strict=True)])
    assert found is not None
    assert (found.title, found.least, found.greatest, found.bars) == ("calls by hour", 0, 10, ())
    assert found.line == f"0.0,{PLOT_HEIGHT}.0 {PLOT_WIDTH / 2},{PLOT_HEIGHT / 2} {PLOT_WIDTH}.0,0.0"


def test_numbers_by_name_are_bars_that_stand_on_zero() -> None:
    found = plot(["user", "balance"], [["ann", Decimal("30")], ["bob", Decimal("-10")]])
    assert found is not None and found.line == ""
    assert [(top, height) for _, top, _, height in found.bars] == [(0, 135), (135, 45)]
    assert found.bars[0][0] + found.bars[0][2] < found.bars[1][0] and found.bars[1][0] < PLOT_WIDTH


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (["n"], [[1], [2]]),
        (["a", "n"], [["x", 1]]),
        (["a", "b"], [["x", "y"], ["z", "w"]]),
        (["a", "n"], [["x", True], ["y", False]]),
        (["a", "n"], [[None, 1], ["y", 2]]),
        (["a", "n"], [["x", None], ["y", 2]]),
        (["a", "n"], [["x", 0], ["y", 0]]),
        (["a", "n"], [["x", math.nan], ["y", 1.0]]),
        (["a", "n"], [["x", math.inf], ["y", 1.0]]),
        (["a", "n"], [[str(number), number] for number in range(61)]),
        (["a", "n"], []),
    ],
)
def test_other_answers_are_not_plotted(columns: list[str], rows: list[list[object]]) -> None:
    assert plot(columns, rows) is None
