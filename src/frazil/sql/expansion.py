"""Views of the engine in a statement: their statements in place of their names.

A view hears of the conditions that every row has to fulfil, so that it need not read what the statement leaves out.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sqlglot import exp

from frazil.sql.names import Names
from frazil.sql.statements import split
from frazil.sql.view import Bounds, View

# The type of a literal may round it, to whole seconds at most.
_ROUNDING = timedelta(seconds=1)
_ZONED = re.compile(r"(\d{4}-\d\d-\d\d)([ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)? ?(UTC|Z|[+-]\d\d:\d\d)?")
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}


def expand_views(tree: exp.Expr, names: Names) -> exp.Expr:
    """The statement with the views in place of their names; a table or WITH query of such a name comes first."""
    for table in list(tree.find_all(exp.Table)):
        view = names.own_views.get(table.name.lower())
        if view is None or not isinstance(table.this, exp.Identifier) or _is_with_query(table):
            continue
        written = [part.name for part in table.parts]
        if len(written) <= 3 and names.in_default_schema(written) and not names.exists(written):
            table.replace(_subquery(view, table))
    return tree


def _is_with_query(table: exp.Table) -> bool:
    if len(table.parts) > 1:
        return False
    ancestor = table.parent
    around: set[int] = set()
    while ancestor is not None:
        if isinstance(ancestor, exp.CTE):
            around.add(id(ancestor))
        with_ = ancestor.args.get("with_")
        for cte in with_.expressions if isinstance(with_, exp.With) else ():
            if cte.alias.lower() == table.name.lower() and id(cte) not in around:
                return True
        ancestor = ancestor.parent
    return False


def _subquery(view: View, table: exp.Table) -> exp.Subquery:
    select = _select_of(table)
    columns = [field.name for field in view.schema.fields]
    bounds = _bounds(columns, table, select) if select else Bounds()
    if select and [type(item) for item in select.expressions] == [exp.Star]:
        select.set("expressions", [exp.column(column) for column in columns])
    [body] = split(view.statement(bounds))
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    return exp.Subquery(this=body.parse(), alias=alias.copy(), joins=table.args.get("joins"))


def _select_of(table: exp.Table) -> exp.Select | None:
    """The SELECT that reads the view and nothing else."""
    select = table.parent.parent if isinstance(table.parent, exp.From) else None
    if not isinstance(select, exp.Select) or select.args.get("joins") or select.args.get("laterals"):
        return None
    return None if table.args.get("joins") or table.alias_column_names else select


def _bounds(columns: Sequence[str], table: exp.Table, select: exp.Select) -> Bounds:
    """Bounds of single columns that follow from the conditions which every row has to fulfil."""
    bounds = Bounds()
    where = select.args.get("where")
    for condition in _all_of(where.this) if where else ():
        kind = type(condition)
        if kind not in _MIRRORED:
            continue
        column, value = condition.this, condition.args["expression"]
        if not isinstance(column, exp.Column):
            column, value, kind = value, column, _MIRRORED[kind]
        if not _is_column_of(column, table) or column.name.lower() not in columns:
            continue
        name = column.name.lower()
        if kind is exp.EQ and isinstance(value, exp.Literal) and value.is_string:
            bounds.texts[name] = value.name
        moment = _moment(value)
        if moment is not None:
            if kind in (exp.GT, exp.GTE, exp.EQ):
                bounds.since[name] = moment - _ROUNDING
            if kind in (exp.LT, exp.LTE, exp.EQ):
                bounds.until[name] = moment + _ROUNDING
    return bounds


def _is_column_of(node: exp.Expr, table: exp.Table) -> bool:
    return isinstance(node, exp.Column) and node.table.lower() in ("", table.alias_or_name.lower())


def _all_of(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the terms of AND; BETWEEN as two comparisons."""
    if isinstance(condition, exp.Paren):
        yield from _all_of(condition.this)
    elif isinstance(condition, exp.And):
        yield from _all_of(condition.this)
        yield from _all_of(condition.expression)
    elif isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        yield exp.GTE(this=condition.this.copy(), expression=condition.args["low"].copy())
        yield exp.LTE(this=condition.this.copy(), expression=condition.args["high"].copy())
    else:
        yield condition


def _moment(node: exp.Expr) -> datetime | None:
    """The time of a literal such as `TIMESTAMP '2026-11-28 10:30:00 UTC'`; without a zone it is UTC."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return None
    written = _ZONED.fullmatch(node.this.name)
    if written is None or not node.to.is_type(exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.DATE):
        return None
    try:
        moment = datetime.fromisoformat(
            f"{written[1]}{written[2] or ' 00:00'}{(written[3] or 'Z').replace('UTC', 'Z')}"
        )
    except ValueError:
        return None
    return moment.astimezone(UTC) if 1970 <= moment.year < 9999 else None
