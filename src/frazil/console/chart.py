"""Small plots, as the points of an SVG polyline."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT = 120, 24


def points(values: Sequence[float]) -> str:
    """The points of a line through values, in a box of 120 by 24; empty when all are zero."""
    top = max(values, default=0.0)
    if not top or len(values) < 2:
        return ""
    step = WIDTH / (len(values) - 1)
    return " ".join(
        f"{index * step:.1f},{HEIGHT - 1 - value / top * (HEIGHT - 2):.1f}" for index, value in enumerate(values)
    )
