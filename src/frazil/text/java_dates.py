"""Patterns of Java's `SimpleDateFormat`, as transformations use them: text to an instant and back, always in UTC.

Where Java guesses, this refuses or reads what the text says: a month 13 is no month of the next year, and the digits of
`S` are a fraction of the second, so that `.5` is half a second and `.123456` is not two minutes.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from frazil.text.date_patterns import DAYS, MONTHS, NUMBERS, runs

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_ORDINAL: Final = _EPOCH.toordinal()
_START = (1970, 1, 1, 0, 0, 0)
_SECOND: Final = 1_000_000_000
_DAY: Final = 86_400 * _SECOND
_NUMERIC = "yMLdDHkKhmsSu"
_LETTERS = _NUMERIC + "EazZX"
_NUMBERS = {**NUMBERS, "u": dt.datetime.isoweekday}
_NOT_SUPPORTED = "GYwWF"
_TWO_DIGIT_YEARS_FROM = 1969
"""`yy` stands for 1969 to 2068, whatever the year is now."""
_OFFSET = r"[+-](?:[01]?\d|2[0-3]):?(?:[0-5]\d)?"
_ZONES = {"z": rf"(?:GMT|UTC|UT|Z)(?:{_OFFSET})?|{_OFFSET}", "Z": rf"(?:GMT|UTC|UT)(?:{_OFFSET})?|{_OFFSET}"}
_ZONES["X"] = rf"Z|{_OFFSET}"
_LEFT_ZONE = re.compile(r"(?:[.,]\d+)?[ \t]*[+-]\d\d")


@dataclass(frozen=True)
class _Part:
    """A run of one pattern letter, or a literal when `letter` is empty."""

    letter: str
    count: int = 0
    text: str = ""

    @property
    def is_numeric(self) -> bool:
        return self.letter != "" and self.letter in _NUMERIC and not self.is_name

    @property
    def is_name(self) -> bool:
        return self.letter in "ML" and self.count >= 3


def _has_letter(part: _Part) -> bool:
    return part.letter != ""


class JavaDateFormat:
    """A compiled pattern; picklable by its pattern."""

    def __init__(self, pattern: str) -> None:
        """Raises ValueError, with Java's text where it has one, for a pattern that cannot be used."""
        self.pattern = pattern
        self._parts = list(_parts(pattern))
        self._regex = re.compile("".join(self._expressions()), re.ASCII)
        self._names = [f"{part.letter}{index}" for index, part in enumerate(self._parts) if part.letter]
        self._writers = [_writer(part) for part in self._parts]
        self._counts = {part.letter: part.count for part in self._parts}
        self._plain = self._plain_groups()
        self._has_zone = any(name[0] in "zZX" for name in self._names)
        self._late = [name for name in self._names if name[0] in "SXZz"]

    def __reduce__(self) -> tuple[type[JavaDateFormat], tuple[str]]:
        return JavaDateFormat, (self.pattern,)

    def _expressions(self) -> Iterator[str]:
        for index, part in enumerate(self._parts):
            following = self._parts[index + 1] if index + 1 < len(self._parts) else None
            if not part.letter:
                yield re.escape(part.text)
                continue
            if part.is_name:
                names = "|".join(sorted({*MONTHS, *(name[:3] for name in MONTHS)}, key=len, reverse=True))
                body = f"(?i:{names})"
            elif part.letter == "E":
                names = "|".join(sorted({*DAYS, *(name[:3] for name in DAYS)}, key=len, reverse=True))
                body = f"(?i:{names})"
            elif part.letter == "a":
                body = "(?i:AM|PM)"
            elif part.letter in _ZONES:
                body = _ZONES[part.letter]
            elif following is not None and following.is_numeric:
                body = rf"\d{{{part.count}}}"
            else:
                body = r"\d{1,18}"
            yield rf"[ \t]*(?P<{part.letter}{index}>{body})"

    def _plain_groups(self) -> tuple[str | None, ...] | None:
        """Find the groups of year, month, day, hour, minute and second; None for a pattern with more than these."""
        groups = {part.letter: name for part, name in zip(filter(_has_letter, self._parts), self._names, strict=True)}
        numbers = len(groups) == len(self._names) and not any(part.is_name for part in self._parts)
        if not numbers or groups.keys() - set("yMdHmsSXZz") or self._counts.get("y", 4) <= 2:
            return None
        return tuple(groups.get(letter) for letter in "yMdHms")

    def parse(self, text: str) -> int:
        """Read a text as nanoseconds since 1970-01-01T00:00Z, of which it has what the pattern does not name.

        Like Java it ignores what follows the pattern, except a zone offset, without which the instant would be another.
        Raises ValueError.
        """
        match = self._regex.match(text)
        if match is None:
            raise ValueError(f"the text does not match the pattern {self.pattern}")
        if not self._has_zone and match.end() < len(text) and _LEFT_ZONE.match(text, match.end()):
            raise ValueError(f"the text has a zone offset that the pattern {self.pattern} does not read")
        if self._plain is not None:
            year, month, day, hour, minute, second = [
                int(match[name]) if name is not None else start for name, start in zip(self._plain, _START, strict=True)
            ]
            if hour < 24 and minute < 60 and second < 60 and (days := _days_or_none(year, month, day)) is not None:
                seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
                return seconds * _SECOND + _rest({name[0]: match[name] for name in self._late})
        return _instant({name[0]: match[name] for name in self._names}, self._counts)

    def format(self, nanos: int) -> str:
        """Write an instant, given in nanoseconds since 1970-01-01T00:00Z.

        Raises ValueError outside of the years 1 to 9999.
        """
        try:
            moment = _EPOCH + dt.timedelta(microseconds=nanos // 1000)
        except OverflowError:
            raise ValueError("the time is outside of the years 1 to 9999") from None
        return "".join([write(moment, nanos) for write in self._writers])


def _parts(pattern: str) -> Iterator[_Part]:
    """Split a pattern into letters and literals. Raises ValueError for other letters and an open quote."""
    for letter, run in runs(pattern):
        if not letter:
            yield _Part("", text=run)
            continue
        if letter in _NOT_SUPPORTED:
            raise ValueError(f"Pattern character '{letter}' is not supported")
        if letter not in _LETTERS:
            raise ValueError(f"Illegal pattern character '{letter}'")
        if letter == "X" and len(run) > 3:
            raise ValueError(f"invalid ISO 8601 format: length={len(run)}")
        yield _Part(letter, len(run))
    if pattern.count("'") % 2:
        raise ValueError("Unterminated quote")


def _instant(found: dict[str, str], counts: dict[str, int]) -> int:
    def number(letter: str, default: int, low: int, high: int) -> int:
        if letter not in found:
            return default
        value = int(found[letter])
        if not low <= value <= high:
            raise ValueError(f"{value} for {letter} is out of range")
        return value

    year = number("y", 1970, 0, 9999)
    if counts.get("y", 4) <= 2 and len(found["y"]) == 2:
        year += 1900 if year + 1900 >= _TWO_DIGIT_YEARS_FROM else 2000
    if "D" in found:
        day_of_year = number("D", 1, 1, 366)
        date = dt.date(year, 1, 1) + dt.timedelta(days=day_of_year - 1)
        if date.year != year:
            raise ValueError(f"{day_of_year} for D is out of range")
    else:
        date = dt.date(year, _month(found), number("d", 1, 1, 31))
    hour = number("H", number("k", 0, 1, 24) % 24, 0, 23)
    if "h" in found or "K" in found:
        hour = number("K", number("h", 0, 1, 12) % 12, 0, 11) + 12 * (found.get("a", "").upper() == "PM")
    seconds = (hour * 60 + number("m", 0, 0, 59)) * 60 + number("s", 0, 0, 59)
    return _days(date.year, date.month, date.day) * _DAY + seconds * _SECOND + _rest(found)


def _days(year: int, month: int, day: int) -> int:
    return dt.date(year, month, day).toordinal() - _EPOCH_ORDINAL


def _days_or_none(year: int, month: int, day: int) -> int | None:
    try:
        return _days(year, month, day)
    except ValueError:
        return None


def _rest(found: Mapping[str, str]) -> int:
    """Add up the nanoseconds of the fraction and of the zone offset."""
    fraction = int(found["S"][:9].ljust(9, "0")) if "S" in found else 0
    zone = next((found[letter] for letter in "XZz" if letter in found), "Z")
    return fraction if zone == "Z" else fraction - _offset_seconds(zone) * _SECOND


def _month(found: dict[str, str]) -> int:
    text = found.get("M", found.get("L", "1"))
    if text.isdecimal():
        if not 1 <= int(text) <= 12:
            raise ValueError(f"{text} for M is out of range")
        return int(text)
    return next(index for index, name in enumerate(MONTHS, 1) if name[:3].lower() == text[:3].lower())


def _offset_seconds(zone: str) -> int:
    sign, _, digits = zone.partition("+") if "+" in zone else zone.partition("-")
    if not digits:
        return 0
    hours, minutes = (digits.split(":") + [""])[:2] if ":" in digits else (digits[:-2], digits[-2:])
    if ":" not in digits and len(digits) <= 2:
        hours, minutes = digits, ""
    seconds = (int(hours) * 60 + int(minutes or 0)) * 60
    return seconds if "+" in zone else -seconds


def _writer(part: _Part) -> Callable[[dt.datetime, int], str]:
    width = part.count
    match part.letter:
        case "":
            return lambda moment, nanos: part.text
        case "y":
            return (
                (lambda moment, nanos: f"{moment.year % 100:02d}")
                if width == 2
                else lambda moment, nanos: f"{moment.year:0{width}d}"
            )
        case "M" | "L":
            if width >= 4:
                return lambda moment, nanos: MONTHS[moment.month - 1]
            if width == 3:
                return lambda moment, nanos: MONTHS[moment.month - 1][:3]
            return lambda moment, nanos: f"{moment.month:0{width}d}"
        case "E":
            return (
                (lambda moment, nanos: DAYS[moment.weekday()])
                if width >= 4
                else lambda moment, nanos: DAYS[moment.weekday()][:3]
            )
        case "a":
            return lambda moment, nanos: "AM" if moment.hour < 12 else "PM"
        case "S":
            return lambda moment, nanos: f"{nanos % _SECOND:09d}".ljust(width, "0")[:width]
        case "z":
            return lambda moment, nanos: "UTC" if width < 4 else "Coordinated Universal Time"
        case "Z":
            return lambda moment, nanos: "+0000"
        case "X":
            return lambda moment, nanos: "Z"
        case letter:
            number = _NUMBERS[letter]
            return lambda moment, nanos: f"{number(moment):0{width}d}"
