"""Function calls: plain ones, aggregates and window functions, with everything that may stand around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.functions.aggregates import AGGREGATES, WINDOWS
from frazil.query.sql.functions.collections import COLLECTIONS
from frazil.query.sql.functions.lambdas import lambda_of
from frazil.query.sql.functions.plain import PLAIN
from frazil.query.sql.functions.signatures import Bindings, LambdaType, Signature, bind, resolved, shown
from frazil.query.sql.functions.special import SPECIAL
from frazil.query.sql.operators import as_text, mean
from frazil.query.sql.relations import Scope
from frazil.query.sql.types import BIGINT, REAL, VARCHAR, Type, decimal
from frazil.query.sql.value import Value, coerce, combine, refuse

if TYPE_CHECKING:
    from frazil.query.sql.expressions import Expressions

_SCALARS = {**PLAIN, **COLLECTIONS}
# A control character that no statement may hold ends the arguments.
_CORE = re.compile("<([a-z_]+)[|]([^\x01]*)\x01>")
_HOLE = re.compile(r"\{(\d+|all|result)\}")


@dataclass
class _Call:
    """A call and what stands around it, outermost last."""

    node: exp.Expr
    name: str
    args: list[exp.Expr]
    distinct: bool = False
    order: list[exp.Expr] = field(default_factory=list)
    where: exp.Expr | None = None
    nulls: str = ""
    window: exp.Window | None = None

    @property
    def modified(self) -> bool:
        return bool(self.distinct or self.order or self.where or self.nulls or self.window)


def call(self: Expressions, node: exp.Expr, scope: Scope) -> Value:
    """Translate a call of a function. Raises QueryError for one that is unknown or called with wrong types."""
    found = _peeled(node)
    if found.name in AGGREGATES or found.name in WINDOWS or found.name in ("approx_percentile", "listagg"):
        return _aggregate(self, found, scope)
    if found.modified:
        raise QueryError(f"{found.name} is neither an aggregate nor a window function")
    special = SPECIAL.get(found.name)
    if special is not None:
        return special(self, found.args, scope)
    if found.name not in _SCALARS:
        refuse(f"the function {found.name}")
    body, kind, values, _ = _by_signature(self, found.name, found.args, scope, _SCALARS[found.name])
    return combine(body, kind, values)


def _peeled(node: exp.Expr) -> _Call:
    window, where, nulls, order = None, None, "", []
    while not isinstance(node, exp.Anonymous | exp.GroupConcat):
        if isinstance(node, exp.Window):
            window = node
        elif isinstance(node, exp.Filter):
            where = node.expression.this
        elif isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            nulls = "IGNORE NULLS" if isinstance(node, exp.IgnoreNulls) else ""
        elif isinstance(node, exp.WithinGroup):
            order = list(node.expression.expressions)
        else:
            refuse(f"{node.sql('trino')[:80]}")
        node = node.this
    if isinstance(node, exp.GroupConcat):
        made = _Call(node, "listagg", [node.this, node.args.get("separator") or exp.Literal.string("")])
    else:
        name = node.this if isinstance(node.this, str) else node.name
        made = _Call(node, name.lower(), list(node.expressions))
    made.window, made.where, made.nulls = window, where, nulls
    made.order = order
    position = 0 if made.name == "listagg" else len(made.args) - 1
    if made.args and isinstance(made.args[position], exp.IgnoreNulls):
        made.nulls, made.args[position] = "IGNORE NULLS", made.args[position].this
    if made.args and isinstance(made.args[position], exp.Order):
        made.order, made.args[position] = list(made.args[position].expressions), made.args[position].this
    if made.args and isinstance(made.args[0], exp.Distinct):
        made.distinct, made.args[:1] = True, made.args[0].expressions
    return made


def _aggregate(self: Expressions, found: _Call, scope: Scope) -> Value:
    name, args = found.name, found.args
    if name in WINDOWS and name not in AGGREGATES and found.window is None:
        raise QueryError(f"{name} is a window function; it needs OVER")
    if name == "count" and (not args or isinstance(args[0], exp.Star)):
        body, kind, values = "<count|*\x01>", BIGINT, []
    elif name == "listagg":
        values = [as_text(self.value(arg, scope), "LISTAGG") for arg in args]
        body, kind = f"<string_agg|{values[0].sql}, {values[1].sql}\x01>", VARCHAR
    elif name == "approx_percentile":
        body, kind, values = _percentile(self, args, scope)
    else:
        body, kind, values = _plain_aggregate(self, name, args, scope)
    parts = list(values)
    suffix = ""
    if found.where is not None:
        condition = self.condition(found.where, scope)
        parts.append(condition)
        suffix += f" FILTER (WHERE {condition.sql})"
    if found.window is not None:
        over, used = window(self, found.window, scope)
        parts += used
        suffix += f" OVER ({over})"
    order, used = ordering(self, found.order, scope)
    parts += used

    def core(match: re.Match[str]) -> str:
        inside = match[2]
        distinct = "DISTINCT " if found.distinct and not inside.startswith("DISTINCT ") else ""
        ordered = f" ORDER BY {order}" if order else ""
        nulls = f" {found.nulls}" if found.nulls else ""
        return f"{match[1]}({distinct}{inside}{ordered}{nulls}){suffix}"

    return replace(combine(_CORE.sub(core, body), kind, parts, constant=False), aggregate=True)


def _plain_aggregate(
    self: Expressions, name: str, args: Sequence[exp.Expr], scope: Scope
) -> tuple[str, Type, list[Value]]:
    if name in ("sum", "avg") and len(args) == 1:
        value = self.value(args[0], scope)
        if value.type.name == "decimal":
            total = Value(f"<sum|{value.sql}\x01>", decimal(38, value.type.scale))
            if name == "sum":
                return total.sql, total.type, [value]
            return mean(total, f"<count|{value.sql}\x01>", value.type).sql, value.type, [value]
        if value.type == REAL:
            return f"CAST(<{name}|CAST({value.sql} AS DOUBLE)\x01> AS FLOAT)", REAL, [value]
    signatures = AGGREGATES.get(name) or WINDOWS[name]
    marked = [replace(s, body=re.sub("<([a-z_]+)[|](.*?)>", "<\\1|\\2\x01>", s.body)) for s in signatures]
    body, kind, values, _ = _by_signature(self, name, args, scope, marked)
    return body, kind, values


def _percentile(self: Expressions, args: Sequence[exp.Expr], scope: Scope) -> tuple[str, Type, list[Value]]:
    """`approx_percentile(x, p)` and with an array of p."""
    if len(args) != 2:
        refuse("approx_percentile with weights")
    value, wanted = (self.value(arg, scope) for arg in args)
    several = wanted.type.name == "array"
    if not value.type.is_number:
        raise QueryError(f"approx_percentile needs a number, not {value.type}")
    if value.type.is_integer:
        value = coerce(value, BIGINT)
    elif value.type.name == "decimal":
        value = coerce(value, REAL)
    kind = value.type
    # of n values in order the one at floor(share * n), counted from 0: seen from the other end, it is a quantile
    rest = (
        "list_transform({0}, lambda q: 1 - CAST(q AS DECIMAL(18,17)))" if several else "1 - CAST({0} AS DECIMAL(18,17))"
    )
    quantile = f"<quantile_disc|-{value.sql}, {rest.format(wanted.sql)}\x01>"
    body = f"list_transform({quantile}, lambda q: -q)" if several else f"(-{quantile})"
    return body, Type("array", (kind,)) if several else kind, [value, wanted]


def _by_signature(
    self: Expressions, name: str, args: Sequence[exp.Expr], scope: Scope, signatures: Sequence[Signature]
) -> tuple[str, Type, list[Value], Bindings]:
    values = [None if isinstance(arg, exp.Lambda) else self.value(arg, scope) for arg in args]
    fitting: list[tuple[int, Signature, Bindings]] = []
    for signature in signatures:
        params = signature.parameters(len(args))
        bindings: Bindings = {}
        if params is None or not all(
            (value is None) == isinstance(param, LambdaType)
            and (value is None or isinstance(param, LambdaType) or bind(param, value.type, bindings))
            for value, param in zip(values, params, strict=True)
        ):
            continue
        changed = sum(
            value is not None and not isinstance(param, LambdaType) and param.name not in (value.type.name, "T", "U")
            for value, param in zip(values, params, strict=True)
        )
        fitting.append((changed, signature, bindings))
    if not fitting:
        given = ", ".join("function" if value is None else str(value.type) for value in values)
        raise QueryError(f"{name}({given}) is not known here; there is {shown(signatures)}. --engine trino may know it")
    _, chosen, bindings = min(fitting, key=lambda fit: fit[0])
    done: list[Value] = []
    for arg, value, param in zip(args, values, chosen.parameters(len(args)) or (), strict=True):
        if isinstance(param, LambdaType):
            done.append(lambda_of(self, arg, param, bindings, scope))
        elif value is not None:
            done.append(coerce(value, resolved(param, bindings, value.type)))
    kind = resolved(chosen.result, bindings)
    texts = {"all": ", ".join(value.sql for value in done), "result": kind.duckdb}
    body = _HOLE.sub(lambda hole: texts.get(hole[1]) or done[int(hole[1])].sql, chosen.body)
    return body, kind, done, bindings


def ordering(self: Expressions, items: Sequence[Any], scope: Scope) -> tuple[str, list[Value]]:
    """Text of ORDER BY and what it reads; nulls come last unless the statement says otherwise."""
    values = [self.value(item.this, scope) for item in items]
    return ", ".join(ordered(value.sql, item) for value, item in zip(values, items, strict=True)), values


def ordered(sql: str, item: Any) -> str:
    """One item of ORDER BY."""
    nulls = "FIRST" if item.args.get("nulls_first") else "LAST"
    return f"{sql} {'DESC' if item.args.get('desc') else 'ASC'} NULLS {nulls}"


def window(self: Expressions, node: exp.Window, scope: Scope) -> tuple[str, list[Value]]:
    """Text of a window and what it reads."""
    parts: list[str] = []
    used: list[Value] = []
    alias = node.args.get("alias")
    if alias is not None:
        named = scope.windows.get(alias.name.lower())
        if named is None:
            raise QueryError(f"there is no window {alias.name}")
        parts.append(named)
    partition = [self.value(item, scope) for item in node.args.get("partition_by") or ()]
    if partition:
        parts.append("PARTITION BY " + ", ".join(value.sql for value in partition))
    order = node.args.get("order")
    if order is not None:
        text, values = ordering(self, order.expressions, scope)
        parts.append(f"ORDER BY {text}")
        used += values
    spec = node.args.get("spec")
    if spec is not None:
        if spec.args.get("exclude"):
            refuse("EXCLUDE in a window")
        ends = [_bound(self, spec.args.get(end), spec.args.get(f"{end}_side"), scope) for end in ("start", "end")]
        frame = f"BETWEEN {ends[0]} AND {ends[1] or 'CURRENT ROW'}"
        parts.append(f"{str(spec.args['kind']).upper()} {frame}")
    return " ".join(parts), [*used, *partition]


def _bound(self: Expressions, bound: Any, side: str | None, scope: Scope) -> str:
    if bound is None:
        return ""
    if isinstance(bound, str):
        return f"{bound} {side or ''}".strip()
    return f"{self.value(bound, scope).sql} {side or ''}".strip()
