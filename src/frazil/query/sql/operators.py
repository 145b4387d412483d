"""Arithmetic and comparisons with Trino's types (Trino documentation, Decimal functions and operators)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from frazil.errors import QueryError
from frazil.query.sql.types import (
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    MOST_DIGITS,
    SEVERAL_ZONES,
    VARCHAR,
    Type,
    array,
    as_decimal,
    common_type,
    decimal,
    field_names,
    quoted,
)
from frazil.query.sql.value import Value, back, coerce, combine, local, refuse

_NAMES = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "modulus"}


def compare(operator: str, left: Value, right: Value) -> Value:
    """`left operator right` for `=`, `<>`, `<`, `<=`, `>`, `>=` and `IS [NOT] DISTINCT FROM`.

    Raises QueryError for types that Trino does not compare.
    """
    left, right, kind = together(left, right, operator)
    if kind.args and "DISTINCT" not in operator:
        return _compare_nested(operator, left, right, kind)
    if kind.name == "json" and operator not in ("=", "<>") and "DISTINCT" not in operator:
        raise QueryError(f"values of type {kind} have no order, {operator} cannot be used")
    sql = f"({left.sql} {operator} {right.sql})"
    if kind.is_floating and "DISTINCT" not in operator:
        unequal = "TRUE" if operator == "<>" else "FALSE"
        sql = f"(CASE WHEN isnan({left.sql}) OR isnan({right.sql}) THEN {unequal} ELSE {sql} END)"
    return combine(sql, BOOLEAN, (left, right))


def _compare_nested(operator: str, left: Value, right: Value, kind: Type) -> Value:
    """Equality of rows and of arrays without nested elements; a null inside makes it unknown, as in Trino."""
    if kind.name == "map" and operator not in ("=", "<>"):
        raise QueryError(f"values of type {kind} have no order, {operator} cannot be used")
    simple = not any(arg.args or arg.is_floating for arg in kind.args)
    if operator not in ("=", "<>") or kind.name not in ("row", "array") or not simple:
        refuse(f"{operator} between values of type {kind}")
    if kind.name == "array":
        same = f"frazil_same_arrays({left.sql}, {right.sql})"
    else:
        ends = [f"({left.sql}).{quoted(name)} = ({right.sql}).{quoted(name)}" for name in field_names(kind)]
        same = f"({' AND '.join(ends)})"
    return combine(same if operator == "=" else f"(NOT {same})", BOOLEAN, (left, right))


def together(left: Value, right: Value, doing: str) -> tuple[Value, Value, Type]:
    """Two values in their common type. Raises QueryError when there is none."""
    kind = common_type(left.type, right.type)
    if kind is None:
        raise QueryError(
            f"{left.type} {doing} {right.type}: values of these types cannot be put together; "
            f"write {_as_time(left, right) or _as_time(right, left) or 'a CAST'}"
        )
    return coerce(left, kind), coerce(right, kind), kind


def _as_time(time: Value, written: Value) -> str:
    """A text that stands beside a time, as the literal that was meant; empty for anything else."""
    if written.type.name != "varchar" or not (time.type.is_moment or time.type.name == "date"):
        return ""
    literal = written.sql if re.fullmatch(r"'\d{4}-\d\d-\d\d[^']*'", written.sql) else "'2026-01-31'"
    if time.type.name == "date":
        return f"DATE {literal[:11]}'"
    clock = "" if len(literal) > len("'2026-01-31'") else " 00:00:00"
    return f"TIMESTAMP {literal[:-1]}{clock}'"


def unify(values: list[Value], doing: str) -> tuple[list[Value], Type]:
    """Values in the type that is common to all. Raises QueryError when there is none."""
    kind = values[0].type
    for value in values[1:]:
        found = common_type(kind, value.type)
        if found is None:
            raise QueryError(f"{doing} needs values of one type, not {kind} and {value.type}; write a CAST")
        kind = found
    if kind.name == "timestamptz" and kind.zone == SEVERAL_ZONES:
        refuse(f"{doing} of times in several zones")
    return [coerce(value, kind) for value in values], kind


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """`left operator right` for `+ - * / %`. Raises QueryError for types that Trino does not calculate with."""
    if left.type.is_interval or right.type.is_interval or DATE in (left.type, right.type) or left.type.is_moment:
        return _of_time(operator, left, right)
    if not (left.type.is_number or left.type.name == "unknown") or not (
        right.type.is_number or right.type.name == "unknown"
    ):
        raise QueryError(f"{left.type} {operator} {right.type} is not calculated; write a CAST to a number")
    a, b, kind = together(left, right, operator)
    if kind.is_floating:
        sql = f"frazil_fmod({a.sql}, {b.sql})" if operator == "%" else f"({a.sql} {operator} {b.sql})"
        return combine(sql, kind, (a, b))
    if kind.name == "decimal":
        return _of_decimals(operator, left, right)
    if operator in "/%":
        return combine(f"frazil_int_{_NAMES[operator]}({a.sql}, {b.sql})", kind, (a, b))
    return combine(f"({a.sql} {operator} {b.sql})", kind, (a, b))


def _of_decimals(operator: str, left: Value, right: Value) -> Value:
    a, b = as_decimal(left.type), as_decimal(right.type)
    scale = max(a.scale, b.scale)
    if operator in "+-":
        kind = decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
        ends = [f"CAST({value.sql} AS {kind.duckdb})" for value in (left, right)]
        sql = f"CAST({ends[0]} {operator} {ends[1]} AS {kind.duckdb})"
    elif operator == "*":
        if a.scale + b.scale > MOST_DIGITS:
            raise QueryError(f"{left.type} * {right.type} has more than {MOST_DIGITS} digits after the point")
        kind = decimal(a.precision + b.precision, a.scale + b.scale)
        wide = decimal(max(a.precision, 19), a.scale)
        product = f"CAST({left.sql} AS {wide.duckdb}) * CAST({right.sql} AS {b.duckdb})"
        sql = f"CAST({product} AS {kind.duckdb})"
    elif operator == "/":
        return decimal_quotient(left, right, decimal(a.precision + b.scale + max(0, b.scale - a.scale), scale))
    else:
        kind = decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
        wide = decimal(MOST_DIGITS, scale)
        digits = f"frazil_int_modulus({_unscaled(left, wide)}, {_unscaled(right, wide)})"
        sql = _scaled(digits, kind)
    return combine(sql, kind, (left, right))


def decimal_quotient(left: Value, right: Value, kind: Type) -> Value:
    """Quotient of decimals or integers as the decimal type `kind`, half rounded away from zero."""
    a, b = as_decimal(left.type), as_decimal(right.type)
    shift = kind.scale - a.scale + b.scale
    dividend = f"{_unscaled(left, a)} * {10**shift}::HUGEINT" if shift else _unscaled(left, a)
    quotient = f"frazil_rounded_quotient({dividend}, {_unscaled(right, b)})"
    return combine(_scaled(quotient, kind), kind, (left, right))


def _unscaled(value: Value, kind: Type) -> str:
    """The digits of a decimal as a whole number."""
    if not kind.scale:
        return f"CAST({value.sql} AS HUGEINT)"
    room = decimal(MOST_DIGITS - kind.scale - 1, kind.scale)
    widened = f"CAST({value.sql} AS {decimal(max(kind.precision, kind.scale + 1), kind.scale).duckdb})"
    if kind.precision <= room.precision:
        return f"CAST({widened} * {10**kind.scale}::DECIMAL({kind.scale + 1},0) AS HUGEINT)"
    return f"CAST(replace(CAST({widened} AS VARCHAR), '.', '') AS HUGEINT)"


def _scaled(digits: str, kind: Type) -> str:
    """A whole number as the decimal that has these digits."""
    if not kind.scale:
        return f"CAST({digits} AS {kind.duckdb})"
    whole = f"CAST({digits} AS DECIMAL({MOST_DIGITS - kind.scale},0))"
    step = "0." + "0" * (kind.scale - 1) + "1"
    return f"CAST({whole} * '{step}'::DECIMAL({kind.scale + 1},{kind.scale}) AS {kind.duckdb})"


def _of_time(operator: str, left: Value, right: Value) -> Value:
    if operator == "+" and left.type.is_interval and not right.type.is_interval:
        left, right = right, left
    kinds = (left.type.name, right.type.name)
    if operator in "+-" and right.type.is_interval and (left.type == DATE or left.type.is_moment):
        if left.type == DATE:
            if right.type == DAY_INTERVAL:
                right = right.written(f"frazil_whole_days({right.sql})", right.type)
            return combine(f"CAST({left.sql} {operator} {right.sql} AS DATE)", DATE, (left, right))
        if right.type == DAY_INTERVAL:
            return combine(f"({left.sql} {operator} {right.sql})", _finer(left.type, right), (left, right))
        return combine(back(f"({local(left)} {operator} {right.sql})", left), left.type, (left, right))
    if operator == "-" and left.type.is_moment and right.type.is_moment:
        a, b, _ = together(left, right, operator)
        return combine(f"frazil_between({b.sql}, {a.sql})", DAY_INTERVAL, (a, b))
    if operator == "-" and kinds == ("date", "date"):
        return combine(f"to_days(CAST({left.sql} - {right.sql} AS INTEGER))", DAY_INTERVAL, (left, right))
    if operator in "+-" and left.type == right.type and left.type.is_interval:
        return combine(f"({left.sql} {operator} {right.sql})", left.type, (left, right))
    if operator in "*/" and left.type.is_interval and right.type.is_integer and operator == "*":
        return combine(f"({left.sql} * {right.sql})", left.type, (left, right))
    if operator == "*" and right.type.is_interval and left.type.is_integer:
        return combine(f"({right.sql} * {left.sql})", right.type, (left, right))
    if any(kind.is_interval for kind in (left.type, right.type)) and any(
        kind.is_number for kind in (left.type, right.type)
    ):
        refuse(f"{left.type} {operator} {right.type}")
    raise QueryError(f"{left.type} {operator} {right.type} is not calculated")


def _finer(moment: Type, interval: Value) -> Type:
    """A moment moved by a part of a second has at least the interval's three digits."""
    if moment.precision >= 3:
        return moment
    return Type(moment.name, precision=3, zone=moment.zone)


def joined(left: Value, right: Value) -> Value:
    """`left || right` for texts and arrays. Raises QueryError for other types."""
    if left.type.name == "array" or right.type.name == "array":
        if left.type.name != "array":
            left = left.written(f"[{left.sql}]", array(left.type))
        if right.type.name != "array":
            right = right.written(f"[{right.sql}]", array(right.type))
        a, b, kind = together(left, right, "||")
        return combine(
            f"CASE WHEN {a.sql} IS NULL OR {b.sql} IS NULL THEN NULL ELSE {a.sql} || {b.sql} END", kind, (a, b)
        )
    a, b, kind = together(left, right, "||")
    if kind.name not in ("varchar", "varbinary"):
        raise QueryError(f"{left.type} || {right.type}: only texts, binaries and arrays are joined; write a CAST")
    return combine(f"({a.sql} || {b.sql})", kind, (a, b))


def row_of(items: Sequence[Value]) -> Value:
    """`ROW(...)`."""
    kind = Type("row", tuple(item.type for item in items), ("",) * len(items))
    named = ", ".join(f"{quoted(name)} := {item.sql}" for name, item in zip(field_names(kind), items, strict=True))
    return combine(f"struct_pack({named})", kind, items)


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
    """`total / count` as avg() of decimals gives it, or of floating numbers."""
    if kind == DOUBLE:
        return total.written(f"({total.sql} / {count})", DOUBLE)
    return decimal_quotient(total, total.written(count, Type("bigint")), kind)
