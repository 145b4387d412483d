"""Questions as views of the embedded engine: `SELECT * FROM who_deleted`.

A view has all rows. Conditions that a statement puts on its columns `time` and `bucket` reach the tables,
so that only the files are read that can hold such rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pyiceberg.expressions import (
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
    LiteralPredicate,
)
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType, TimestamptzType
from sqlglot import exp

from frazil.query.pushdown import row_filter, select_of
from frazil.query.questions.bind import statement
from frazil.query.questions.question import Question, Value
from frazil.query.statements import split

_TIME = NestedField(1, "time", TimestamptzType())
_BUCKET = NestedField(2, "bucket", StringType())
_TICK = timedelta(microseconds=1)


def subquery(question: Question, table: exp.Table) -> exp.Subquery:
    """What stands for a view where a statement names it as `table`."""
    [body] = split(statement(question, _values(question, table)))
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    return exp.Subquery(this=body.parse(), alias=alias.copy())


def name_columns(question: Question, table: exp.Table) -> None:
    """Replace the `*` of a SELECT that reads the view alone by its columns, so that only these are read."""
    select = select_of(table)
    if select is not None and [type(item) for item in select.expressions] == [exp.Star]:
        select.set("expressions", [exp.column(column) for column in question.columns])


def _values(question: Question, table: exp.Table) -> dict[str, Value]:
    """Parameters that follow from what the statement asks of the view's columns."""
    columns = [field for field in (_TIME, _BUCKET) if field.name in question.columns]
    values: dict[str, Value] = {}
    for predicate in _all_of(row_filter(table, Schema(*columns))):
        term, literal = getattr(predicate.term, "name", ""), predicate.literal.value
        if term == "bucket" and isinstance(predicate, EqualTo):
            values["bucket"] = str(literal)
        elif term == "time":
            moment = datetime.fromisoformat(str(literal)).astimezone(UTC)
            if isinstance(predicate, GreaterThan | GreaterThanOrEqual | EqualTo):
                values["since"] = moment
            if isinstance(predicate, LessThan | LessThanOrEqual | EqualTo):
                values["until"] = moment + _TICK
    return values


def _all_of(condition: BooleanExpression) -> Iterator[LiteralPredicate]:
    """Comparisons that every wanted row fulfils."""
    if isinstance(condition, And):
        yield from _all_of(condition.left)
        yield from _all_of(condition.right)
    elif isinstance(condition, LiteralPredicate):
        yield condition
