"""Conditions of a statement as conditions of a scan, which leaves out files and rows by them.

A condition of a scan holds at least wherever that of the statement holds: the engine evaluates the whole statement
again on what the scan gives.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Any

from pyiceberg import expressions as ice
from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.translation.dialect import VALUE
from frazil.sql.translation.types import Type
from frazil.sql.translation.value import Value

# PyIceberg's predicates take a column name, which the types generated from their pydantic fields do not say.
Predicate = Callable[..., ice.BooleanExpression]
_IS_NULL: Predicate = ice.IsNull
_NOT_NULL: Predicate = ice.NotNull
_IN: Predicate = ice.In
_STARTS_WITH: Predicate = ice.StartsWith
_COMPARISONS: dict[type[exp.Expr], Predicate] = {exp.EQ: ice.EqualTo, exp.GT: ice.GreaterThan, exp.LT: ice.LessThan}
_COMPARISONS |= {exp.GTE: ice.GreaterThanOrEqual, exp.LTE: ice.LessThanOrEqual}
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {exp.EQ: exp.EQ, exp.GT: exp.LT, exp.LT: exp.GT}
_MIRRORED |= {exp.GTE: exp.LTE, exp.LTE: exp.GTE}

#: A condition of a scan, if there is one, and whether it says all that the statement's says.
Found = tuple[ice.BooleanExpression | None, bool]
_NOTHING: Found = (None, False)


class Filter:
    """Turns conditions into those of one scan.

    `column` gives the table's column that an expression is, else None; `evaluate` computes the text of a constant.
    """

    def __init__(self, column: Callable[[Value], str | None], evaluate: Callable[[str], Any]) -> None:
        self._name_of = column
        self._evaluate = evaluate

    def of(self, node: exp.Expr) -> Found:
        """The condition that `node` puts on the scan."""
        if isinstance(node, exp.Paren):
            return self.of(node.this)
        if isinstance(node, exp.And | exp.Or):
            return _connected(node, self.of(node.this), self.of(node.expression))
        if isinstance(node, exp.Between):
            low = self._comparison(exp.GTE, node.this, node.args["low"])
            return _connected(exp.And(), low, self._comparison(exp.LTE, node.this, node.args["high"]))
        if type(node) in _COMPARISONS:
            return self._comparison(type(node), node.this, node.args["expression"])
        if isinstance(node, exp.Like) and not node.args.get("negate"):
            return self._like(node), False
        found: ice.BooleanExpression | None = None
        if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
            name = self._column(node.this.this)
            found = _NOT_NULL(name) if name else None
        elif isinstance(node, exp.Is):
            name = self._column(node.this)
            found = _IS_NULL(name) if name else None
        elif isinstance(node, exp.In) and node.expressions:
            found = self._in(node)
        return found, found is not None

    def _column(self, node: exp.Expr) -> str | None:
        value = node.meta.get(VALUE)
        return self._name_of(value) if value is not None else None

    def _constant(self, node: exp.Expr) -> tuple[Type, Any] | None:
        """Type in Trino and value of a constant of the statement."""
        value = node.meta.get(VALUE)
        if value is None or not value.constant:
            return None
        try:
            return value.type, self._evaluate(value.sql)
        except QueryError:
            # the engine says so too, where the statement gets that far
            return None

    def _comparison(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Found:
        constant = self._constant(right)
        if constant is None:
            left, right, kind = right, left, _MIRRORED[kind]
            constant = self._constant(right)
        if constant is None:
            return _NOTHING
        if constant[1] is None:
            return ice.AlwaysFalse(), True
        name = self._column(left)
        if name is None:
            return self._day(kind, left, constant[1]), False
        found = literal(constant[1], constant[0], left.meta[VALUE].type)
        return _NOTHING if found is None else (_COMPARISONS[kind](name, found), True)

    def _day(self, kind: type[exp.Expr], node: exp.Expr, value: Any) -> ice.BooleanExpression | None:
        """Conditions on the day of a moment: `date(time) = DATE '...'`, `date_trunc('day', time) >= ...`."""
        inner = _inside(node)
        name = self._column(inner) if inner is not None else None
        if name is None or not isinstance(value, date):
            return None
        of: Type = inner.meta[VALUE].type
        if not of.is_moment or of.zone != "UTC":
            return None
        moment = _utc(value).replace(hour=0, minute=0, second=0, microsecond=0)
        try:
            begin, end = (_text(day, of) for day in (moment, moment + timedelta(days=1)))
        except OverflowError:
            return None
        if kind is exp.EQ:
            return ice.And(_COMPARISONS[exp.GTE](name, begin), _COMPARISONS[exp.LT](name, end))
        return _COMPARISONS[exp.GTE](name, begin) if kind in (exp.GT, exp.GTE) else _COMPARISONS[exp.LT](name, end)

    def _in(self, node: exp.In) -> ice.BooleanExpression | None:
        name = self._column(node.this)
        constants = [self._constant(item) for item in node.expressions]
        if name is None or None in constants:
            return None
        kind = node.this.meta[VALUE].type
        found = [literal(value, given, kind) for given, value in filter(None, constants) if value is not None]
        return _IN(name, found) if found and None not in found else None

    def _like(self, node: exp.Like) -> ice.BooleanExpression | None:
        name, pattern = self._column(node.this), self._constant(node.expression)
        if name is None or pattern is None or not isinstance(pattern[1], str):
            return None
        prefix = pattern[1].split("%")[0].split("_")[0]
        return _STARTS_WITH(name, prefix) if prefix and node.this.meta[VALUE].type.name == "varchar" else None


def _connected(node: exp.Expr, left: Found, right: Found) -> Found:
    parts = [part for part, _ in (left, right) if part is not None]
    if isinstance(node, exp.Or):
        return (ice.Or(*parts), left[1] and right[1]) if len(parts) == 2 else _NOTHING
    return (reduce(ice.And, parts), left[1] and right[1]) if parts else _NOTHING


def _inside(node: Any) -> Any:
    """The time whose day an expression is."""
    if isinstance(node, exp.Paren):
        return _inside(node.this)
    if isinstance(node, exp.Cast) and node.to.is_type(exp.DType.DATE):
        return node.this
    if isinstance(node, exp.Anonymous) and node.name.lower() == "date":
        return node.expressions[0]
    if isinstance(node, exp.Anonymous) and node.name.lower() == "date_trunc":
        return node.expressions[1] if node.expressions[0].name.lower() == "day" else None
    return None


def literal(value: Any, given: Type, column: Type) -> Any:
    """A constant as PyIceberg takes it for a column; None where the two may not be compared there."""
    if column.name in ("varchar", "boolean"):
        return value if given == column else None
    if column.name in ("integer", "bigint"):
        bits = 31 if column.name == "integer" else 63
        return value if given.is_integer and -(2**bits) <= value < 2**bits else None
    if column.name == "date":
        return value.isoformat() if given == column else None
    if column.is_moment and isinstance(value, date):
        zoned = isinstance(value, datetime) and value.tzinfo is not None
        return None if zoned and column.name == "timestamp" else _text(_utc(value), column)
    return None


def _utc(moment: date) -> datetime:
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _text(moment: datetime, kind: Type) -> str:
    written = moment.isoformat(timespec="microseconds")
    return written if kind.name == "timestamptz" else written.removesuffix("+00:00")
