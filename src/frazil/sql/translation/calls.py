"""Calls of functions by name: their text in the embedded engine, and their types."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.translation.functions import AGGREGATES, SCALARS, WINDOWS
from frazil.sql.translation.operators import mean
from frazil.sql.translation.signatures import applied
from frazil.sql.translation.special import SPECIAL
from frazil.sql.translation.types import BIGINT, DOUBLE, INTEGER, REAL, Type, decimal
from frazil.sql.translation.value import Value, coerce, combine, refuse


def scalar(name: str, values: list[Value], nodes: list[exp.Expr]) -> Value:
    """Call of a function in SPECIAL or SCALARS. Raises QueryError for a wrong number of arguments or wrong types."""
    if name in SPECIAL:
        least, most, build = SPECIAL[name]
        if not least <= len(values) <= most:
            raise QueryError(f"{name} takes {least if least == most else f'{least} to {most}'} arguments")
        return build(values, nodes)
    body, kind, done = applied(SCALARS[name], values)
    return combine(body, kind, done)


def aggregate(name: str, values: list[Value], call: Callable[[str], str]) -> tuple[str, Type]:
    """Text and type of an aggregate or window function; `call` puts a call into what stands around it."""
    if name == "count" and not values:
        return call("count(*)"), BIGINT
    listed = ", ".join(value.sql for value in values)
    if name == "grouping":
        return f"CAST({call(f'grouping({listed})')} AS INTEGER)", INTEGER
    if name in ("sum", "avg") and len(values) == 1 and values[0].type.name == "decimal":
        total = Value(call(f"sum({listed})"), decimal(38, values[0].type.scale))
        if name == "sum":
            return total.sql, total.type
        return mean(total, call(f"count({listed})"), values[0].type).sql, values[0].type
    if name == "approx_percentile":
        if len(values) != 2 or values[1].type.args or not (values[0].type.is_integer or values[0].type == DOUBLE):
            refuse("approx_percentile but of a whole number or a double, with one share")
        value = values[0] if values[0].type == DOUBLE else coerce(values[0], BIGINT)
        # of n values in order the one at floor(share * n), counted from 0: seen from the other end, it is a quantile
        return f"(-{call(f'quantile_disc(-{value.sql}, 1 - CAST({values[1].sql} AS DECIMAL(18,17)))')})", value.type
    if any(value.type == REAL for value in values) and name in ("sum", "avg", "max", "min"):
        refuse(f"{name} of a real")
    body, kind, _ = applied(AGGREGATES.get(name) or WINDOWS[name], values)
    before, mark, rest = body.partition("\x01")
    core, _, after = rest.rpartition("\x02")
    return f"{before}{call(core)}{after}" if mark else call(body), kind
