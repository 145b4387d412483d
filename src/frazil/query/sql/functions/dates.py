"""Functions of dates and times (Trino documentation, Date and time functions and operators).

A timestamp with time zone is a moment whose zone is part of its type here; what looks at the clock does so in that
zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.casts import cast, moment_literal, rounded, zone_of
from frazil.query.sql.functions.patterns import joda, mysql
from frazil.query.sql.types import (
    BIGINT,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    VARCHAR,
    Type,
    text,
    timestamp,
    timestamptz,
)
from frazil.query.sql.value import Value, back, coerce, combine, instant, local, offset_minutes, refuse

if TYPE_CHECKING:
    from frazil.query.sql.expressions import Expressions
    from frazil.query.sql.relations import Scope

Builder = Callable[["Expressions", Sequence[exp.Expr], "Scope"], Value]

_UNITS = ("millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
_FIELDS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "week",
    "week_of_year": "week",
    "day": "day",
    "day_of_month": "day",
    "day_of_week": "isodow",
    "dow": "isodow",
    "day_of_year": "dayofyear",
    "doy": "dayofyear",
    "year_of_week": "isoyear",
    "yow": "isoyear",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "millisecond",
}
_OF_DAY = ("hour", "minute", "second", "millisecond")


def arguments(self: Expressions, name: str, nodes: Sequence[exp.Expr], scope: Scope, *counts: int) -> list[Value]:
    """The arguments of a call. Raises QueryError when there are too many or too few."""
    if len(nodes) not in counts:
        wanted = " or ".join(map(str, counts))
        raise QueryError(f"{name} takes {wanted} arguments, not {len(nodes)}")
    return [self.value(node, scope) for node in nodes]


def literal(node: exp.Expr, what: str) -> str:
    """A text that has to be written out. Raises QueryError when it is computed."""
    if not isinstance(node, exp.Literal) or not node.is_string:
        refuse(f"{what} that is not a text in quotes")
    return node.name


def timed(value: Value, name: str) -> Value:
    """A date or timestamp; text is no time. Raises QueryError for any other type."""
    if value.type.name == "unknown":
        return coerce(value, timestamp(3))
    if not (value.type.is_moment or value.type == DATE):
        raise QueryError(f"{name} needs a date or a timestamp, not {value.type}; write CAST(... AS timestamp)")
    return value


def _unit(node: exp.Expr, name: str) -> str:
    unit = literal(node, f"a unit of {name}").lower()
    if unit not in _UNITS:
        raise QueryError(f"{name} has no unit {unit!r}; there are {', '.join(_UNITS)}")
    return unit


def field(name: str, value: Value) -> Value:
    """A field of a time, like `hour`, as bigint. Raises QueryError for a field that the type does not have."""
    value = timed(value, name)
    if value.type == DATE and name in _OF_DAY:
        raise QueryError(f"a date has no {name}")
    found = f"{_FIELDS[name]}({local(value)})"
    if name == "millisecond":
        found = f"({found} % 1000)"
    return value.written(f"CAST({found} AS BIGINT)", BIGINT)


def _field(name: str) -> Builder:
    def build(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
        [value] = arguments(self, name, nodes, scope, 1)
        if value.type.is_interval:
            refuse(f"{name} of an interval")
        return field(name, value)

    return build


def extract(self: Expressions, node: Any, scope: Scope) -> Value:
    """`EXTRACT(field FROM time)`."""
    name = node.this.name.lower() if not isinstance(node.this, str) else node.this.lower()
    value = self.value(node.expression, scope)
    if name in ("timezone_hour", "timezone_minute"):
        return _zone_field(name, value)
    if name not in _FIELDS or name in ("millisecond", "week_of_year", "day_of_month"):
        raise QueryError(f"EXTRACT has no field {name}")
    return field(name, value)


def _zone_field(name: str, value: Value) -> Value:
    minutes = offset_minutes(value.type.zone) if value.type.zone != "UTC" else 0
    if value.type.name != "timestamptz" or minutes is None:
        refuse(f"{name} of {value.type} in {value.type.zone}")
    number = int(minutes / 60) if name == "timezone_hour" else int(minutes - int(minutes / 60) * 60)
    return value.written(f"{number}::BIGINT", BIGINT)


def _date_trunc(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    unit = _unit(nodes[0], "date_trunc") if nodes else ""
    if len(nodes) != 2:
        raise QueryError("date_trunc takes a unit and a time")
    value = timed(self.value(nodes[1], scope), "date_trunc")
    if value.type == DATE:
        if unit in _OF_DAY:
            raise QueryError(f"date_trunc({unit!r}) needs a timestamp, not a date")
        return value.written(f"CAST(date_trunc('{unit}', {value.sql}) AS DATE)", DATE)
    if unit in _OF_DAY and offset_minutes(value.type.zone) is None and value.type.zone != "UTC":
        # the repeated hour of a zone is two moments
        step = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000}[unit]
        clock = f"epoch_us({local(value)}) % {step}"
        return value.written(f"make_timestamptz(epoch_us({value.sql}) - ({clock}))", value.type)
    return value.written(back(f"date_trunc('{unit}', {local(value)})", value), value.type)


def _date_add(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    if len(nodes) != 3:
        raise QueryError("date_add takes a unit, a number and a time")
    unit = _unit(nodes[0], "date_add")
    amount = coerce(self.value(nodes[1], scope), BIGINT)
    value = timed(self.value(nodes[2], scope), "date_add")
    if amount.type != BIGINT:
        raise QueryError(f"date_add needs a whole number, not {amount.type}")
    count = f"CAST({amount.sql}{' * 3' if unit == 'quarter' else ''} AS INTEGER)"
    span = f"to_{'month' if unit == 'quarter' else unit}s({count if unit not in _OF_DAY else amount.sql})"
    if unit == "millisecond":
        span = f"to_microseconds({amount.sql} * 1000)"
    if value.type == DATE:
        if unit in _OF_DAY:
            raise QueryError(f"date_add({unit!r}) needs a timestamp, not a date")
        return combine(f"CAST({value.sql} + {span} AS DATE)", DATE, (amount, value))
    moved = f"({value.sql} + {span})" if unit in _OF_DAY else back(f"({local(value)} + {span})", value)
    if unit == "millisecond" and value.type.precision < 3:
        # Trino keeps the digits of the time
        clock = rounded(local(value.written(moved, value.type)), 6, value.type.precision)
        moved = back(clock, value)
    return combine(moved, value.type, (amount, value))


def _date_diff(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    if len(nodes) != 3:
        raise QueryError("date_diff takes a unit and two times")
    unit = _unit(nodes[0], "date_diff")
    first, last = (timed(self.value(node, scope), "date_diff") for node in nodes[1:])
    if DATE in (first.type, last.type) and first.type == last.type and unit in _OF_DAY:
        raise QueryError(f"date_diff({unit!r}) needs timestamps, not dates")
    if first.type.name != last.type.name:
        wanted = timestamptz(6) if "timestamptz" in (first.type.name, last.type.name) else timestamp(6)
        first, last = coerce(first, wanted), coerce(last, wanted)
    if unit in _OF_DAY:
        ends = [f"frazil_whole_ms(make_timestamp(epoch_us({value.sql})))" for value in (first, last)]
    else:
        # both clocks show the zone of the first
        ends = [local(first), local(last.written(last.sql, first.type) if last.type.is_moment else last)]
        ends = [f"frazil_whole_ms({end})" for end in ends] if first.type.is_moment else ends
    return combine(f"CAST(date_sub('{unit}', {ends[0]}, {ends[1]}) AS BIGINT)", BIGINT, (first, last))


def at_zone(value: Value, zone: Value) -> Value:
    """`value AT TIME ZONE zone`: the same moment, shown in another zone. Raises QueryError for a computed zone."""
    if not zone.constant or zone.type != VARCHAR or not re.fullmatch(r"'[^']*'", zone.sql):
        refuse("a time zone that is not a text in quotes")
    name, _ = zone_of(zone.sql[1:-1])
    if value.type.name == "timestamp":
        # Trino reads the clock in the session's zone, which is UTC
        value = coerce(value, timestamptz(value.type.precision))
    if value.type.name != "timestamptz":
        raise QueryError(f"AT TIME ZONE needs a timestamp, not {value.type}")
    return value.written(value.sql, timestamptz(value.type.precision, name))


def _at_timezone(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    value, zone = arguments(self, "at_timezone", nodes, scope, 2)
    return at_zone(value, zone)


def _with_timezone(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    value, _ = arguments(self, "with_timezone", nodes, scope, 2)
    name, _ = zone_of(literal(nodes[1], "a time zone"))
    if value.type.name != "timestamp":
        raise QueryError(f"with_timezone needs a timestamp without time zone, not {value.type}")
    return value.written(instant(value.sql, name), timestamptz(value.type.precision, name))


def _formatted(patterns: Callable[[str, str], str], name: str) -> Builder:
    def build(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
        value, _ = arguments(self, name, nodes, scope, 2)
        value = timed(value, name)
        if value.type == DATE:
            value = coerce(value, timestamp(0))
        zone = value.type.zone if value.type.name == "timestamptz" else ""
        pattern = patterns(literal(nodes[1], f"a pattern of {name}"), zone)
        return value.written(f"strftime(frazil_whole_ms({local(value)}), {text(pattern)})", VARCHAR)

    return build


def _parsed(patterns: Callable[[str, str], str], name: str, kind: Type) -> Builder:
    def build(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
        value, _ = arguments(self, name, nodes, scope, 2)
        pattern = patterns(literal(nodes[1], f"a pattern of {name}"), "")
        if not re.search("%[Yy]", pattern):
            refuse(f"{name} without a year in its pattern")
        parsed = f"CAST(strptime({coerce(value, VARCHAR).sql}, {text(pattern)}) AS TIMESTAMP)"
        return value.written(instant(parsed, "UTC") if kind.name == "timestamptz" else parsed, kind)

    return build


def _from_iso8601_timestamp(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "from_iso8601_timestamp", nodes, scope, 1)
    if isinstance(nodes[0], exp.Literal):
        found = moment_literal(nodes[0].name)
        return cast(coerce(found, timestamptz(found.type.precision, found.type.zone)), timestamptz(3, found.type.zone))
    return value.written(f"frazil_iso_moment({coerce(value, VARCHAR).sql})", timestamptz(3))


def _from_iso8601_date(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "from_iso8601_date", nodes, scope, 1)
    return cast(coerce(value, VARCHAR), DATE)


def _to_iso8601(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "to_iso8601", nodes, scope, 1)
    value = timed(value, "to_iso8601")
    if value.type == DATE:
        return value.written(f"CAST({value.sql} AS VARCHAR)", VARCHAR)
    clock = local(value)
    fraction = f" || '.' || left(strftime({clock}, '%f'), {value.type.precision})" if value.type.precision else ""
    if value.type.name == "timestamptz" and value.type.zone != "UTC" and offset_minutes(value.type.zone) is None:
        refuse(f"to_iso8601 in {value.type.zone}")
    zone = {"timestamp": ""}.get(value.type.name, "Z" if value.type.zone == "UTC" else value.type.zone)
    return value.written(f"(strftime({clock}, '%Y-%m-%dT%H:%M:%S'){fraction} || {text(zone)})", VARCHAR)


def _to_unixtime(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "to_unixtime", nodes, scope, 1)
    value = timed(value, "to_unixtime")
    moment = coerce(value, timestamp(0)) if value.type == DATE else value
    return value.written(f"(epoch_us({moment.sql}) / 1e6::DOUBLE)", DOUBLE)


def _from_unixtime(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    values = arguments(self, "from_unixtime", nodes, scope, 1, 2)
    seconds = coerce(values[0], DOUBLE)
    if seconds.type != DOUBLE:
        raise QueryError(f"from_unixtime needs a number, not {values[0].type}")
    zone = zone_of(literal(nodes[1], "a time zone"))[0] if len(nodes) == 2 else "UTC"
    return seconds.written(
        f"make_timestamptz(CAST(frazil_round({seconds.sql} * 1000) AS BIGINT) * 1000)", timestamptz(3, zone)
    )


def _date(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "date", nodes, scope, 1)
    return cast(value, DATE)


def _last_day_of_month(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "last_day_of_month", nodes, scope, 1)
    return value.written(f"last_day({local(timed(value, 'last_day_of_month'))})", DATE)


def _now(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    arguments(self, "now", nodes, scope, 0)
    return self.moment()


def _parse_duration(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "parse_duration", nodes, scope, 1)
    return value.written(f"to_microseconds(frazil_duration_ms({coerce(value, VARCHAR).sql}) * 1000)", DAY_INTERVAL)


def _to_milliseconds(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "to_milliseconds", nodes, scope, 1)
    if value.type != DAY_INTERVAL:
        raise QueryError(f"to_milliseconds needs an interval day to second, not {value.type}")
    return value.written(f"CAST(epoch_ms({value.sql}) AS BIGINT)", BIGINT)


DATES: dict[str, Builder] = {
    **{name: _field(name) for name in _FIELDS},
    "at_timezone": _at_timezone,
    "date": _date,
    "date_add": _date_add,
    "date_diff": _date_diff,
    "date_format": _formatted(mysql, "date_format"),
    "date_parse": _parsed(mysql, "date_parse", timestamp(3)),
    "date_trunc": _date_trunc,
    "format_datetime": _formatted(joda, "format_datetime"),
    "from_iso8601_date": _from_iso8601_date,
    "from_iso8601_timestamp": _from_iso8601_timestamp,
    "from_unixtime": _from_unixtime,
    "last_day_of_month": _last_day_of_month,
    "now": _now,
    "parse_datetime": _parsed(joda, "parse_datetime", timestamptz(3)),
    "parse_duration": _parse_duration,
    "to_iso8601": _to_iso8601,
    "to_milliseconds": _to_milliseconds,
    "to_unixtime": _to_unixtime,
    "with_timezone": _with_timezone,
}
