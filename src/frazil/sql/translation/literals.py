"""Literals of numbers, times and intervals, as Trino reads them."""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.translation.types import (
    DATE,
    DAY_INTERVAL,
    INTEGER,
    MONTH_INTERVAL,
    VARCHAR,
    Type,
    decimal,
    text,
    timestamp,
    timestamptz,
)
from frazil.sql.translation.value import Value, offset_minutes, refuse

_CLOCK = r"\d{4}-\d{1,2}-\d{1,2}(?:[ T]\d{1,2}:\d{1,2}(?::\d{1,2})?)?"
_MOMENT = re.compile(rf"\s*(?P<clock>{_CLOCK})(?:[.](?P<fraction>\d{{1,12}}))?\s*(?P<zone>.*?)\s*")
_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


def literal(node: exp.Literal) -> Value:
    """A number or a text."""
    written = node.name
    if node.is_string:
        return Value(text(written), VARCHAR, constant=True)
    if "e" in written.lower():
        return Value(f"{written}::DOUBLE", Type("double"), constant=True)
    if "." in written:
        return decimal_literal(written)
    if int(written) >= 2**63:
        raise QueryError(f"{written} is out of the range of bigint; write it as DECIMAL '{written}'")
    if int(written) < 2**31:
        return Value(str(int(written)), INTEGER, constant=True)
    return Value(f"{int(written)}::BIGINT", Type("bigint"), constant=True)


def decimal_literal(written: str) -> Value:
    """`1.50` or `DECIMAL '1.50'`."""
    whole, _, fraction = written.partition(".")
    kind = decimal(max(len((whole + fraction).lstrip("0")), len(fraction)), len(fraction))
    return Value(f"'{written}'::{kind.duckdb}", kind, constant=True)


def moment_literal(written: str) -> Value:
    """`TIMESTAMP '...'`, whose type follows from its digits and zone. Raises QueryError when it is none."""
    match = _MOMENT.fullmatch(written)
    fraction = (match["fraction"] or "") if match else ""
    if len(fraction) > 6:
        refuse(f"TIMESTAMP {written!r}, which has more than 6 digits of a second")
    try:
        clock = re.sub(r"\b\d\b", r"0\g<0>", match["clock"]) if match else ""
        moment = datetime.fromisoformat(clock).replace(microsecond=int(f"{fraction:0<6}"))
        if match is None or not match["zone"]:
            return Value(f"TIMESTAMP '{moment.isoformat(' ')}'", timestamp(len(fraction)), constant=True)
        zone, info = zone_of(match["zone"])
        utc = moment.replace(tzinfo=info).astimezone(UTC)
    except (ValueError, OverflowError):
        raise QueryError(f"{written!r} is not a timestamp; write it like 2025-01-31 10:30:00.000 UTC") from None
    return Value(f"TIMESTAMPTZ '{utc.isoformat(' ')}'", timestamptz(len(fraction), zone), constant=True)


def zone_of(written: str) -> tuple[str, tzinfo]:
    """A zone's name as Trino shows it, and the zone. Raises QueryError when there is none."""
    if written.upper() in ("UTC", "Z", "GMT", "UT", "+00:00", "-00:00"):
        return "UTC", UTC
    offset = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?", written)
    if offset:
        name = f"{offset[1]}{int(offset[2]):02}:{offset[3] or '00'}"
        return name, timezone(timedelta(minutes=offset_minutes(name) or 0))
    try:
        return written, ZoneInfo(written)
    except (ZoneInfoNotFoundError, ValueError):
        raise QueryError(f"there is no time zone {written!r}; write a name like Europe/Vienna or an offset") from None


def date_literal(written: str) -> Value:
    """`DATE '...'`. Raises QueryError when it is none."""
    try:
        day = date.fromisoformat(re.sub(r"\b\d\b", r"0\g<0>", written.strip()))
    except ValueError:
        raise QueryError(f"{written!r} is not a date; write it like 2025-01-31") from None
    return Value(f"DATE '{day.isoformat()}'", DATE, constant=True)


def interval(node: exp.Interval) -> Value:
    """`INTERVAL '2' DAY`. Raises QueryError for any other form."""
    unit = node.args["unit"].name.lower().removesuffix("s") if isinstance(node.args.get("unit"), exp.Var) else ""
    match = re.fullmatch(r"\s*([+-]?\d+)\s*", node.this.name if isinstance(node.this, exp.Literal) else "")
    if match is None or unit not in (*_UNITS, "month", "year"):
        refuse(f"{node.sql('trino')}; write an interval like INTERVAL '2' DAY")
    if unit in _UNITS:
        return Value(f"to_microseconds({int(match[1]) * _UNITS[unit]})", DAY_INTERVAL, constant=True)
    return Value(f"to_months({int(match[1]) * (12 if unit == 'year' else 1)})", MONTH_INTERVAL, constant=True)
