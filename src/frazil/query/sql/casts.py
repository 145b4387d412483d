"""CAST and typed literals as Trino reads and writes them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.types import (
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    JSON,
    MONTH_INTERVAL,
    VARCHAR,
    Type,
    common_type,
    parse_type,
    text,
    timestamp,
    timestamptz,
)
from frazil.query.sql.value import Value, coerce, instant, local, offset_minutes, rebuilt, refuse

_MOMENT = re.compile(
    r"\s*(\d{4}-\d{1,2}-\d{1,2})(?:[ T](\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.(?P<fraction>\d{1,12}))?)?))?"
    r"\s*(?P<zone>.*?)\s*"
)
_KNOWN = (
    "boolean",
    "tinyint",
    "smallint",
    "bigint",
    "real",
    "double",
    "decimal",
    "varchar",
    "varbinary",
    "date",
    "json",
    "uuid",
)
_DAY_TIME = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_SPANS = {
    ("day", "hour"): r"(\d+) (\d+)",
    ("day", "minute"): r"(\d+) (\d+):(\d+)",
    ("day", "second"): r"(\d+) (\d+):(\d+):(\d+(?:\.\d+)?)",
    ("hour", "minute"): r"(\d+):(\d+)",
    ("hour", "second"): r"(\d+):(\d+):(\d+(?:\.\d+)?)",
    ("minute", "second"): r"(\d+):(\d+(?:\.\d+)?)",
}


def type_of(written: exp.DataType) -> Type:
    """The type that a statement names. Raises QueryError for one that is not known."""
    numbers = [int(part.name) for part in written.expressions if isinstance(part, exp.DataTypeParam)]
    if written.this in (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMP, exp.DType.TIME):
        name = {exp.DType.TIMESTAMPTZ: "timestamptz", exp.DType.TIMESTAMP: "timestamp"}.get(written.this, "time")
        digits = numbers[0] if numbers else 3
        if digits > 6:
            refuse(f"the type {written.sql('trino')}")
        return Type(name, precision=digits)
    spelling = written.sql("trino", comments=False).lower()
    if written.this == exp.DType.STRUCT:
        fields = [part for part in written.expressions if isinstance(part, exp.ColumnDef | exp.DataType)]
        kinds = tuple(type_of(part.args["kind"] if isinstance(part, exp.ColumnDef) else part) for part in fields)
        return Type("row", kinds, tuple(part.name if isinstance(part, exp.ColumnDef) else "" for part in fields))
    if written.this in (exp.DType.ARRAY, exp.DType.MAP):
        name = "array" if written.this == exp.DType.ARRAY else "map"
        return Type(name, tuple(type_of(part) for part in written.expressions if isinstance(part, exp.DataType)))
    kind = parse_type(spelling)
    if kind.name in ("int", "integer"):
        return Type("integer")
    if kind.name == "decimal" and not kind.precision:
        return Type("decimal", precision=38)
    if kind.name not in _KNOWN:
        refuse(f"the type {spelling}")
    return kind


def cast(value: Value, wanted: Type, *, safe: bool = False) -> Value:
    """`CAST(value AS wanted)`, and with `safe` TRY_CAST: null instead of an error.

    Raises QueryError where Trino has no such cast, or the embedded engine would write the value otherwise.
    """
    given = value.type
    if wanted.name == "varchar" and wanted.precision:
        shortened = cast(value, VARCHAR, safe=safe)
        return shortened.written(f"left({shortened.sql}, {wanted.precision})", VARCHAR)
    if given.name == wanted.name == "timestamptz":
        wanted = replace(wanted, zone=given.zone)
    if given == wanted:
        return value
    sql = _cast(value, wanted)
    if sql is None:
        raise QueryError(f"a value of type {given} cannot be cast to {wanted}")
    return value.written(f"TRY({sql})" if safe else sql, wanted)


def _cast(value: Value, wanted: Type) -> str | None:
    given, sql = value.type, value.sql
    plain = f"CAST({sql} AS {wanted.duckdb})"
    if given.name == "unknown":
        return plain
    if wanted == VARCHAR:
        return _as_text(value)
    if given.name == "varchar":
        return _from_text(value, wanted)
    if given.is_number and (wanted.is_number or wanted == BOOLEAN):
        if given.is_floating and wanted.is_integer:
            return f"CAST(frazil_round({sql}) AS {wanted.duckdb})"
        if given.is_floating and wanted.name == "decimal":
            # rounded as it is written, not as it is stored
            return f"CAST(CAST({sql} AS VARCHAR) AS {wanted.duckdb})"
        return plain
    if given == BOOLEAN and wanted.is_number:
        return plain
    if wanted == DATE and given.is_moment:
        return f"CAST({local(value)} AS DATE)"
    if wanted.is_moment and (given == DATE or given.is_moment):
        return _moment(value, wanted)
    if given == JSON:
        return _from_json(sql, wanted) if _simple(wanted) else _refused(given, wanted)
    if wanted == JSON:
        return f"frazil_json_parse(CAST(to_json({sql}) AS VARCHAR))" if _simple(given) else _refused(given, wanted)
    if {given.name, wanted.name} == {"varchar", "uuid"}:
        return plain
    if given.args and given.name == wanted.name and len(given.args) == len(wanted.args):
        return rebuilt(sql, given, wanted) if all(map(_widens, given.args, wanted.args)) else _refused(given, wanted)
    return None


def _from_json(sql: str, wanted: Type) -> str:
    """Text of a JSON value in another type; a text cannot be an array or an object."""
    if wanted == VARCHAR:
        return f"frazil_json_text(CAST({sql} AS VARCHAR))"
    if wanted == JSON:
        return f"CAST({sql} AS VARCHAR)"
    if wanted.name == "array":
        return f"list_transform(CAST(CAST({sql} AS JSON) AS JSON[]), lambda e: {_from_json('e', wanted.args[0])})"
    if wanted.name == "map":
        entries = f"map_entries(CAST(CAST({sql} AS JSON) AS MAP(VARCHAR, JSON)))"
        made = f"struct_pack(key := e.key, value := {_from_json('e.value', wanted.args[1])})"
        return f"map_from_entries(list_transform({entries}, lambda e: {made}))"
    return f"CAST(CAST({sql} AS JSON) AS {wanted.duckdb})"


def _refused(given: Type, wanted: Type) -> str:
    refuse(f"CAST from {given} to {wanted}")


def _widens(given: Type, wanted: Type) -> bool:
    if given.args and given.name == wanted.name:
        return all(map(_widens, given.args, wanted.args))
    return given == wanted or (given.is_number and common_type(given, wanted) == wanted)


def _simple(kind: Type) -> bool:
    """Whether JSON and this type hold the same values in the same form."""
    if kind.args:
        return kind.name != "row" and all(map(_simple, kind.args)) and (kind.name != "map" or kind.args[0] == VARCHAR)
    return kind.name in ("varchar", "boolean", "integer", "bigint", "smallint", "tinyint", "double", "json")


def _as_text(value: Value) -> str | None:
    given, sql = value.type, value.sql
    if given.name == "decimal" and given.precision == given.scale:
        return f"regexp_replace(CAST({sql} AS VARCHAR), '^(-?)[.]', '\\10.')"
    if given.is_integer or given.name in ("boolean", "decimal", "date", "uuid"):
        return f"CAST({sql} AS VARCHAR)"
    if given.is_floating:
        return f"frazil_{given.name}_text({sql})"
    if given.is_moment:
        clock = local(value)
        fraction = f" || '.' || left(strftime({clock}, '%f'), {given.precision})" if given.precision else ""
        zone = f" || {text(' ' + given.zone)}" if given.name == "timestamptz" else ""
        return f"(strftime({clock}, '%Y-%m-%d %H:%M:%S'){fraction}{zone})"
    if given == JSON:
        return f"frazil_json_text({sql})"
    return _refused(given, VARCHAR) if given.is_interval else None


def _from_text(value: Value, wanted: Type) -> str | None:
    sql = value.sql
    if wanted.name in ("timestamp", "timestamptz"):
        clock = f"frazil_text_moment({sql}, {str(wanted.name == 'timestamptz').upper()})"
        moved = rounded(clock, 6, wanted.precision)
        return instant(moved, "UTC") if wanted.name == "timestamptz" else moved
    if wanted == JSON:
        return f"frazil_json_text_of({sql})"
    if wanted.is_integer:
        return f"CAST(frazil_whole_text({sql}, {text(wanted.name)}) AS {wanted.duckdb})"
    if wanted.is_floating:
        return f"CAST(frazil_floating_text({sql}, {text(wanted.name)}) AS {wanted.duckdb})"
    if wanted.name == "decimal":
        return f"CAST(frazil_number_text({sql}, 'decimal') AS {wanted.duckdb})"
    if wanted == BOOLEAN:
        return f"CAST(frazil_boolean_text({sql}) AS BOOLEAN)"
    if wanted == DATE:
        return f"CAST(frazil_date_text({sql}) AS DATE)"
    if wanted.name == "varbinary":
        return f"encode({sql})"
    return f"CAST({sql} AS UUID)" if wanted.name == "uuid" else None


def _moment(value: Value, wanted: Type) -> str:
    given = value.type
    if given == DATE:
        return coerce(value, wanted).sql
    if given.name == "timestamptz" and wanted.name == "timestamp":
        return rounded(local(value), given.precision, wanted.precision)
    if given.name == "timestamptz":
        # the moment is rounded, since the clock shows some hours twice
        utc = rounded(f"make_timestamp(epoch_us({value.sql}))", given.precision, wanted.precision)
        return value.sql if wanted.precision >= given.precision else instant(utc, "UTC")
    clock = rounded(value.sql, given.precision, wanted.precision)
    return clock if wanted.name == "timestamp" else instant(clock, "UTC")


def rounded(clock: str, digits: int, wanted: int) -> str:
    """A time with so many digits of a second, rounded to fewer where fewer are wanted."""
    if wanted >= digits:
        return clock
    step = 10 ** (6 - min(wanted, 6))
    return clock if step == 1 else f"make_timestamp(((epoch_us({clock}) + {step // 2}) // {step}) * {step})"


def moment_literal(written: str) -> Value:
    """`TIMESTAMP '...'`, whose type follows from its digits and zone. Raises QueryError when it is none."""
    match = _MOMENT.fullmatch(written)
    try:
        if match is None:
            raise ValueError
        year, month, day = map(int, match[1].split("-"))
        hour, minute, second = (*map(int, (match[2] or "0:0:0").split(".")[0].split(":")), 0)[:3]
        moment = datetime(year, month, day, hour, minute, second)
        digits = len(match["fraction"] or "")
        if digits > 6:
            refuse(f"TIMESTAMP {written!r}, which has more than 6 digits of a second")
        moment += timedelta(microseconds=int((match["fraction"] or "0").ljust(6, "0")))
        if not match["zone"]:
            return Value(f"TIMESTAMP '{moment.isoformat(' ')}'", timestamp(digits), constant=True)
        zone, info = zone_of(match["zone"])
        utc = moment.replace(tzinfo=info).astimezone(UTC)
    except (ValueError, OverflowError):
        raise QueryError(f"{written!r} is not a timestamp; write it like 2025-01-31 10:30:00.000 UTC") from None
    return Value(f"TIMESTAMPTZ '{utc.isoformat(' ')}'", timestamptz(digits, zone), constant=True)


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
    match = re.fullmatch(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*", written)
    try:
        day = datetime(*map(int, match.groups())).date() if match else None  # type: ignore[arg-type]
    except ValueError:
        day = None
    if day is None:
        raise QueryError(f"{written!r} is not a date; write it like 2025-01-31")
    return Value(f"DATE '{day.isoformat()}'", DATE, constant=True)


def interval(node: exp.Interval) -> Value:
    """`INTERVAL '2' DAY` or `INTERVAL '1 02:30' DAY TO MINUTE`. Raises QueryError for any other form."""
    written, unit = node.this, node.args.get("unit")
    ends = (
        (unit.this.name, unit.expression.name) if isinstance(unit, exp.IntervalSpan) else (unit.name if unit else "",)
    )
    units = tuple(end.lower().removesuffix("s") for end in ends)
    sign, digits = _signed(written.name if isinstance(written, exp.Literal) else "")
    if units in (("year",), ("month",)) and digits.isdigit():
        months = int(digits) * (12 if units == ("year",) else 1)
        return Value(f"to_months({sign * months})", MONTH_INTERVAL, constant=True)
    if units == ("year", "month") and (match := re.fullmatch(r"(\d+)-(\d+)", digits)):
        months = int(match[1]) * 12 + int(match[2])
        return Value(f"to_months({sign * months})", MONTH_INTERVAL, constant=True)
    pattern = r"(\d+(?:\.\d+)?)" if units == ("second",) else r"(\d+)"
    match = re.fullmatch(_SPANS.get(units, pattern) if len(units) == 2 else pattern, digits)
    if match is None or any(end not in _DAY_TIME for end in units):
        raise QueryError(f"{node.sql('trino')} is not an interval; write it like INTERVAL '2' DAY")
    names = list(_DAY_TIME)
    inside = names[names.index(units[0]) : names.index(units[-1]) + 1]
    amounts: list[tuple[str, str]] = list(zip(inside, match.groups(), strict=True))
    micros = sum(round(float(amount) * _DAY_TIME[name]) for name, amount in amounts)
    return Value(f"to_microseconds({sign * micros})", DAY_INTERVAL, constant=True)


def _signed(written: str) -> tuple[int, str]:
    stripped = written.strip()
    return (-1, stripped[1:]) if stripped.startswith("-") else (1, stripped.removeprefix("+"))
