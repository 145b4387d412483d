"""Arithmetic and comparisons with Trino's types (Trino documentation, Decimal functions and operators)."""

import re
from collections.abc import Sequence
from dataclasses import replace

from frazil.errors import QueryError
from frazil.sql.translation.types import (
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    MOST_DIGITS,
    VARCHAR,
    Type,
    array,
    as_decimal,
    common_type,
    decimal,
)
from frazil.sql.translation.value import Value, back, coerce, combine, local, refuse


def unify(values: Sequence[Value], doing: str) -> tuple[list[Value], Type]:
    """Values in the type that is common to all. Raises QueryError when there is none."""
    kind = values[0].type
    for value in values[1:]:
        found = common_type(kind, value.type)
        if found is None and kind.is_moment and value.type.is_moment:
            refuse(f"{doing} of times in several zones")
        if found is None:
            meant = _as_time(values[0], value) or _as_time(value, values[0]) or "a CAST"
            raise QueryError(
                f"{kind} {doing} {value.type}: values of these types cannot be put together; write {meant}"
            )
        kind = found
    return [coerce(value, kind) for value in values], kind


def _as_time(time: Value, written: Value) -> str:
    """A text that stands beside a time, as the literal that was meant; empty for anything else."""
    if written.type != VARCHAR or not (time.type.is_moment or time.type == DATE):
        return ""
    literal = written.sql if re.fullmatch(r"'\d{4}-\d\d-\d\d[^']*'", written.sql) else "'2026-01-31'"
    if time.type == DATE:
        return f"DATE {literal[:11]}'"
    clock = "" if len(literal) > len("'2026-01-31'") else " 00:00:00"
    return f"TIMESTAMP {literal[:-1]}{clock}'"


def compare(operator: str, left: Value, right: Value) -> Value:
    """`left operator right`. Raises QueryError for types that Trino does not compare."""
    if left.type.is_moment and right.type.is_moment:
        # in whatever zones they are shown
        left, right = (replace(value, type=replace(value.type, zone="UTC")) for value in (left, right))
    (left, right), kind = unify([left, right], operator)
    if kind.args or kind.name == "json":
        refuse(f"{operator} between values of type {kind}")
    sql = f"({left.sql} {operator} {right.sql})"
    if kind.is_floating and "DISTINCT" not in operator:
        unequal = "TRUE" if operator == "<>" else "FALSE"
        sql = f"(CASE WHEN isnan({left.sql}) OR isnan({right.sql}) THEN {unequal} ELSE {sql} END)"
    return combine(sql, BOOLEAN, (left, right))


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """`left operator right` for `+ - * / %`. Raises QueryError for types that Trino does not calculate with."""
    if any(kind.is_interval or kind.is_moment or kind == DATE for kind in (left.type, right.type)):
        return _of_time(operator, left, right)
    if not all(kind.is_number or kind.name == "unknown" for kind in (left.type, right.type)):
        raise QueryError(f"{left.type} {operator} {right.type} is not calculated; write a CAST to a number")
    (a, b), kind = unify([left, right], operator)
    if kind.name == "decimal":
        return _of_decimals(operator, left, right)
    if operator in "/%" and kind.is_integer:
        return combine(f"frazil_int_{'divide' if operator == '/' else 'modulus'}({a.sql}, {b.sql})", kind, (a, b))
    if operator == "%":
        return combine(f"frazil_fmod({a.sql}, {b.sql})", kind, (a, b))
    return combine(f"({a.sql} {operator} {b.sql})", kind, (a, b))


def _of_decimals(operator: str, left: Value, right: Value) -> Value:
    a, b = as_decimal(left.type), as_decimal(right.type)
    scale = max(a.scale, b.scale)
    if operator == "/":
        return decimal_quotient(left, right, decimal(a.precision + b.scale + max(0, b.scale - a.scale), scale))
    if operator == "%" or (operator == "*" and a.scale + b.scale > MOST_DIGITS):
        refuse(f"{left.type} {operator} {right.type}")
    if operator == "*":
        kind = decimal(a.precision + b.precision, a.scale + b.scale)
        wide = decimal(max(a.precision, 19), a.scale)
        sql = f"CAST({left.sql} AS {wide.duckdb}) * CAST({right.sql} AS {b.duckdb})"
    else:
        kind = decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
        sql = f"CAST({left.sql} AS {kind.duckdb}) {operator} CAST({right.sql} AS {kind.duckdb})"
    return combine(f"CAST({sql} AS {kind.duckdb})", kind, (left, right))


def decimal_quotient(left: Value, right: Value, kind: Type) -> Value:
    """Quotient of decimals or integers as the decimal type `kind`, half rounded away from zero."""
    a, b = as_decimal(left.type), as_decimal(right.type)
    dividend = f"{_unscaled(left, a)} * {10 ** (kind.scale - a.scale + b.scale)}::HUGEINT"
    digits = f"frazil_rounded_quotient({dividend}, {_unscaled(right, b)})"
    if kind.scale:
        step = f"'{10**-kind.scale:.{kind.scale}f}'::DECIMAL({kind.scale + 1},{kind.scale})"
        digits = f"CAST({digits} AS DECIMAL({MOST_DIGITS - kind.scale},0)) * {step}"
    return combine(f"CAST({digits} AS {kind.duckdb})", kind, (left, right))


def _unscaled(value: Value, kind: Type) -> str:
    """The digits of a decimal as a whole number."""
    if not kind.scale:
        return f"CAST({value.sql} AS HUGEINT)"
    widened = f"CAST({value.sql} AS {decimal(max(kind.precision, kind.scale + 1), kind.scale).duckdb})"
    return f"CAST(replace(CAST({widened} AS VARCHAR), '.', '') AS HUGEINT)"


def _of_time(operator: str, left: Value, right: Value) -> Value:
    if operator == "+" and left.type.is_interval and not right.type.is_interval:
        left, right = right, left
    both, kind = (left, right), left.type
    if operator in "+-" and right.type.is_interval and kind == DATE:
        moved = right.sql if right.type != DAY_INTERVAL else f"frazil_whole_days({right.sql})"
        return combine(f"CAST({left.sql} {operator} {moved} AS DATE)", DATE, both)
    if operator in "+-" and right.type.is_interval and kind.is_moment:
        if right.type != DAY_INTERVAL:
            return combine(back(f"({local(left)} {operator} {right.sql})", left), kind, both)
        # a part of a second needs at least the interval's three digits
        finer = Type(kind.name, precision=max(3, kind.precision), zone=kind.zone)
        return combine(f"({left.sql} {operator} {right.sql})", finer, both)
    if operator == "-" and kind.is_moment and right.type.is_moment:
        return combine(f"to_microseconds(epoch_us({left.sql}) - epoch_us({right.sql}))", DAY_INTERVAL, both)
    if operator == "-" and kind == right.type == DATE:
        return combine(f"to_days(CAST({left.sql} - {right.sql} AS INTEGER))", DAY_INTERVAL, both)
    if operator in "+-" and kind == right.type and kind.is_interval:
        return combine(f"({left.sql} {operator} {right.sql})", kind, both)
    if operator == "*" and kind.is_interval and right.type.is_integer:
        return combine(f"({left.sql} * {right.sql})", kind, both)
    if any(one.is_interval for one in (kind, right.type)) and any(one.is_number for one in (kind, right.type)):
        refuse(f"{left.type} {operator} {right.type}")
    raise QueryError(f"{left.type} {operator} {right.type} is not calculated")


def joined(left: Value, right: Value) -> Value:
    """`left || right` for texts and arrays. Raises QueryError for other types."""
    if "array" in (left.type.name, right.type.name):
        left, right = (v if v.type.name == "array" else v.written(f"[{v.sql}]", array(v.type)) for v in (left, right))
    elif not {left.type.name, right.type.name} - {"unknown"} <= {"varchar", "varbinary"}:
        raise QueryError(f"{left.type} || {right.type}: only texts, binaries and arrays are joined; write a CAST")
    (a, b), kind = unify([left, right], "||")
    sql = f"({a.sql} || {b.sql})"
    if kind.name == "array":
        sql = f"CASE WHEN {a.sql} IS NULL OR {b.sql} IS NULL THEN NULL ELSE {sql} END"
    return combine(sql, kind, (a, b))


def negated(value: Value) -> Value:
    """`-value`. Raises QueryError for what is no number and no interval."""
    if not (value.type.is_number or value.type.is_interval):
        raise QueryError(f"-{value.type} is not calculated")
    return value.written(f"(-{value.sql})", value.type)


def as_text(value: Value, doing: str) -> Value:
    """A value that has to be a text. Raises QueryError when it is not."""
    if value.type.name not in ("varchar", "unknown"):
        raise QueryError(f"{doing} needs a text, not {value.type}; write a CAST")
    return coerce(value, VARCHAR)


def mean(total: Value, count: str, kind: Type) -> Value:
    """`total / count` as avg() of decimals gives it."""
    return decimal_quotient(total, total.written(count, Type("bigint")), kind)
