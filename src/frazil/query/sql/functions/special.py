"""Functions whose translation depends on more than the types of their arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.casts import cast
from frazil.query.sql.functions.dates import DATES, Builder, arguments, literal
from frazil.query.sql.functions.json_text import JSON_FUNCTIONS
from frazil.query.sql.functions.lambdas import lambda_of
from frazil.query.sql.functions.signatures import LambdaType
from frazil.query.sql.operators import arithmetic, as_text, compare, joined, row_of, unify
from frazil.query.sql.types import (
    DOUBLE,
    INTEGER,
    VARCHAR,
    Type,
    as_decimal,
    decimal,
    text,
)
from frazil.query.sql.value import Value, coerce, combine, refuse

if TYPE_CHECKING:
    from frazil.query.sql.expressions import Expressions
    from frazil.query.sql.relations import Scope


def _coalesce(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    if len(nodes) < 2:
        raise QueryError("coalesce takes at least 2 arguments")
    values, kind = unify([self.value(node, scope) for node in nodes], "coalesce")
    return combine("coalesce(" + ", ".join(value.sql for value in values) + ")", kind, values)


def _nullif(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    first, second = arguments(self, "nullif", nodes, scope, 2)
    same = compare("=", first, second)
    return combine(f"(CASE WHEN {same.sql} THEN NULL ELSE {first.sql} END)", first.type, (first, second))


def _extreme(name: str) -> Builder:
    def build(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
        values, kind = unify([self.value(node, scope) for node in nodes], name)
        if kind.is_floating:
            values = [value.written(f"frazil_number({value.sql})", kind) for value in values]
        missing = " OR ".join(f"{value.sql} IS NULL" for value in values)
        listed = ", ".join(value.sql for value in values)
        return combine(f"(CASE WHEN {missing} THEN NULL ELSE {name}({listed}) END)", kind, values)

    return build


def _try(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "try", nodes, scope, 1)
    return value.written(f"TRY({value.sql})", value.type)


def _typeof(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "typeof", nodes, scope, 1)
    literal_text = isinstance(nodes[0], exp.Literal) and nodes[0].is_string
    if "varchar" in str(value.type) and not literal_text and value.column is None:
        refuse("typeof of a computed text, whose length is part of its type")
    shown = f"varchar({len(nodes[0].name)})" if literal_text else str(value.type)
    return value.written(text(shown), VARCHAR)


def _concat(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    values = [self.value(node, scope) for node in nodes]
    if len(values) < 2:
        raise QueryError("concat takes at least 2 arguments")
    result = values[0]
    for value in values[1:]:
        result = joined(result, value)
    return result


def _row(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    return row_of([self.value(node, scope) for node in nodes])


def _mod(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    first, second = arguments(self, "mod", nodes, scope, 2)
    return arithmetic("%", first, second)


def _rounding(name: str) -> Builder:
    def build(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
        [value] = arguments(self, name, nodes, scope, 1)
        kind = value.type
        if kind.is_integer:
            return value
        if kind.name == "decimal":
            kept = decimal(kind.precision - kind.scale + min(kind.scale, 1), 0)
            return value.written(f"CAST({name}({value.sql}) AS {kept.duckdb})", kept)
        value = coerce(value, DOUBLE) if kind.name == "unknown" else value
        if not value.type.is_floating:
            raise QueryError(f"{name} needs a number, not {kind}")
        return value.written(f"{name}({value.sql})", value.type)

    return build


def _round(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    values = arguments(self, "round", nodes, scope, 1, 2)
    value, digits = values[0], values[1].sql if len(values) == 2 else "0"
    kind = value.type
    if len(values) == 2 and not values[1].type.is_integer:
        raise QueryError(f"round needs a whole number of digits, not {values[1].type}")
    if kind.name == "decimal":
        if len(values) == 2 and not isinstance(nodes[1], exp.Literal):
            refuse("round of a decimal to a computed number of digits")
        if len(values) == 1:
            kept = decimal(kind.precision - kind.scale + min(kind.scale, 1), 0)
            return value.written(f"CAST({value.sql} AS {kept.duckdb})", kept)
        places = min(int(digits), kind.scale)
        kept = decimal(kind.precision + 1, kind.scale)
        cut = f"CAST({value.sql} AS {decimal(38, places).duckdb})"
        return value.written(f"CAST({cut} AS {kept.duckdb})", kept)
    if kind.is_integer:
        if len(values) == 1:
            return value
        return combine(f"CAST(round({value.sql}, CAST({digits} AS INTEGER)) AS {kind.duckdb})", kind, values)
    value = coerce(value, DOUBLE) if kind.name == "unknown" else value
    if not value.type.is_floating:
        raise QueryError(f"round needs a number, not {kind}")
    sql = (
        f"frazil_round({value.sql})" if len(values) == 1 else f"frazil_round_to({value.sql}, CAST({digits} AS INTEGER))"
    )
    return combine(sql if value.type == DOUBLE else f"CAST({sql} AS FLOAT)", value.type, values)


def _abs(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "abs", nodes, scope, 1)
    if not value.type.is_number:
        raise QueryError(f"abs needs a number, not {value.type}")
    return value.written(f"CAST(abs({value.sql}) AS {value.type.duckdb})", value.type)


def _random(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    values = arguments(self, "random", nodes, scope, 0, 1)
    if values:
        kind = values[0].type
        sql = f"CAST(floor(random() * {values[0].sql}) AS {kind.duckdb})"
        return combine(sql, kind, values, constant=False)
    return Value("random()", DOUBLE)


def _regexp_replace(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    if len(nodes) == 3 and isinstance(nodes[2], exp.Lambda):
        refuse("regexp_replace with a function")
    values = [as_text(value, "regexp_replace") for value in arguments(self, "regexp_replace", nodes, scope, 2, 3)]
    replacement = "''"
    if len(values) == 3:
        written = literal(nodes[2], "a replacement of regexp_replace")
        if "${" in written:
            refuse("named groups in a replacement of regexp_replace")
        parts = re.findall(r"\\.|\$\d|[^\\$]|.", written, re.DOTALL)
        replacement = text("".join(_replacement(part) for part in parts))
    sql = f"regexp_replace({values[0].sql}, {values[1].sql}, {replacement}, 'g')"
    return combine(sql, VARCHAR, values)


def _replacement(part: str) -> str:
    if part[0] == "$" and len(part) == 2:
        return f"\\{part[1]}"
    character = part[1] if part[0] == "\\" and len(part) == 2 else part
    return "\\\\" if character == "\\" else character


def _reduce(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    if len(nodes) != 4:
        raise QueryError("reduce takes an array, a start, and two functions")
    items, start = self.value(nodes[0], scope), self.value(nodes[1], scope)
    if items.type.name != "array":
        raise QueryError(f"reduce needs an array, not {items.type}")
    bindings = {"S": start.type, "T": items.type.args[0]}
    step = lambda_of(self, nodes[2], LambdaType((Type("S"), Type("T")), Type("S")), bindings, scope)
    start = coerce(start, bindings["S"])
    step = lambda_of(self, nodes[2], LambdaType((Type("S"), Type("T")), Type("S")), bindings, scope)
    end = lambda_of(self, nodes[3], LambdaType((Type("S"),), Type("R")), bindings, scope)
    folded = f"list_reduce({items.sql}, {step.sql}, {start.sql})"
    return combine(f"(list_transform([{folded}], {end.sql}))[1]", bindings["R"], (items, start, step, end))


def _map_function(name: str) -> Builder:
    """Functions of a map and of `(key, value) -> ...`."""

    def build(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
        if len(nodes) != 2 or not isinstance(nodes[1], exp.Lambda) or len(nodes[1].expressions) != 2:
            raise QueryError(f"{name} takes a map and a function of key and value")
        entries = self.value(nodes[0], scope)
        if entries.type.name != "map":
            raise QueryError(f"{name} needs a map, not {entries.type}")
        entry = f"v{len(scope.variables)}"
        ends = [Value(f"{entry}.{part}", kind) for part, kind in zip(("key", "value"), entries.type.args, strict=True)]
        names = [parameter.name.lower() for parameter in nodes[1].expressions]
        inside = replace(scope, variables={**scope.variables, **dict(zip(names, ends, strict=True))})
        body = self.value(nodes[1].this, inside)
        key, value = entries.type.args
        if name == "map_filter":
            made = f"list_filter(map_entries({entries.sql}), lambda {entry}: {body.sql})"
        else:
            new = {"key": f"{entry}.key", "value": f"{entry}.value"}
            new["key" if name == "transform_keys" else "value"] = body.sql
            key, value = (body.type, value) if name == "transform_keys" else (key, body.type)
            packed = f"struct_pack(key := {new['key']}, value := {new['value']})"
            made = f"list_transform(map_entries({entries.sql}), lambda {entry}: {packed})"
        return combine(f"map_from_entries({made})", Type("map", (key, value)), (entries, body))

    return build


def _array_sort(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    if len(nodes) == 2:
        refuse("array_sort with a function")
    [value] = arguments(self, "array_sort", nodes, scope, 1)
    if value.type.name != "array":
        raise QueryError(f"array_sort needs an array, not {value.type}")
    return value.written(f"list_sort({value.sql}, 'ASC', 'NULLS LAST')", value.type)


def _array_join(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    values = arguments(self, "array_join", nodes, scope, 2, 3)
    if values[0].type.name != "array":
        raise QueryError(f"array_join needs an array, not {values[0].type}")
    element = cast(Value("e", values[0].type.args[0]), VARCHAR)
    texts = values[0].sql if element.sql == "e" else f"list_transform({values[0].sql}, lambda e: {element.sql})"
    rest = "".join(f", {as_text(value, 'array_join').sql}" for value in values[1:])
    name = "frazil_join" if len(values) == 2 else "frazil_join_nulls"
    return combine(f"{name}({texts}{rest})", VARCHAR, values)


def _grouping(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    values = [self.value(node, scope) for node in nodes]
    listed = ", ".join(value.sql for value in values)
    return Value(f"CAST(grouping({listed}) AS INTEGER)", INTEGER, combine("", INTEGER, values).reads, aggregate=True)


def _sign(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "sign", nodes, scope, 1)
    kind = decimal(1, 0) if value.type.name == "decimal" else value.type
    if not as_decimal(kind).is_number:
        raise QueryError(f"sign needs a number, not {value.type}")
    if kind.is_floating:
        return value.written(f"CAST(frazil_sign({value.sql}) AS {kind.duckdb})", kind)
    return value.written(f"CAST(sign({value.sql}) AS {kind.duckdb})", kind)


def _truncate(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    [value] = arguments(self, "truncate", nodes, scope, 1)
    if value.type.is_floating:
        return value.written(f"trunc({value.sql})", value.type)
    kind = as_decimal(value.type)
    if kind.name != "decimal":
        raise QueryError(f"truncate needs a number, not {value.type}")
    kept = decimal(kind.precision - kind.scale, 0)
    return value.written(f"CAST(trunc({value.sql}) AS {kept.duckdb})", kept)


SPECIAL: dict[str, Builder] = {
    **DATES,
    **JSON_FUNCTIONS,
    "abs": _abs,
    "array_join": _array_join,
    "array_sort": _array_sort,
    "ceil": _rounding("ceil"),
    "ceiling": _rounding("ceil"),
    "coalesce": _coalesce,
    "concat": _concat,
    "floor": _rounding("floor"),
    "greatest": _extreme("greatest"),
    "grouping": _grouping,
    "least": _extreme("least"),
    "map_filter": _map_function("map_filter"),
    "mod": _mod,
    "nullif": _nullif,
    "rand": _random,
    "random": _random,
    "reduce": _reduce,
    "regexp_replace": _regexp_replace,
    "round": _round,
    "row": _row,
    "sign": _sign,
    "transform_keys": _map_function("transform_keys"),
    "transform_values": _map_function("transform_values"),
    "truncate": _truncate,
    "try": _try,
    "typeof": _typeof,
}
