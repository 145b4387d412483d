"""Expressions of Trino to text of the embedded engine, each with its type. A node keeps its value in its `meta`."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from frazil.errors import QueryError
from frazil.sql.translation import casts, dates
from frazil.sql.translation.dialect import VALUE, WRITTEN, written
from frazil.sql.translation.functions import AGGREGATES, SCALARS, WINDOWS
from frazil.sql.translation.literals import date_literal, decimal_literal, interval, literal, moment_literal
from frazil.sql.translation.operators import arithmetic, as_text, compare, joined, negated, unify
from frazil.sql.translation.special import SPECIAL, aggregate, coalesce, scalar
from frazil.sql.translation.twins import distinct
from frazil.sql.translation.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    UNKNOWN,
    VARBINARY,
    VARCHAR,
    Type,
    array,
    text,
    timestamp,
    timestamptz,
)
from frazil.sql.translation.value import OTHER_ENGINE, Value, ambiguous, coerce, combine, local, refuse
from frazil.text.near import did_you_mean
from frazil.text.quoting import identifier

#: Finds the column that a scope's name means.
Resolve = Callable[[exp.Column, Scope | None], Value]
#: The columns of a query inside an expression.
Columns = Callable[[exp.Expr], list[Value]]

_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_COMPARISONS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_COMPARISONS |= {exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM"}


class Expressions:
    """Translates the expressions of one statement; all its `current_timestamp` are the same moment."""

    def __init__(self, resolve: Resolve, columns: Columns) -> None:
        self.resolve = resolve
        self.columns = columns
        now = datetime.now(UTC)
        moment = f"TIMESTAMPTZ '{now.replace(microsecond=now.microsecond // 1000 * 1000).isoformat(' ')}'"
        self.now = Value(moment, timestamptz(3), constant=True)

    def value(self, node: exp.Expr, scope: Scope | None) -> Value:
        """Translate an expression. Raises QueryError for what is unknown, has wrong types or no counterpart."""
        rule = _RULES.get(type(node))
        if rule is None:
            refuse(f"this use of {type(node).__name__.upper()}: {node.sql('trino', comments=False)[:80]}")
        found: Value = rule(self, node, scope)
        node.meta[VALUE] = found
        return found

    def values(self, nodes: Any, scope: Scope | None) -> list[Value]:
        """Translate several."""
        return [self.value(node, scope) for node in nodes]

    def condition(self, node: exp.Expr, scope: Scope | None) -> Value:
        """Translate what has to be true or false. Raises QueryError when it is neither."""
        found = self.value(node, scope)
        if found.type not in (BOOLEAN, UNKNOWN):
            raise QueryError(f"a condition is needed, not a value of type {found.type}: {node.sql('trino')[:80]}")
        return found

    def alike(self, nodes: list[exp.Expr], scope: Scope | None, doing: str) -> tuple[list[Value], Type]:
        """Translate several into the type that is common to all."""
        done, kind = unify(self.values(nodes, scope), doing)
        for node, value in zip(nodes, done, strict=True):
            node.meta[VALUE] = value
        return done, kind

    def order(self, node: exp.Order, scope: Scope | None) -> str:
        """Text of ORDER BY."""
        for item in node.expressions:
            self.value(item.this, scope)
        return " ORDER BY " + ", ".join(map(written, node.expressions))

    def around(self, node: exp.Expr, scope: Scope | None) -> None:
        """Translate the parts of OVER and FILTER around a call, and those of WINDOW."""
        while isinstance(node, exp.Window | exp.Filter):
            if isinstance(node, exp.Filter):
                self.condition(node.expression.this, scope)
            else:
                order, spec = node.args.get("order"), node.args.get("spec")
                if spec is not None and any(isinstance(one, exp.Expr) and not one.is_int for one in spec.args.values()):
                    refuse(f"the window {spec.sql('trino')}")
                ordered = [item.this for item in order.expressions] if order else []
                self.values([*(node.args.get("partition_by") or ()), *ordered], scope)
            node = node.this


def _and_or(self: Expressions, node: Any, scope: Scope | None) -> Value:
    parts = [self.condition(part, scope) for part in node.flatten()]
    word = " AND " if isinstance(node, exp.And) else " OR "
    return combine(f"({word.join(part.sql for part in parts)})", BOOLEAN, parts)


def _not(self: Expressions, node: exp.Not, scope: Scope | None) -> Value:
    inner = self.condition(node.this, scope)
    return inner.written(f"(NOT {inner.sql})", BOOLEAN)


def _is(self: Expressions, node: exp.Is, scope: Scope | None) -> Value:
    if not isinstance(node.expression, exp.Null):
        refuse(f"{node.sql('trino')[:80]}")
    inner = self.value(node.this, scope)
    return inner.written(f"({inner.sql} IS NULL)", BOOLEAN)


def _comparison(self: Expressions, node: Any, scope: Scope | None) -> Value:
    operator, right = _COMPARISONS[type(node)], node.expression
    if not isinstance(right, exp.Any | exp.All):
        return compare(operator, self.value(node.this, scope), self.value(right, scope))
    inner = self.value(right.this, scope)
    left = coerce(self.value(node.this, scope), inner.type)
    if left.type != inner.type or left.type.is_floating or left.type.args:
        refuse(f"{left.type} {operator} {type(right).__name__.upper()} ({inner.type})")
    word = "ANY" if isinstance(right, exp.Any) else "ALL"
    return combine(f"({left.sql} {operator} {word} {inner.sql})", BOOLEAN, (left, inner))


def _between(self: Expressions, node: exp.Between, scope: Scope | None) -> Value:
    value = self.value(node.this, scope)
    low = compare(">=", value, self.value(node.args["low"], scope))
    high = compare("<=", value, self.value(node.args["high"], scope))
    return combine(f"({low.sql} AND {high.sql})", BOOLEAN, (low, high))


def _in(self: Expressions, node: exp.In, scope: Scope | None) -> Value:
    value = self.value(node.this, scope)
    query = node.args.get("query")
    if query is None:
        items = self.values(node.expressions, scope)
        done, kind = unify([value, *items], "IN") if not value.type.is_moment else ([], value.type)
        if done and not (kind.is_floating or kind.args):
            return combine(f"({done[0].sql} IN ({', '.join(item.sql for item in done[1:])}))", BOOLEAN, done)
        same = [compare("=", value, item) for item in items]
        return combine(f"({' OR '.join(part.sql for part in same)})", BOOLEAN, same)
    inner = self.value(query, scope)
    value = coerce(value, inner.type)
    if value.type != inner.type or value.type.is_floating or value.type.args:
        refuse(f"{value.type} IN a query of {inner.type}; write a CAST")
    return combine(f"({value.sql} IN {inner.sql})", BOOLEAN, (value, inner))


def _exists(self: Expressions, node: exp.Exists, scope: Scope | None) -> Value:
    self.columns(node.this.unnest())
    return Value(f"EXISTS ({written(node.this.unnest())})", BOOLEAN)


def _scalar(self: Expressions, node: exp.Expr, scope: Scope | None) -> Value:
    columns = self.columns(node.unnest())
    if len(columns) != 1:
        refuse("a subquery of several columns as a value")
    return Value(f"({written(node.unnest())})", columns[0].type)


def _like(self: Expressions, node: Any, scope: Scope | None) -> Value:
    # without ESCAPE a backslash is a character like any other
    like = node.this if isinstance(node, exp.Escape) else node
    parts = [like.this, like.expression, *([node.expression] if isinstance(node, exp.Escape) else [])]
    texts = [as_text(self.value(part, scope), "LIKE") for part in parts]
    word = "NOT LIKE" if like.args.get("negate") else "LIKE"
    escape = f" ESCAPE {texts[2].sql}" if len(texts) == 3 else ""
    return combine(f"({texts[0].sql} {word} {texts[1].sql}{escape})", BOOLEAN, texts)


def _case(self: Expressions, node: Any, scope: Scope | None) -> Value:
    branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
    subject = node.this if isinstance(node, exp.Case) else None
    default = node.args.get("false" if isinstance(node, exp.If) else "default") or exp.Null()
    if subject is not None:
        wanted = self.value(subject, scope)
        whens = [compare("=", wanted, self.value(branch.this, scope)) for branch in branches]
    else:
        whens = [self.condition(branch.this, scope) for branch in branches]
    results, kind = self.alike([*(branch.args["true"] for branch in branches), default], scope, "CASE")
    pairs = " ".join(f"WHEN {when.sql} THEN {then.sql}" for when, then in zip(whens, results, strict=False))
    return combine(f"(CASE {pairs} ELSE {results[-1].sql} END)", kind, [*whens, *results])


def _dot(self: Expressions, node: exp.Dot, scope: Scope | None) -> Value:
    value, name = self.value(node.this, scope), node.expression.name
    kind = value.type
    found = [i for i, known in enumerate(kind.fields) if known.lower() == name.lower()]
    if len(found) > 1:
        as_written = node.expression.meta.get(WRITTEN)
        exact = [i for i in found if kind.fields[i] == as_written]
        found = exact or ambiguous(name, [kind.fields[i] for i in found])
    if len(found) != 1:
        meant = did_you_mean(name, kind.fields)
        raise QueryError(f"{name} cannot be resolved: there is no field of that name in {kind}{meant}")
    inner = kind.fields[found[0]]
    sql = f"({value.sql}).{identifier(distinct(kind.fields)[found[0]])}"
    return replace(value, sql=sql, type=kind.args[found[0]], path=(*value.path, inner))


def _cast(self: Expressions, node: Any, scope: Scope | None) -> Value:
    kind, inner = casts.type_of(node.to), node.this
    if isinstance(inner, exp.Literal) and inner.is_string and not isinstance(node, exp.TryCast):
        # sqlglot has one node for CAST('...' AS TIMESTAMP) and TIMESTAMP '...'
        if kind.is_moment:
            found = moment_literal(inner.name)
            if kind.name == "timestamptz":
                found = coerce(found, timestamptz(found.type.precision, found.type.zone))
            return casts.cast(found, replace(kind, zone=found.type.zone))
        if kind == DATE:
            return date_literal(inner.name)
        if kind.name == "decimal" and not node.to.expressions and re.fullmatch(r"\d*\.?\d*", inner.name):
            return decimal_literal(inner.name)
    return casts.cast(self.value(inner, scope), kind, safe=isinstance(node, exp.TryCast))


def _bracket(self: Expressions, node: exp.Bracket, scope: Scope | None) -> Value:
    container, key = self.values([node.this, node.expressions[0]], scope)
    kind = container.type
    if kind.name == "map":
        wanted = coerce(key, kind.args[0])
        if wanted.type != kind.args[0]:
            raise QueryError(f"{kind} has no key of type {key.type}")
        return combine(f"frazil_at_key({container.sql}, {wanted.sql})", kind.args[1], (container, wanted))
    if kind.name == "array" and key.type.is_integer:
        return combine(f"frazil_at_index({container.sql}, {key.sql})", kind.args[0], (container, key))
    return refuse(f"an element of {kind} at a {key.type}")


def _array(self: Expressions, node: exp.Array, scope: Scope | None) -> Value:
    if not node.expressions:
        return Value("[]::INTEGER[]", array(UNKNOWN), constant=True)
    items, kind = self.alike(node.expressions, scope, "ARRAY")
    return combine(f"[{', '.join(item.sql for item in items)}]", array(kind), items)


def _trim(self: Expressions, node: exp.Trim, scope: Scope | None) -> Value:
    nodes = [node.this, *([node.expression] if node.expression else [])]
    texts = [as_text(value, "TRIM") for value in self.values(nodes, scope)]
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return combine(f"{name}({texts[0].sql}, {texts[1].sql if nodes[1:] else 'frazil_spaces()'})", VARCHAR, texts)


def _position(self: Expressions, node: exp.StrPosition, scope: Scope | None) -> Value:
    texts = [as_text(value, "POSITION") for value in self.values([node.this, node.args["substr"]], scope)]
    return combine(f"strpos({texts[0].sql}, {texts[1].sql})", BIGINT, texts)


def _extract(self: Expressions, node: exp.Extract, scope: Scope | None) -> Value:
    name = node.this.name.lower()
    if name not in dates.FIELDS or name in ("millisecond", "week_of_year", "day_of_month"):
        refuse(f"EXTRACT({name})")
    return dates.field(name, self.value(node.expression, scope))


def _call(self: Expressions, node: exp.Expr, scope: Scope | None) -> Value:
    core = node
    while not isinstance(core, exp.Anonymous):
        if not isinstance(core, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            refuse(f"{node.sql('trino')[:80]}")
        core = core.this
    name = core.name.lower()
    if name in AGGREGATES or name in WINDOWS or name in ("approx_percentile", "grouping"):
        return _aggregate(self, node, core, scope)
    known = name in SCALARS or name in SPECIAL or name == "now"
    near = "" if known else did_you_mean(name, [*SCALARS, *SPECIAL, *AGGREGATES, *WINDOWS])
    if near:
        raise QueryError(f"the function {name} is not known here{near} If it is one of Trino's, {OTHER_ENGINE}")
    if core is not node:
        raise QueryError(f"{name} is neither an aggregate nor a window function")
    if name == "now" and not core.expressions:
        return self.now
    if not known:
        refuse(f"the function {name}")
    return scalar(name, self.values(core.expressions, scope), core.expressions)


def _aggregate(self: Expressions, node: exp.Expr, core: exp.Anonymous, scope: Scope | None) -> Value:
    """An aggregate or window function with what stands around it."""
    name, args = core.name.lower(), core.expressions
    if name in WINDOWS and node is core:
        raise QueryError(f"{name} is a window function; it needs OVER")
    order, distinct, nulls = "", "", ""
    if isinstance(core.parent, exp.IgnoreNulls | exp.RespectNulls):
        nulls = " IGNORE NULLS" if isinstance(core.parent, exp.IgnoreNulls) else ""
        core.parent.replace(core)
    if args and isinstance(args[-1], exp.Order):
        order, args = self.order(args[-1], scope), [*args[:-1], args[-1].this]
    if args and isinstance(args[0], exp.Distinct):
        distinct, args = "DISTINCT ", [*args[0].expressions, *args[1:]]
    values = [] if args and isinstance(args[0], exp.Star) else self.values(args, scope)
    if node is not core:
        self.around(node, scope)

    def call(inside: str) -> str:
        function, _, rest = inside.partition("(")
        rest = rest if rest.startswith("DISTINCT ") else distinct + rest
        core.meta[VALUE] = Value(f"{function}({rest[:-1]}{order}{nulls})", UNKNOWN)
        return written(node)

    sql, kind = aggregate(name, values, call)
    core.meta.pop(VALUE, None)
    return replace(combine(sql, kind, values, constant=False), aggregate=True)


_RULES: dict[type[exp.Expr], Callable[..., Value]] = {
    exp.Alias: lambda self, node, scope: self.value(node.this, scope),
    exp.And: _and_or,
    exp.Anonymous: _call,
    exp.Array: _array,
    exp.AtTimeZone: lambda self, node, scope: dates.at_zone(self.value(node.this, scope), node.args["zone"]),
    exp.Between: _between,
    exp.Boolean: lambda self, node, scope: Value(str(node.this).upper(), BOOLEAN, constant=True),
    exp.Bracket: _bracket,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Coalesce: lambda self, node, scope: coalesce(self.values([node.this, *node.expressions], scope)),
    exp.Column: lambda self, node, scope: self.resolve(node, scope),
    exp.CurrentDate: lambda self, node, scope: self.now.written(f"CAST({local(self.now)} AS DATE)", DATE),
    exp.CurrentTimestamp: lambda self, node, scope: self.now,
    exp.DPipe: lambda self, node, scope: joined(*self.values([node.this, node.expression], scope)),
    exp.Dot: _dot,
    exp.Escape: _like,
    exp.Exists: _exists,
    exp.Extract: _extract,
    exp.Filter: _call,
    exp.HexString: lambda self, node, scope: Value(f"unhex({text(node.name)})", VARBINARY, constant=True),
    exp.If: _case,
    exp.IgnoreNulls: _call,
    exp.In: _in,
    exp.Interval: lambda self, node, scope: interval(node),
    exp.Is: _is,
    exp.Like: _like,
    exp.Literal: lambda self, node, scope: literal(node),
    exp.Localtimestamp: lambda self, node, scope: self.now.written(local(self.now), timestamp(3)),
    exp.Neg: lambda self, node, scope: negated(self.value(node.this, scope)),
    exp.Not: _not,
    exp.Null: lambda self, node, scope: Value("NULL", UNKNOWN, constant=True),
    exp.Or: _and_or,
    exp.Paren: lambda self, node, scope: self.value(node.this, scope),
    exp.RespectNulls: _call,
    exp.Select: _scalar,
    exp.StrPosition: _position,
    exp.Subquery: _scalar,
    exp.Trim: _trim,
    exp.TryCast: _cast,
    exp.Union: _scalar,
    exp.Window: _call,
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys(
        _ARITHMETIC,
        lambda self, node, scope: arithmetic(
            _ARITHMETIC[type(node)], *self.values([node.this, node.expression], scope)
        ),
    ),
}
