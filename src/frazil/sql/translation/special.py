"""Functions whose translation depends on more than the types of their arguments."""

import re
from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.translation.casts import cast, check_json
from frazil.sql.translation.dates import DATES, literal
from frazil.sql.translation.functions import AGGREGATES, SCALARS, WINDOWS
from frazil.sql.translation.operators import arithmetic, as_text, compare, joined, mean, unify
from frazil.sql.translation.signatures import applied
from frazil.sql.translation.types import BIGINT, DOUBLE, INTEGER, JSON, REAL, VARCHAR, Type, decimal, text
from frazil.sql.translation.value import Value, coerce, combine, refuse

#: Arguments, and their nodes, to the value of the call.
Builder = Callable[[Sequence[Value], Sequence[exp.Expr]], Value]

_PATH = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]|\[\"[^\"]*\"\]|\['[^']*'\])*")


def coalesce(values: Sequence[Value]) -> Value:
    """The first value that is not null."""
    done, kind = unify(values, "coalesce")
    return combine(f"coalesce({', '.join(v.sql for v in done)})", kind, done)


def _nullif(values: Sequence[Value]) -> Value:
    same = compare("=", *values)
    return combine(f"(CASE WHEN {same.sql} THEN NULL ELSE {values[0].sql} END)", values[0].type, values)


def _extreme(name: str) -> Builder:
    def build(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
        done, kind = unify(values, name)
        texts = [f"frazil_number({v.sql})" if kind.is_floating else v.sql for v in done]
        missing = " OR ".join(f"{sql} IS NULL" for sql in texts)
        sql = f"(CASE WHEN {missing} THEN NULL ELSE {name}({', '.join(texts)}) END)"
        return combine(sql, kind, done)

    return build


def _number(value: Value, name: str) -> Value:
    value = coerce(value, DOUBLE) if value.type.name == "unknown" else value
    if not value.type.is_number or value.type.name == "real":
        raise QueryError(f"{name} needs a number, not {value.type}; write a CAST")
    return value


def _rounding(name: str) -> Builder:
    def build(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
        value = _number(values[0], name)
        kind = value.type
        if kind.is_integer:
            return value
        if kind.name == "decimal":
            kept = decimal(kind.precision - kind.scale + min(kind.scale, 1), 0)
            return value.written(f"CAST({name}({value.sql}) AS {kept.duckdb})", kept)
        return value.written(f"{name}({value.sql})", kind)

    return build


def _round(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    value = _number(values[0], "round")
    kind, digits = value.type, nodes[1].name if len(nodes) == 2 else ""
    if len(nodes) == 2 and not digits.isdigit():
        refuse("round to a computed number of digits")
    if kind.name == "decimal":
        places = min(int(digits or 0), kind.scale)
        kept = decimal(kind.precision + 1, kind.scale) if digits else decimal(kind.precision - kind.scale + 1, 0)
        if not digits and not kind.scale:
            kept = kind
        return value.written(f"CAST(CAST({value.sql} AS {decimal(38, places).duckdb}) AS {kept.duckdb})", kept)
    if kind.is_integer:
        return value
    return value.written(f"frazil_round_to({value.sql}, {digits or 0})", kind)


def _abs(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    value = _number(values[0], "abs")
    return value.written(f"CAST(abs({value.sql}) AS {value.type.duckdb})", value.type)


def _random(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    return Value("random()", DOUBLE)


def _typeof(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    if "varchar" in str(values[0].type) and values[0].column is None:
        refuse("typeof of a computed text, whose length is part of its type")
    return values[0].written(text(str(values[0].type)), VARCHAR)


def _regexp_replace(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    texts = [as_text(value, "regexp_replace") for value in values]
    replacement = "''"
    if len(values) == 3:
        written = literal(nodes[2], "a replacement of regexp_replace")
        if "${" in written:
            refuse("named groups in a replacement of regexp_replace")
        parts = re.findall(r"\\.|\$\d|[^\\$]|.", written, re.DOTALL)
        replacement = text("".join(map(_replacement, parts)))
    return combine(f"regexp_replace({texts[0].sql}, {texts[1].sql}, {replacement}, 'g')", VARCHAR, texts)


def _replacement(part: str) -> str:
    if part[0] == "$" and len(part) == 2:
        return f"\\{part[1]}"
    character = part[1] if part[0] == "\\" and len(part) == 2 else part
    return "\\\\" if character == "\\" else character


def _json(name: str) -> Builder:
    def build(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
        path = literal(nodes[1], "a JSON path")
        if not _PATH.fullmatch(path):
            refuse(f'the JSON path {path!r}; there are $.name, [0] and ["name"]')
        kind = JSON if name == "json_extract" else VARCHAR
        return check_json(values[0]).written(f"frazil_{name}({values[0].sql}, {text(path)})", kind)

    return build


def _array_join(values: Sequence[Value], nodes: Sequence[exp.Expr]) -> Value:
    if values[0].type.name != "array":
        raise QueryError(f"array_join needs an array, not {values[0].type}")
    element = cast(Value("e", values[0].type.args[0]), VARCHAR).sql
    rest = [as_text(value, "array_join").sql for value in values[1:]]
    kept = f"list_filter({values[0].sql}, lambda x: x IS NOT NULL)" if len(rest) == 1 else values[0].sql
    element = element if len(rest) == 1 else f"coalesce({element}, {rest[1]})"
    joined_text = f"array_to_string(list_transform({kept}, lambda e: {element}), {rest[0]})"
    return combine(f"CASE WHEN {values[0].sql} IS NOT NULL THEN {joined_text} END", VARCHAR, values)


#: By name: the least and the greatest number of arguments, and the builder.
SPECIAL: dict[str, tuple[int, int, Builder]] = {
    **DATES,
    "abs": (1, 1, _abs),
    "array_join": (2, 3, _array_join),
    "ceil": (1, 1, _rounding("ceil")),
    "ceiling": (1, 1, _rounding("ceil")),
    "coalesce": (2, 999, lambda values, nodes: coalesce(values)),
    "concat": (2, 999, lambda values, nodes: reduce(joined, values)),
    "floor": (1, 1, _rounding("floor")),
    "greatest": (1, 999, _extreme("greatest")),
    "json_extract": (2, 2, _json("json_extract")),
    "json_extract_scalar": (2, 2, _json("json_extract_scalar")),
    "least": (1, 999, _extreme("least")),
    "mod": (2, 2, lambda values, nodes: arithmetic("%", *values)),
    "nullif": (2, 2, lambda values, nodes: _nullif(values)),
    "rand": (0, 0, _random),
    "random": (0, 0, _random),
    "regexp_replace": (2, 3, _regexp_replace),
    "round": (1, 2, _round),
    "try": (1, 1, lambda values, nodes: values[0].written(f"TRY({values[0].sql})", values[0].type)),
    "typeof": (1, 1, _typeof),
}


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
