"""Patterns of Joda-Time's `DateTimeFormat`, which lay out paths by time.

They are not those of `java.time` and Spark: `YYYY` is the calendar year here, and the week-based year there.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from frazil.text.time_zones import time_zone

_RUN = re.compile(r"([A-Za-z])\1*")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Write = Callable[[dt.datetime], str]


@lru_cache(maxsize=64)
def joda_pattern(pattern: str) -> JodaPattern:
    """The compiled pattern. Raises ValueError as `JodaPattern` does."""
    return JodaPattern(pattern)


class JodaPattern:
    """A compiled pattern, which writes instants as text; names of months and days are English."""

    def __init__(self, pattern: str) -> None:
        """Raises ValueError, with Joda's text, for a letter that is none of a pattern."""
        self.pattern = pattern
        parts = list(_parts(pattern))
        self._writers = [_literal(text) if not letter else _writer(letter, len(text)) for letter, text in parts]
        letters = [(letter, len(text)) for letter, text in parts]
        self.has_names = any(letter in "EaG" or (letter == "M" and count >= 3) for letter, count in letters)
        """Whether the text depends on a language."""
        self.has_fraction = any(letter == "S" for letter, _ in letters)
        """Whether the text tells instants of the same second apart."""

    def format(self, epoch_ms: int, zone: str) -> str:
        """The instant as text in a zone.

        Raises ValueError for an instant outside of the years 1 to 9999, and for a zone that does not exist.
        """
        try:
            moment = (_EPOCH + dt.timedelta(milliseconds=epoch_ms)).astimezone(time_zone(zone))
        except OverflowError:
            raise ValueError(f"{epoch_ms} ms is not in the years 1 to 9999") from None
        return "".join(write(moment) for write in self._writers)


def bucket_start(epoch_ms: int, duration_ms: int, zone: str) -> int:
    """The start of the bucket of local time that an instant lies in, in epoch milliseconds.

    Local time is divided by the duration, towards zero. A start that the zone skips moves on by the length of the gap.
    Raises ValueError as `JodaPattern.format` does.
    """
    tz = time_zone(zone)
    try:
        moment = _EPOCH + dt.timedelta(milliseconds=epoch_ms)
        offset = moment.astimezone(tz).utcoffset() or dt.timedelta()
        local_ms = epoch_ms + _ms(offset)
        count = abs(local_ms) // duration_ms
        start_ms = (count if local_ms >= 0 else -count) * duration_ms
        start = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=start_ms)
        return start_ms - _ms(start.replace(tzinfo=tz).utcoffset() or dt.timedelta())
    except OverflowError:
        raise ValueError(f"{epoch_ms} ms is not in the years 1 to 9999") from None


def _ms(delta: dt.timedelta) -> int:
    return delta // dt.timedelta(milliseconds=1)


def _parts(pattern: str) -> Iterator[tuple[str, str]]:
    """Runs of a letter as (letter, run), and literals as ("", text); two single quotes are one."""
    position, quoted = 0, False
    while position < len(pattern):
        char = pattern[position]
        if char == "'":
            if pattern.startswith("''", position):
                yield "", "'"
                position += 1
            else:
                quoted = not quoted
            position += 1
        elif not quoted and (match := _RUN.match(pattern, position)):
            yield char, match[0]
            position = match.end()
        else:
            yield "", char
            position += 1


def _literal(text: str) -> Write:
    return lambda moment: text


def _number(value: Callable[[dt.datetime], int], width: int) -> Write:
    return lambda moment: f"{value(moment):0{width}d}"


def _year(value: Callable[[dt.datetime], int], width: int) -> Write:
    if width == 2:
        return lambda moment: f"{value(moment) % 100:02d}"
    return _number(value, width)


_YEARS: dict[str, Callable[[dt.datetime], int]] = {
    "y": lambda moment: moment.year,
    "Y": lambda moment: moment.year,
    "x": lambda moment: moment.isocalendar().year,
}
_NUMBERS: dict[str, Callable[[dt.datetime], int]] = {
    "C": lambda moment: moment.year // 100,
    "w": lambda moment: moment.isocalendar().week,
    "e": lambda moment: moment.isoweekday(),
    "D": lambda moment: moment.timetuple().tm_yday,
    "d": lambda moment: moment.day,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
}


def _writer(letter: str, count: int) -> Write:
    if letter in _YEARS:
        return _year(_YEARS[letter], count)
    if letter in _NUMBERS:
        return _number(_NUMBERS[letter], count)
    match letter:
        case "M" if count < 3:
            return _number(lambda moment: moment.month, count)
        case "M":
            return _named(lambda moment: _MONTHS[moment.month - 1], count)
        case "E":
            return _named(lambda moment: _DAYS[moment.weekday()], count)
        case "a":
            return lambda moment: "AM" if moment.hour < 12 else "PM"
        case "G":
            return lambda moment: "AD"
        case "S":
            return lambda moment: f"{moment.microsecond // 1000:03d}".ljust(count, "0")[:count]
        case "z" if count < 4:
            return lambda moment: moment.tzname() or ""
        case "Z" if count <= 2:
            return lambda moment: _offset(moment, ":" if count == 2 else "")
        case "Z":
            return lambda moment: getattr(moment.tzinfo, "key", None) or _offset(moment, ":").replace("+00:00", "UTC")
        case "z":
            raise ValueError("Unsupported pattern component: zzzz (the full names of zones). Use z, ZZ or ZZZ")
    raise ValueError(f"Illegal pattern component: {letter * count}")


def _named(name: Callable[[dt.datetime], str], count: int) -> Write:
    return name if count >= 4 else lambda moment: name(moment)[:3]


def _offset(moment: dt.datetime, separator: str) -> str:
    minutes = (moment.utcoffset() or dt.timedelta()) // dt.timedelta(minutes=1)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{separator}{abs(minutes) % 60:02d}"
