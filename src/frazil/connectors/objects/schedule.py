"""Scheduled rotation: objects are stored every period, counted from local midnight."""

from __future__ import annotations

import datetime as dt

from frazil.text.time_zones import time_zone


def next_boundary(now_ms: int, period_ms: int, zone: str) -> int:
    """The first boundary after an instant, in epoch milliseconds: the start of the day and multiples of the period.

    The last one of a day is the next midnight, so that days with a change of the clock have them too.
    """
    tz = time_zone(zone)
    day = dt.datetime.fromtimestamp(now_ms / 1000, tz).date()
    start = _midnight(day, tz)
    step = start + ((now_ms - start) // period_ms + 1) * period_ms
    return min(step, _midnight(day + dt.timedelta(days=1), tz))


def _midnight(day: dt.date, tz: dt.tzinfo) -> int:
    return round(dt.datetime.combine(day, dt.time(), tz).timestamp() * 1000)
