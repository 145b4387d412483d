"""What a scan may leave out: columns, rows and files that a statement cannot need.

Each answer is on the safe side: a scan may return more than needed, because the engine evaluates the whole statement
again on what it gets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import reduce

from pyiceberg.expressions import (
    AlwaysTrue,
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
)
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)
from sqlglot import exp

Value = str | int | bool
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.(?P<fraction>\d{1,6}))?)?))?(?P<zone> ?UTC|Z| ?[+-]\d\d:\d\d)?"
)
# PyIceberg's predicates take a column name, which the types generated from their pydantic fields do not say.
_Predicate = Callable[..., BooleanExpression]
_IS_NULL: _Predicate = IsNull
_NOT_NULL: _Predicate = NotNull
_IN: _Predicate = In
_COMPARISONS: dict[type[exp.Expr], _Predicate] = {
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
# Projections that keep one row for one row, so that a LIMIT above them is a LIMIT on the scan.
ROWWISE = (exp.Star, exp.Column, exp.Identifier, exp.Dot, exp.Alias, exp.Literal, exp.Bracket, exp.Paren)


def needed_columns(tree: exp.Expr, schema: Schema) -> tuple[str, ...]:
    """Columns of `schema` whose name occurs anywhere in the statement, in the order of the schema.

    Of a row type that the statement only takes fields from, just those fields (`callInfo.httpStatusCode`). All
    columns where the statement takes some without naming them: `*`, NATURAL JOIN, aliases by position.
    """
    everything = (
        any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))
        or any(str(join.args.get("method", "")).upper() == "NATURAL" for join in tree.find_all(exp.Join))
        or any(table.alias_column_names for table in tree.find_all(exp.Table))
        or any(tree.find_all(exp.Columns))
    )
    if everything:
        return tuple(field.name for field in schema.fields)
    identifiers = list(tree.find_all(exp.Identifier))
    mentioned = {identifier.name.lower() for identifier in identifiers}
    whole = {identifier.name.lower() for identifier in identifiers if not _is_qualifier(identifier)}
    needed: list[str] = []
    for field in schema.fields:
        name = field.name.lower()
        inner = field.field_type.fields if isinstance(field.field_type, StructType) and name not in whole else ()
        parts = [f"{field.name}.{child.name}" for child in inner if child.name.lower() in mentioned]
        if name in mentioned:
            needed += parts or [field.name]
    return tuple(needed)


def _is_qualifier(identifier: exp.Identifier) -> bool:
    """Whether a name stands before the dot of a column, as in `"callInfo"."tx"`."""
    return isinstance(identifier.parent, exp.Column) and identifier.arg_key in ("table", "db", "catalog")


def row_filter(table: exp.Table, schema: Schema) -> BooleanExpression:
    """The part of the WHERE clause above `table` that compares its top-level columns with literals.

    Only where the table stands alone in its SELECT, so that a name can mean nothing but its column. Strings,
    integers, booleans, dates and timestamps are compared; floating point is not (NaN has no order in Iceberg).
    """
    select = select_of(table)
    where = select.args.get("where") if select else None
    if where is None or table.args.get("sample"):
        return AlwaysTrue()
    names = ColumnNames(table, schema)
    return _condition(where.this, names) or AlwaysTrue()


def is_exact(node: exp.Expr, names: ColumnNames) -> bool:
    """Whether `row_filter` says all that a WHERE clause says."""
    if isinstance(node, exp.Paren):
        return is_exact(node.this, names)
    if isinstance(node, exp.And | exp.Or):
        return is_exact(node.this, names) and is_exact(node.expression, names)
    return _condition(node, names) is not None


def row_limit(table: exp.Table) -> int | None:
    """Rows that a scan needs to return at most, for a SELECT that is nothing but columns, LIMIT and OFFSET."""
    select = select_of(table)
    if select is None or table.args.get("sample"):
        return None
    clauses = {name for name, value in select.args.items() if value}
    if clauses - {"expressions", "from_", "limit", "offset", "with_"} or "limit" not in clauses:
        return None
    if any(not isinstance(node, ROWWISE) for item in select.expressions for node in item.walk()):
        return None
    counts = [row_count(select.args[name]) for name in ("limit", "offset") if name in clauses]
    return None if None in counts else sum(count for count in counts if count is not None)


def row_count(clause: exp.Expr) -> int | None:
    """The number in a LIMIT or OFFSET clause; None when it is not written as one."""
    number = clause.args.get("expression")
    if isinstance(clause, exp.Limit | exp.Offset) and isinstance(number, exp.Literal) and number.this.isdigit():
        return int(number.this)
    return None


def select_of(table: exp.Table) -> exp.Select | None:
    """The SELECT that reads `table` and nothing else."""
    if not isinstance(table.parent, exp.From) or not isinstance(table.parent.parent, exp.Select):
        return None
    select = table.parent.parent
    shared = select.args.get("joins") or select.args.get("laterals") or table.args.get("joins")
    return None if shared or table.alias_column_names else select


class ColumnNames:
    """What the names in the SELECT of one table mean."""

    def __init__(self, table: exp.Table, schema: Schema) -> None:
        self._fields = {field.name.lower(): field for field in schema.fields}
        self._ambiguous = len(self._fields) != len(schema.fields)
        self._alias = table.alias_or_name.lower()

    def column(self, node: exp.Expr) -> NestedField | None:
        """The field that a column expression means, when it can mean nothing else."""
        if self._ambiguous or not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        qualifier = node.table.lower()
        if qualifier and (qualifier != self._alias or qualifier in self._fields or node.args.get("db")):
            return None
        return self._fields.get(node.name.lower())


def _condition(node: exp.Expr, names: ColumnNames) -> BooleanExpression | None:
    """An Iceberg condition that holds at least wherever `node` holds; None where there is none but "always"."""
    if isinstance(node, exp.Paren):
        return _condition(node.this, names)
    if isinstance(node, exp.And):
        parts = [part for part in (_condition(node.this, names), _condition(node.expression, names)) if part]
        return reduce(And, parts) if parts else None
    if isinstance(node, exp.Or):
        left, right = _condition(node.this, names), _condition(node.expression, names)
        return Or(left, right) if left and right else None
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        field = names.column(node.this.this)
        return _NOT_NULL(field.name) if field and field.field_type.is_primitive else None
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        field = names.column(node.this)
        return _IS_NULL(field.name) if field and field.field_type.is_primitive else None
    if type(node) in _COMPARISONS:
        return _comparison(type(node), node.this, node.args["expression"], names)
    if isinstance(node, exp.Between):
        low = _comparison(exp.GTE, node.this, node.args["low"], names)
        high = _comparison(exp.LTE, node.this, node.args["high"], names)
        return And(low, high) if low and high and not node.args.get("symmetric") else None
    if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        field = names.column(node.this)
        values = [_value(item, field.field_type) if field else None for item in node.expressions]
        found = [value for value in values if value is not None]
        return _IN(field.name, found) if field and len(found) == len(values) else None
    return None


def _comparison(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr, names: ColumnNames) -> BooleanExpression | None:
    field, other = names.column(left), right
    if field is None:
        field, other, kind = names.column(right), left, _MIRRORED[kind]
    value = _value(other, field.field_type) if field else None
    return None if field is None or value is None else _COMPARISONS[kind](field.name, value)


def _value(node: exp.Expr, field_type: IcebergType) -> Value | None:
    """A literal as PyIceberg takes it for a column of this type; None where the engine might read it otherwise."""
    if isinstance(field_type, StringType):
        return node.this if isinstance(node, exp.Literal) and node.is_string else None
    if isinstance(field_type, BooleanType):
        return bool(node.this) if isinstance(node, exp.Boolean) else None
    if isinstance(field_type, IntegerType | LongType):
        sign, number = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
        if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdigit():
            return None
        value = sign * int(number.this)
        bits = 31 if isinstance(field_type, IntegerType) else 63
        return value if -(2**bits) <= value < 2**bits else None
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return None
    if isinstance(field_type, DateType):
        return _date(node.this.this) if node.to.is_type(exp.DType.DATE) else None
    if isinstance(field_type, TimestamptzType | TimestampType):
        return _timestamp(node, with_zone=isinstance(field_type, TimestamptzType))
    return None


def _date(text: str) -> str | None:
    try:
        return date.fromisoformat(text).isoformat() if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:
        return None


def _timestamp(node: exp.Cast, *, with_zone: bool) -> str | None:
    text: str = node.this.this
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    zone = (match["zone"] or "").strip()
    if node.to.is_type(exp.DType.DATE):
        if match[2] or zone:
            return None
    elif node.to.is_type(exp.DType.TIMESTAMP):
        digits = node.to.expressions[0].name if node.to.expressions else "6"
        if zone or len(match["fraction"] or "") > int(digits):
            return None
    elif not node.to.is_type(exp.DType.TIMESTAMPTZ) or not with_zone:
        return None
    try:
        when = datetime.fromisoformat(
            f"{match[1]}T{match[2] or '00:00'}{'+00:00' if zone in ('', 'UTC', 'Z') else zone}"
        )
    except ValueError:
        return None
    moment = when.astimezone(UTC).isoformat(timespec="microseconds")
    return moment if with_zone else moment.removesuffix("+00:00")
