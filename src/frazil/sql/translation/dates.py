"""Functions of dates and times (Trino documentation, Date and time functions and operators).

A timestamp with time zone is a moment whose zone is part of its type here; what looks at the clock does so in that
zone.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.translation.casts import cast, clock_text, rounded
from frazil.sql.translation.literals import moment_literal, zone_of
from frazil.sql.translation.types import BIGINT, DATE, DOUBLE, VARCHAR, text, timestamp, timestamptz
from frazil.sql.translation.value import Value, back, coerce, combine, local, offset_minutes, refuse

_UNITS = ("millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
_OF_DAY = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000}
FIELDS = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")},
    **{"week_of_year": "week", "day_of_month": "day", "day_of_week": "isodow", "dow": "isodow"},
    **{"day_of_year": "dayofyear", "doy": "dayofyear", "year_of_week": "isoyear", "yow": "isoyear"},
}
# Letters of MySQL's patterns as strftime's.
_PATTERN = {letter: f"%{letter}" for letter in "abdfHIjpSTyYm"} | {"c": "%-m", "e": "%-d", "h": "%I", "i": "%M"}
_PATTERN |= {"k": "%-H", "l": "%-I", "M": "%B", "r": "%I:%M:%S %p", "s": "%S", "T": "%H:%M:%S", "v": "%V", "W": "%A"}
_PATTERN |= {"x": "%G", "%": "%%"}


def literal(node: exp.Expr, what: str) -> str:
    """A text that has to be written out. Raises QueryError when it is computed."""
    if not isinstance(node, exp.Literal) or not node.is_string:
        refuse(f"{what} that is not a text in quotes")
    return node.name


def _timed(value: Value, name: str) -> Value:
    """A date or timestamp; text is no time. Raises QueryError for any other type."""
    if value.type.name == "unknown":
        return coerce(value, timestamp(3))
    if not (value.type.is_moment or value.type == DATE):
        raise QueryError(f"{name} needs a date or a timestamp, not {value.type}; write CAST(... AS timestamp)")
    return value


def _unit(node: exp.Expr, name: str, *times: Value) -> str:
    unit = literal(node, f"a unit of {name}").lower()
    if unit not in _UNITS:
        raise QueryError(f"{name} has no unit {unit!r}; there are {', '.join(_UNITS)}")
    if unit in _OF_DAY and all(time.type == DATE for time in times):
        raise QueryError(f"{name}({unit!r}) needs a timestamp, not a date")
    return unit


def field(name: str, value: Value) -> Value:
    """A field of a time, like `hour`, as bigint. Raises QueryError for a field that the type does not have."""
    value = _timed(value, name)
    if value.type == DATE and name in _OF_DAY:
        raise QueryError(f"a date has no {name}")
    found = f"{FIELDS[name]}({local(value)}){' % 1000' if name == 'millisecond' else ''}"
    return value.written(f"CAST({found} AS BIGINT)", BIGINT)


def _date_trunc(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    value = _timed(values[1], "date_trunc")
    unit = _unit(nodes[0], "date_trunc", value)
    if value.type == DATE:
        return value.written(f"CAST(date_trunc('{unit}', {value.sql}) AS DATE)", DATE)
    if unit in _OF_DAY and offset_minutes(value.type.zone) is None:
        # the repeated hour of a zone is two moments
        clock = f"epoch_us({local(value)}) % {_OF_DAY[unit]}"
        return value.written(f"make_timestamptz(epoch_us({value.sql}) - ({clock}))", value.type)
    return value.written(back(f"date_trunc('{unit}', {local(value)})", value), value.type)


def _date_add(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    value, amount = _timed(values[2], "date_add"), coerce(values[1], BIGINT)
    unit = _unit(nodes[0], "date_add", value)
    if amount.type != BIGINT:
        raise QueryError(f"date_add needs a whole number, not {amount.type}")
    if unit in _OF_DAY:
        moved = f"({value.sql} + to_microseconds({amount.sql} * {_OF_DAY[unit]}))"
        if unit == "millisecond" and value.type.precision < 3:
            # Trino keeps the digits of the time
            moved = back(rounded(local(replace(value, sql=moved)), 6, value.type.precision), value)
        return combine(moved, value.type, (amount, value))
    count = f"CAST({amount.sql} * {3 if unit == 'quarter' else 1} AS INTEGER)"
    clock = f"({local(value)} + to_{'month' if unit == 'quarter' else unit}s({count}))"
    return combine(f"CAST({clock} AS DATE)" if value.type == DATE else back(clock, value), value.type, (amount, value))


def _date_diff(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    first, last = (_timed(value, "date_diff") for value in values[1:])
    unit = _unit(nodes[0], "date_diff", first, last)
    if first.type.name != last.type.name:
        wanted = timestamptz(6) if "timestamptz" in (first.type.name, last.type.name) else timestamp(6)
        first, last = coerce(first, wanted), coerce(last, wanted)
    if unit in _OF_DAY:
        ends = [f"make_timestamp(epoch_us({value.sql}))" for value in (first, last)]
    else:
        # both clocks show the zone of the first
        ends = [local(first), local(replace(last, type=first.type))]
    if first.type.is_moment:
        ends = [f"frazil_whole_ms({end})" for end in ends]
    return combine(f"CAST(date_sub('{unit}', {ends[0]}, {ends[1]}) AS BIGINT)", BIGINT, (first, last))


def at_zone(value: Value, node: exp.Expr) -> Value:
    """`value AT TIME ZONE node`: the same moment, shown in another zone. Raises QueryError for a computed zone."""
    name, _ = zone_of(literal(node, "a time zone"))
    if value.type.name == "timestamp":
        # Trino reads the clock in the session's zone, which is UTC
        value = coerce(value, timestamptz(value.type.precision))
    if value.type.name != "timestamptz":
        raise QueryError(f"AT TIME ZONE needs a timestamp, not {value.type}")
    return value.written(value.sql, timestamptz(value.type.precision, name))


def _pattern(node: exp.Expr, name: str) -> str:
    """The strftime pattern of a MySQL pattern. Raises QueryError for a letter without one."""
    pattern = literal(node, f"a pattern of {name}")

    def one(match: re.Match[str]) -> str:
        return _PATTERN.get(match[1]) or refuse(f"%{match[1]} in the pattern {pattern!r}")

    return text(re.sub(r"%(.)", one, pattern, flags=re.DOTALL))


def _date_format(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    value = _timed(values[0], "date_format")
    value = coerce(value, timestamp(0)) if value.type == DATE else value
    return value.written(f"strftime(frazil_whole_ms({local(value)}), {_pattern(nodes[1], 'date_format')})", VARCHAR)


def _date_parse(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    pattern = _pattern(nodes[1], "date_parse")
    if not re.search("%[Yy]", pattern):
        refuse("date_parse without a year in its pattern")
    written = coerce(values[0], VARCHAR)
    return written.written(f"CAST(strptime({written.sql}, {pattern}) AS TIMESTAMP)", timestamp(3))


def _from_iso8601_timestamp(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    if isinstance(nodes[0], exp.Literal):
        found = moment_literal(nodes[0].name)
        return cast(coerce(found, timestamptz(found.type.precision, found.type.zone)), timestamptz(3, found.type.zone))
    return values[0].written(f"frazil_iso_moment({coerce(values[0], VARCHAR).sql})", timestamptz(3))


def _to_iso8601(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    value = _timed(values[0], "to_iso8601")
    if value.type == DATE:
        return value.written(f"CAST({value.sql} AS VARCHAR)", VARCHAR)
    if value.type.name == "timestamptz" and offset_minutes(value.type.zone) is None:
        refuse(f"to_iso8601 in {value.type.zone}")
    zone = "Z" if value.type.zone == "UTC" else value.type.zone
    return value.written(clock_text(value, "T", zone if value.type.name == "timestamptz" else ""), VARCHAR)


def _to_unixtime(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    value = _timed(values[0], "to_unixtime")
    moment = coerce(value, timestamp(0)) if value.type == DATE else value
    return value.written(f"(epoch_us({moment.sql}) / 1e6::DOUBLE)", DOUBLE)


def _from_unixtime(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    seconds = coerce(values[0], DOUBLE)
    if seconds.type != DOUBLE:
        raise QueryError(f"from_unixtime needs a number, not {values[0].type}")
    zone = zone_of(literal(nodes[1], "a time zone"))[0] if len(nodes) == 2 else "UTC"
    sql = f"make_timestamptz(CAST(frazil_round({seconds.sql} * 1000) AS BIGINT) * 1000)"
    return seconds.written(sql, timestamptz(3, zone))


def _last_day_of_month(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    return values[0].written(f"last_day({local(_timed(values[0], 'last_day_of_month'))})", DATE)


def _field(name: str) -> Callable[[Sequence[Value], Sequence[exp.Expr]], Value]:
    return lambda values, nodes: field(name, values[0])


DATES: dict[str, tuple[int, int, Callable[[Sequence[Value], Sequence[exp.Expr]], Value]]] = {
    **{name: (1, 1, _field(name)) for name in FIELDS},
    "at_timezone": (2, 2, lambda values, nodes: at_zone(values[0], nodes[1])),
    "date": (1, 1, lambda values, nodes: cast(values[0], DATE)),
    "date_add": (3, 3, _date_add),
    "date_diff": (3, 3, _date_diff),
    "date_format": (2, 2, _date_format),
    "date_parse": (2, 2, _date_parse),
    "date_trunc": (2, 2, _date_trunc),
    "from_iso8601_date": (1, 1, lambda values, nodes: cast(values[0], DATE)),
    "from_iso8601_timestamp": (1, 1, _from_iso8601_timestamp),
    "from_unixtime": (1, 2, _from_unixtime),
    "last_day_of_month": (1, 1, _last_day_of_month),
    "to_iso8601": (1, 1, _to_iso8601),
    "to_unixtime": (1, 1, _to_unixtime),
}
