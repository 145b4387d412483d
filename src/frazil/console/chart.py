"""Plots, as shapes of an SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

WIDTH, HEIGHT = 120, 24
PLOT_WIDTH, PLOT_HEIGHT = 720, 180
_MOST_BARS = 60
_GAP = 0.2
"""Part of a bar's room that stays empty."""

Bar = tuple[float, float, float, float]
"""Left, top, width and height."""


@dataclass(frozen=True)
class Plot:
    """The first column of numbers of an answer by its first column, in a box of 720 by 180: a line along times and
    numbers, else bars. `least` and `greatest` are the values at its lowest and its highest place."""

    title: str
    line: str
    bars: Sequence[Bar]
    least: float
    greatest: float


def points(values: Sequence[float]) -> str:
    """The points of a line through values, in a box of 120 by 24; empty when all are zero."""
    top = max(values, default=0.0)
    if not top or len(values) < 2:
        return ""
    step = WIDTH / (len(values) - 1)
    return " ".join(
        f"{index * step:.1f},{HEIGHT - 1 - value / top * (HEIGHT - 2):.1f}" for index, value in enumerate(values)
    )


def plot(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Plot | None:
    """The plot of an answer; None where the answer is none to be plotted."""
    if len(columns) < 2 or len(rows) < 2:
        return None
    numbers = (index for index in range(1, len(columns)) if all(_is_number(row[index]) for row in rows))
    index = next(numbers, None)
    along = [row[0] for row in rows]
    if index is None or None in along:
        return None
    values = [float(str(row[index])) for row in rows]
    least, greatest = min(0.0, *values), max(0.0, *values)
    if not all(map(math.isfinite, values)) or least == greatest:
        return None
    is_line = all(isinstance(one, date) or _is_number(one) for one in along)
    if not is_line and len(rows) > _MOST_BARS:
        return None
    heights = [PLOT_HEIGHT * (greatest - value) / (greatest - least) for value in values]
    ground = PLOT_HEIGHT * greatest / (greatest - least)
    return Plot(
        f"{columns[index]} by {columns[0]}",
        _line(heights) if is_line else "",
        () if is_line else _bars(heights, ground),
        least,
        greatest,
    )


def _line(heights: Sequence[float]) -> str:
    step = PLOT_WIDTH / (len(heights) - 1)
    return " ".join(f"{index * step:.1f},{height:.1f}" for index, height in enumerate(heights))


def _bars(heights: Sequence[float], ground: float) -> list[Bar]:
    room = PLOT_WIDTH / len(heights)
    width = room * (1 - _GAP)
    tops = [(min(height, ground), abs(height - ground)) for height in heights]
    return [((index + _GAP / 2) * room, top, width, tall) for index, (top, tall) in enumerate(tops)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
