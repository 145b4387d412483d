"""Plots as SVG text for inside an HTML page: bars over time, and the greatest of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# Cells of the page are this wide at least, so that text keeps its size; taller plots hold more bars.
_WIDTH = 420
_HEIGHT = 150
_BAR_HEIGHT = 22
_LABEL_LIMIT = 170
# Distinct on light and on dark ground, and for the colour-blind (Okabe and Ito, without black and yellow).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9")
_LOCALE = {
    "decimal": ".",
    "thousands": ",",
    "grouping": [3],
    "currency": ["", ""],
}
_DAY = "%b %-d"
_TIMES = {
    "minutes": "%H:%M",
    "hours": "%H:%M",
    "day": _DAY,
    "date": _DAY,
    "week": _DAY,
    "month": _DAY,
    "quarter": _DAY,
    "year": "%Y",
}
_CONFIG = {
    "font": "system-ui, sans-serif",
    "background": None,
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "tickColor": "currentColor",
        "domainColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.15,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "legend": {
        "labelColor": "currentColor",
        "labelFontSize": 12,
        "titleColor": "currentColor",
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 3,
        "symbolType": "square",
        "title": None,
    },
    "range": {"category": list(_COLOURS)},
}


@dataclass(frozen=True)
class Unit:
    """How an axis counts: `title` beside it, `format` of its numbers (d3-format)."""

    title: str
    format: str = "~s"


def bars_over_time(
    points: Sequence[tuple[datetime, str, float]], start: datetime, end: datetime, step_s: int, unit: Unit
) -> str:
    """Stacked bars, one for each step of `step_s` seconds between `start` and `end` (UTC), a colour for each series.

    A point is the beginning of its step, the name of its series and its value. A single series gets no legend.
    """
    step_ms = step_s * 1000
    values = [
        {"from": _ms(moment), "to": _ms(moment) + step_ms, "series": series, "value": value}
        for moment, series, value in points
    ]
    several = len({series for _, series, _ in points}) > 1
    encoding: dict[str, Any] = {
        "x": {
            "field": "from",
            "type": "temporal",
            "title": None,
            "scale": {"type": "utc", "domain": [_ms(start), _ms(end)]},
            "axis": {"format": _TIMES, "labelOverlap": True, "grid": False, "tickCount": 6},
        },
        "x2": {"field": "to"},
        "y": {
            "field": "value",
            "type": "quantitative",
            "stack": "zero",
            "title": unit.title,
            "axis": {"format": unit.format, "tickCount": 4},
        },
    }
    if several:
        encoding["color"] = {"field": "series", "type": "nominal"}
        encoding["order"] = {"field": "series", "type": "nominal"}
    mark = {"type": "bar", "binSpacing": 1, "color": _COLOURS[0], "clip": True}
    return _svg({"data": {"values": values}, "mark": mark, "encoding": encoding, "width": _WIDTH, "height": _HEIGHT})


def greatest(items: Sequence[tuple[str, float]], unit: Unit) -> str:
    """Horizontal bars, one for each name in the order given."""
    # Two names may be cut alike, so bars go by position and the axis shows the names.
    values = [{"position": i, "name": name, "value": value} for i, (name, value) in enumerate(items)]
    names = [name for name, _ in items]
    encoding = {
        "y": {
            "field": "position",
            "type": "ordinal",
            "title": None,
            "axis": {
                "labelExpr": "names[datum.value]",
                "labelLimit": _LABEL_LIMIT,
                "ticks": False,
                "domain": False,
                "labelPadding": 6,
            },
        },
        "x": {
            "field": "value",
            "type": "quantitative",
            "title": unit.title,
            "axis": {"format": unit.format, "tickCount": 4},
        },
    }
    return _svg(
        {
            "params": [{"name": "names", "value": names}],
            "data": {"values": values},
            "mark": {"type": "bar", "color": _COLOURS[0]},
            "encoding": encoding,
            "width": _WIDTH - _LABEL_LIMIT,
            "height": {"step": _BAR_HEIGHT},
        }
    )


def _svg(spec: dict[str, Any]) -> str:
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(
        {**spec, "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": _CONFIG, "padding": 4},
        allowed_base_urls=[],
        format_locale=_LOCALE,
    )
    return text


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
