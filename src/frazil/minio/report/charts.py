"""Plots as SVG text for inside an HTML page: bars over time, and the greatest of a list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from frazil.environment.extras import extra
from frazil.sql.value_text import printable

with extra("report"):
    import vl_convert

# All plots are equally wide, so that their text is equally large wherever the page scales them.
_WIDTH = 400
_HEIGHT = 150
_NUMBERS_WIDTH = 50
_NAMES_WIDTH = 195
# Narrower than the place for it: a browser's font may be wider than the one that is measured here.
_NAME_LIMIT = 155
# More than fits anywhere; the library measures every character.
_NAME_CHARACTERS = 200
_BAR_HEIGHT = 22
_HOUR = 3600
# Distinct on light and on dark ground, and for the colour-blind (Okabe and Ito, without black and yellow).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9")
_LOCALE = {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""]}
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
_GROUP = re.compile(r"<g\b[^>]*>")
_ROLE = re.compile(r' (?:role|aria-roledescription)="[^"]*"')
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
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
    },
    "legend": {
        "labelColor": "currentColor",
        "labelFontSize": 13,
        "labelLimit": 100,
        "columnPadding": 25,
        "orient": "bottom",
        "columns": 3,
        "symbolType": "square",
        "title": None,
    },
}


@dataclass(frozen=True)
class Unit:
    """Unit of an axis: `title` beside it, `format` of its numbers (d3-format)."""

    title: str
    format: str = "~s"


def bars_over_time(
    points: Sequence[tuple[datetime, str, float]],
    series: Sequence[str],
    start: datetime,
    end: datetime,
    step_s: int,
    unit: Unit,
) -> str:
    """Stacked bars, one for each hour or day (`step_s` seconds) between `start` and `end`, all UTC.

    A point is a time of its step, the name of its series and its value. `series` are the names from the bottom up, at
    most six; a single one gets no legend.
    """
    encoding: dict[str, Any] = {
        "x": {
            "field": "time",
            "type": "temporal",
            "timeUnit": "utcyearmonthdatehours" if step_s == _HOUR else "utcyearmonthdate",
            "title": _days(start, end),
            "scale": {"type": "utc", "domain": [_ms(start), _ms(end)]},
            "axis": {"format": _TIMES, "labelOverlap": True, "grid": False, "tickCount": 6},
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "stack": "zero",
            "title": unit.title,
            "axis": {"format": unit.format, "tickCount": 4, "minExtent": _NUMBERS_WIDTH, "maxExtent": _NUMBERS_WIDTH},
        },
        "color": {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": list(map(_label, series)), "range": list(_COLOURS[: len(series)])},
        },
        "order": {"field": "order", "type": "quantitative"},
    }
    if len(series) == 1:
        encoding["color"]["legend"] = None
    values = [
        {"time": _ms(moment), "series": _label(name), "value": value, "order": series.index(name)}
        for moment, name, value in points
    ]
    return _svg(
        {
            "data": {"values": values},
            "mark": {"type": "bar", "binSpacing": 1, "clip": True},
            "encoding": encoding,
            "width": _WIDTH - _NUMBERS_WIDTH,
            "height": _HEIGHT,
        }
    )


def greatest(items: Sequence[tuple[str, float]], unit: Unit) -> str:
    """Horizontal bars, one for each name in the order given."""
    # Two names may be equal or be cut alike, so bars go by position and the axis shows the names.
    values = [{"position": i, "value": value} for i, (_, value) in enumerate(items)]
    encoding = {
        "y": {
            "field": "position",
            "type": "ordinal",
            "title": None,
            "axis": {
                "labelExpr": "names[datum.value]",
                "labelLimit": _NAME_LIMIT,
                "minExtent": _NAMES_WIDTH,
                "maxExtent": _NAMES_WIDTH,
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
            "params": [{"name": "names", "value": [_label(name) for name, _ in items]}],
            "data": {"values": values},
            "mark": {"type": "bar", "color": _COLOURS[0]},
            "encoding": encoding,
            "width": _WIDTH - _NAMES_WIDTH,
            "height": {"step": _BAR_HEIGHT},
        }
    )


def _label(name: str) -> str:
    """A name without the characters that XML does not allow: the library ends the program over one."""
    return printable(name[:_NAME_CHARACTERS])


def _days(start: datetime, end: datetime) -> str:
    """The days of a plot, since the axis may have room for hours only."""
    first, last = (f"{moment:%b} {moment.day}" for moment in (start, end - timedelta(microseconds=1)))
    return f"{first} (UTC)" if first == last else f"{first} to {last} (UTC)"


def _svg(spec: dict[str, Any]) -> str:
    text: str = vl_convert.vegalite_to_svg(
        {**spec, "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": _CONFIG, "padding": 4},
        allowed_base_urls=[],
        format_locale=_LOCALE,
    )
    # The plot is one image with the panel's title as its name: its parts are no symbols, which would need names.
    return _GROUP.sub(lambda group: _ROLE.sub("", group[0]), text)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
