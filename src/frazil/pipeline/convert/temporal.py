"""Dates, times and timestamps from JSON text."""

import datetime as dt
import re

_DATE = r"(\d{4})-(\d{2})-(\d{2})"
_TIME = r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?"
_ZONE = r"(?:([Zz])|([+-])(\d{2})(?::?(\d{2}))?)?"

_DATE_RE = re.compile(_DATE, re.ASCII)
_TIME_RE = re.compile(_TIME, re.ASCII)
_TIMESTAMP_RE = re.compile(f"{_DATE}[Tt ]{_TIME}{_ZONE}", re.ASCII)
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_ORDINAL = _EPOCH.toordinal()
NANOS_PER_DAY = 86_400_000_000_000
FIRST_DAY = dt.date.min.toordinal() - _EPOCH_ORDINAL
LAST_DAY = dt.date.max.toordinal() - _EPOCH_ORDINAL
"""0001-01-01 and 9999-12-31 in days since 1970-01-01."""


def date_to_days(text: str) -> int:
    """Read `yyyy-MM-dd` as days since 1970-01-01. Raises ValueError."""
    match = _DATE_RE.fullmatch(text)
    if match is None:
        raise ValueError("expected a date like 2026-01-31")
    year, month, day = map(int, match.groups())
    return dt.date(year, month, day).toordinal() - _EPOCH_ORDINAL


def time_to_micros(text: str) -> int:
    """Read `HH:mm[:ss[.fraction]]`, without zone, as microseconds since midnight. Raises ValueError."""
    match = _TIME_RE.fullmatch(text)
    if match is None:
        raise ValueError("expected a time like 07:51:30.888")
    nanos = _nanos_of_day(*match.groups())
    if nanos >= NANOS_PER_DAY:
        raise ValueError("the hour must be 00 to 23")
    return nanos // 1000


def timestamp_to_nanos(text: str, *, apply_offset: bool) -> int:
    """Read a timestamp as nanoseconds since 1970-01-01T00:00Z.

    `yyyy-MM-dd`, `T` or a blank, `HH:mm[:ss[.digits]]`, then nothing (UTC), `Z`, `±HH`, `±HHmm` or `±HH:mm` up to
    23:59. Digits beyond the nanosecond are cut, as the fast decoder does.
    Without `apply_offset` (timestamp without zone) the offset is dropped, not applied. Raises ValueError.
    """
    match = _TIMESTAMP_RE.fullmatch(text)
    if match is None:
        raise ValueError("expected a timestamp like 2026-01-31T10:30:00.123Z")
    year, month, day, hour, minute, second, fraction, _, sign, zone_hour, zone_minute = match.groups()
    days = dt.date(int(year), int(month), int(day)).toordinal() - _EPOCH_ORDINAL
    nanos = days * NANOS_PER_DAY + _nanos_of_day(hour, minute, second, fraction)
    if sign is not None:
        offset_hours, offset_minutes = int(zone_hour), int(zone_minute or 0)
        if offset_hours > 23 or offset_minutes > 59:
            raise ValueError("the zone offset is out of range")
        if apply_offset:
            offset = (offset_hours * 60 + offset_minutes) * 60_000_000_000
            nanos += -offset if sign == "+" else offset
    return nanos


def connect_text(kind: str, nanos: int) -> str:
    """Write a time, of nanoseconds since midnight or 1970-01-01T00:00Z, as Kafka Connect does.

    Raises OverflowError outside the years 1 to 9999.
    """
    moment = _EPOCH + dt.timedelta(milliseconds=nanos // 1_000_000)
    if kind == "time":
        return f"{moment.time().isoformat('milliseconds')}Z"
    is_day = moment.time() == dt.time()
    return moment.date().isoformat() if is_day else f"{moment.isoformat(timespec='milliseconds')}Z"


def _nanos_of_day(hour: str, minute: str, second: str | None, fraction: str | None) -> int:
    h, m, s = int(hour), int(minute), int(second or 0)
    nanos = int((fraction or "0")[:9].ljust(9, "0"))
    if h == 24 and (m, s, nanos) == (0, 0, 0):
        return NANOS_PER_DAY
    if h > 23 or m > 59 or s > 59:
        raise ValueError("hour, minute or second is out of range")
    return ((h * 60 + m) * 60 + s) * 1_000_000_000 + nanos
