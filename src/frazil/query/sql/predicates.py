"""Conditions: comparisons, IN, EXISTS, LIKE, CASE, and what AND, OR and NOT make of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from frazil.query.sql.operators import as_text, compare, together, unify
from frazil.query.sql.relations import Scope
from frazil.query.sql.types import BOOLEAN, UNKNOWN
from frazil.query.sql.value import Value, combine, refuse

if TYPE_CHECKING:
    from frazil.query.sql.expressions import Expressions

Translator = Callable[["Expressions", Any, Scope], Value]

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}


def _and_or(self: Expressions, node: Any, scope: Scope) -> Value:
    word = "AND" if isinstance(node, exp.And) else "OR"
    parts = [self.condition(part, scope) for part in node.flatten()]
    return combine("(" + f" {word} ".join(part.sql for part in parts) + ")", BOOLEAN, parts)


def _not(self: Expressions, node: exp.Not, scope: Scope) -> Value:
    inner = self.condition(node.this, scope)
    return inner.written(f"(NOT {inner.sql})", BOOLEAN)


def _is(self: Expressions, node: exp.Is, scope: Scope) -> Value:
    if not isinstance(node.expression, exp.Null):
        refuse(f"{node.sql('trino')[:80]}")
    inner = self.value(node.this, scope)
    return inner.written(f"({inner.sql} IS NULL)", BOOLEAN)


def _comparison(self: Expressions, node: Any, scope: Scope) -> Value:
    operator, right = _COMPARISONS[type(node)], node.expression
    if isinstance(right, exp.Any | exp.All):
        left = self.value(node.this, scope)
        found = self.queries.subquery(right.this, scope)
        [column] = found.columns if len(found.columns) == 1 else refuse("a comparison with several columns")
        compare(operator, left, Value("x", column.type))
        word = "ANY" if isinstance(right, exp.Any) else "ALL"
        return combine(
            f"({left.sql} {operator} {word} {found.sql})", BOOLEAN, (left, _reading(found.columns)), constant=False
        )
    return compare(operator, self.value(node.this, scope), self.value(right, scope))


def _between(self: Expressions, node: exp.Between, scope: Scope) -> Value:
    value = self.value(node.this, scope)
    low = compare(">=", value, self.value(node.args["low"], scope))
    high = compare("<=", value, self.value(node.args["high"], scope))
    return combine(f"({low.sql} AND {high.sql})", BOOLEAN, (low, high))


def _in(self: Expressions, node: exp.In, scope: Scope) -> Value:
    value = self.value(node.this, scope)
    query = node.args.get("query")
    if query is not None:
        found = self.queries.subquery(query, scope)
        if len(found.columns) != 1:
            refuse("IN with a subquery of several columns")
        left, _, kind = together(value, Value("x", found.columns[0].type), "IN")
        if kind.args:
            refuse(f"IN with a subquery of type {kind}")
        inner = found.sql
        if kind != found.columns[0].type:
            inner = f"(SELECT CAST(c0 AS {kind.duckdb}) FROM {found.sql} AS x)"
        return combine(f"({left.sql} IN {inner})", BOOLEAN, (left, _reading(found.columns)), constant=False)
    if not node.expressions:
        refuse(f"{node.sql('trino')[:80]}")
    listed_values = [self.value(item, scope) for item in node.expressions]
    if value.type.is_moment:
        same = [compare("=", value, item) for item in listed_values]
        return combine("(" + " OR ".join(part.sql for part in same) + ")", BOOLEAN, same)
    items, kind = unify([value, *listed_values], "IN")
    if kind.is_floating or kind.args:
        parts = [compare("=", items[0], item).sql for item in items[1:]]
        return combine("(" + " OR ".join(parts) + ")", BOOLEAN, items)
    listed = ", ".join(item.sql for item in items[1:])
    return combine(f"({items[0].sql} IN ({listed}))", BOOLEAN, items)


def _exists(self: Expressions, node: exp.Exists, scope: Scope) -> Value:
    found = self.queries.subquery(node.this, scope)
    return Value(f"EXISTS {found.sql}", BOOLEAN, _reading(found.columns).reads)


def _scalar(self: Expressions, node: Any, scope: Scope) -> Value:
    found = self.queries.subquery(node, scope)
    if len(found.columns) != 1:
        refuse("a subquery of several columns as a value")
    return Value(found.sql, found.columns[0].type, _reading(found.columns).reads)


def _reading(columns: Any) -> Value:
    return Value("", UNKNOWN, frozenset(read for column in columns for read in column.reads), constant=True)


def _like(self: Expressions, node: Any, scope: Scope) -> Value:
    escape, pattern = None, node
    if isinstance(node, exp.Escape):
        pattern, escape = node.this, as_text(self.value(node.expression, scope), "ESCAPE")
    value = as_text(self.value(pattern.this, scope), "LIKE")
    wanted = as_text(self.value(pattern.expression, scope), "LIKE")
    # without ESCAPE a backslash is a character like any other
    word = "NOT LIKE" if pattern.args.get("negate") else "LIKE"
    sql = f"({value.sql} {word} {wanted.sql}" + (f" ESCAPE {escape.sql})" if escape else ")")
    return combine(sql, BOOLEAN, [value, wanted, *([escape] if escape else [])])


def _case(self: Expressions, node: exp.Case, scope: Scope) -> Value:
    whens: list[Value] = []
    for branch in node.args["ifs"]:
        if node.this is not None:
            whens.append(compare("=", self.value(node.this, scope), self.value(branch.this, scope)))
        else:
            whens.append(self.condition(branch.this, scope))
    default = node.args.get("default")
    results = [self.value(branch.args["true"], scope) for branch in node.args["ifs"]]
    results.append(self.value(default, scope) if default is not None else Value("NULL", UNKNOWN, constant=True))
    results, kind = unify(results, "CASE")
    pairs = " ".join(f"WHEN {when.sql} THEN {then.sql}" for when, then in zip(whens, results, strict=False))
    return combine(f"(CASE {pairs} ELSE {results[-1].sql} END)", kind, [*whens, *results])


def _if(self: Expressions, node: exp.If, scope: Scope) -> Value:
    condition = self.condition(node.this, scope)
    otherwise = node.args.get("false")
    results = [self.value(node.args["true"], scope)]
    results.append(self.value(otherwise, scope) if otherwise is not None else Value("NULL", UNKNOWN, constant=True))
    results, kind = unify(results, "IF")
    sql = f"(CASE WHEN {condition.sql} THEN {results[0].sql} ELSE {results[1].sql} END)"
    return combine(sql, kind, [condition, *results])


PREDICATES: dict[type[exp.Expr], Translator] = {
    exp.And: _and_or,
    exp.Between: _between,
    exp.Case: _case,
    exp.Escape: _like,
    exp.Exists: _exists,
    exp.If: _if,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like,
    exp.Not: _not,
    exp.Or: _and_or,
    exp.Select: _scalar,
    exp.Subquery: _scalar,
    **dict.fromkeys(_COMPARISONS, _comparison),
}
