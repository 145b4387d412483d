"""Conditions of a statement as conditions of a scan, which leaves out files and rows by them.

A condition of a scan holds at least wherever that of the statement holds: the engine evaluates the whole statement
again on what the scan gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Any

from pyiceberg.expressions import (
    AlwaysFalse,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotNull,
    Or,
    StartsWith,
)
from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.dialect import VALUE
from frazil.query.sql.types import Type
from frazil.query.sql.value import Value

# PyIceberg's predicates take a column name, which the types generated from their pydantic fields do not say.
Predicate = Callable[..., BooleanExpression]
_IS_NULL: Predicate = IsNull
_NOT_NULL: Predicate = NotNull
_IN: Predicate = In
_STARTS_WITH: Predicate = StartsWith
_COMPARISONS: dict[type[exp.Expr], Predicate] = {
    exp.EQ: EqualTo,
    exp.GT: GreaterThan,
    exp.GTE: GreaterThanOrEqual,
    exp.LT: LessThan,
    exp.LTE: LessThanOrEqual,
}
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class _Literal:
    """A constant of the statement: its type in Trino and its value."""

    type: Type
    value: Any


class Filter:
    """Turns conditions into those of one scan.

    `column` gives the table's column that an expression is, else None; `evaluate` computes the text of a constant.
    """

    def __init__(self, column: Callable[[Value], str | None], evaluate: Callable[[str], Any]) -> None:
        self._name_of = column
        self._evaluate = evaluate

    def of(self, node: exp.Expr) -> BooleanExpression | None:
        """The condition that `node` puts on the scan; None when it puts none."""
        if isinstance(node, exp.Paren):
            return self.of(node.this)
        if isinstance(node, exp.And):
            parts = [part for part in (self.of(node.this), self.of(node.expression)) if part is not None]
            return reduce(And, parts) if parts else None
        if isinstance(node, exp.Or):
            left, right = self.of(node.this), self.of(node.expression)
            return Or(left, right) if left is not None and right is not None else None
        if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
            name = self._column(node.this.this)
            return _NOT_NULL(name) if name else None
        if isinstance(node, exp.Is):
            name = self._column(node.this)
            return _IS_NULL(name) if name else None
        if type(node) in _COMPARISONS:
            return self._comparison(type(node), node.this, node.args["expression"])
        if isinstance(node, exp.Between):
            low = self._comparison(exp.GTE, node.this, node.args["low"])
            high = self._comparison(exp.LTE, node.this, node.args["high"])
            parts = [part for part in (low, high) if part is not None]
            return reduce(And, parts) if parts else None
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            return self._in(node)
        if isinstance(node, exp.Like) and not node.args.get("negate"):
            return self._like(node)
        return None

    def exact(self, node: exp.Expr) -> bool:
        """Whether `of` says all that a condition says."""
        if isinstance(node, exp.Paren):
            return self.exact(node.this)
        if isinstance(node, exp.And | exp.Or):
            return self.exact(node.this) and self.exact(node.expression)
        if isinstance(node, exp.Between):
            ends = [self._comparison(exp.GTE, node.this, node.args[end]) for end in ("low", "high")]
            return self._column(node.this) is not None and None not in ends
        if type(node) in _COMPARISONS:
            named = self._column(node.this) or self._column(node.args["expression"])
            return named is not None and self.of(node) is not None
        return not isinstance(node, exp.Like) and self.of(node) is not None

    def _column(self, node: exp.Expr) -> str | None:
        value = node.meta.get(VALUE)
        return self._name_of(value) if value is not None else None

    def _constant(self, node: exp.Expr) -> _Literal | None:
        value = node.meta.get(VALUE)
        if value is None or not value.constant:
            return None
        try:
            return _Literal(value.type, self._evaluate(value.sql))
        except QueryError:
            # the engine says so too, where the statement gets that far
            return None

    def _comparison(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> BooleanExpression | None:
        constant = self._constant(right)
        if constant is None:
            left, right, kind = right, left, _MIRRORED[kind]
            constant = self._constant(right)
        if constant is None:
            return None
        if constant.value is None:
            return AlwaysFalse()
        name = self._column(left)
        if name is not None:
            value = left.meta[VALUE]
            found = literal(constant.value, constant.type, value.type)
            return None if found is None else _COMPARISONS[kind](name, found)
        return self._day(kind, left, constant)

    def _day(self, kind: type[exp.Expr], node: exp.Expr, constant: _Literal) -> BooleanExpression | None:
        """Conditions on the day of a moment: `date(time) = DATE '...'`, `date_trunc('day', time) >= ...`."""
        inner = _inside(node)
        name = self._column(inner) if inner is not None else None
        if name is None or not isinstance(constant.value, date):
            return None
        value = inner.meta[VALUE]
        if not value.type.is_moment or value.type.zone != "UTC":
            return None
        zoned = value.type.name == "timestamptz"
        moment = constant.value
        if isinstance(moment, datetime):
            day = (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)).replace(
                hour=0, minute=0, second=0, microsecond=0
            )
        else:
            day = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
        try:
            begin, end = _text(day, zoned=zoned), _text(day + _DAY, zoned=zoned)
        except OverflowError:
            return None
        bounds: dict[type[exp.Expr], BooleanExpression] = {
            exp.EQ: And(_COMPARISONS[exp.GTE](name, begin), _COMPARISONS[exp.LT](name, end)),
            exp.GTE: _COMPARISONS[exp.GTE](name, begin),
            exp.GT: _COMPARISONS[exp.GTE](name, begin),
            exp.LT: _COMPARISONS[exp.LT](name, end),
            exp.LTE: _COMPARISONS[exp.LT](name, end),
        }
        return bounds[kind]

    def _in(self, node: exp.In) -> BooleanExpression | None:
        name = self._column(node.this)
        constants = [self._constant(item) for item in node.expressions]
        if name is None or None in constants:
            return None
        kind = node.this.meta[VALUE].type
        wanted = [c for c in constants if c is not None and c.value is not None]
        found = [literal(constant.value, constant.type, kind) for constant in wanted]
        if None in found or not found:
            return None
        return _IN(name, found)

    def _like(self, node: exp.Like) -> BooleanExpression | None:
        name, pattern = self._column(node.this), self._constant(node.expression)
        if name is None or pattern is None or not isinstance(pattern.value, str):
            return None
        kind = node.this.meta[VALUE].type
        prefix = pattern.value.split("%")[0].split("_")[0]
        return _STARTS_WITH(name, prefix) if prefix and kind.name == "varchar" else None


def _inside(node: Any) -> Any:
    """The time whose day an expression is."""
    if isinstance(node, exp.Paren):
        return _inside(node.this)
    if isinstance(node, exp.Cast) and node.to.is_type(exp.DType.DATE):
        return node.this
    if isinstance(node, exp.Anonymous) and node.expressions:
        name = node.name.lower()
        if name == "date" and len(node.expressions) == 1:
            return node.expressions[0]
        if name == "date_trunc" and len(node.expressions) == 2 and node.expressions[0].name.lower() == "day":
            return node.expressions[1]
    return None


def literal(value: Any, given: Type, column: Type) -> Any:
    """A constant as PyIceberg takes it for a column; None where the two may not be compared there."""
    if column.name == "varchar":
        return value if isinstance(value, str) and given.name == "varchar" else None
    if column.name == "boolean":
        return value if isinstance(value, bool) else None
    if column.name in ("integer", "bigint"):
        bits = 31 if column.name == "integer" else 63
        whole = isinstance(value, int) and not isinstance(value, bool) and given.is_integer
        return value if whole and -(2**bits) <= value < 2**bits else None
    if column.name == "date":
        return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else None
    if column.is_moment and isinstance(value, date):
        zoned = column.name == "timestamptz"
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if value.tzinfo is not None and not zoned:
            return None
        return _text(value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC), zoned=zoned)
    return None


def _text(moment: datetime, *, zoned: bool) -> str:
    written = moment.isoformat(timespec="microseconds")
    return written if zoned else written.removesuffix("+00:00")
