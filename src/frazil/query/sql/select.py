"""One SELECT: what it answers with, groups, windows, order and limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.calls import ordered, window
from frazil.query.sql.relations import Column, Relation, Scope, origins
from frazil.query.sql.sources import from_clause
from frazil.query.sql.value import Value, refuse

if TYPE_CHECKING:
    from frazil.query.sql.queries import Queries


def select(queries: Queries, node: exp.Select, outer: Scope | None) -> Relation:
    source = from_clause(queries, node, outer)
    scope = Scope(source.columns, outer)
    text, exact = "", True
    where = node.args.get("where")
    if where is not None:
        condition = queries.expressions.condition(where.this, scope)
        if condition.aggregate:
            raise QueryError("WHERE cannot hold an aggregate or window function; use HAVING or a subquery")
        queries.need([condition])
        exact = queries.tables.narrow(where.this, queries.expressions, origins(source.columns))
        text += f" WHERE {condition.sql}"
    scope = replace(scope, windows=_windows(queries, node, scope))
    names, values = _items(queries, node, scope)
    group = node.args.get("group")
    if group is not None:
        text += " GROUP BY " + _group(queries, group, values, scope)
    if node.args.get("having") is not None:
        having = queries.expressions.condition(node.args["having"].this, scope)
        queries.need([having])
        text += f" HAVING {having.sql}"
    distinct = node.args.get("distinct")
    if distinct is not None:
        if distinct.args.get("on"):
            refuse("DISTINCT ON")
        queries.need(values)
    order = _order(queries, node, names, values, scope)
    limited = _limit(queries, node)
    if limited and exact and not (group or distinct or node.args.get("having") or node.args.get("joins")):
        _limit_scan(queries, node, source, values)
    windows = any(node.find_all(exp.Window)) or limited or _grouping_sets(group)
    columns = tuple(
        Column(
            name,
            value.type,
            f"c{number}",
            reads=value.reads,
            origins=value.column.origins if value.column is not None and not windows else frozenset(),
        )
        for number, (name, value) in enumerate(zip(names, values, strict=True))
    )
    listed = ", ".join(f"{value.sql} AS c{number}" for number, value in enumerate(values))
    kind = "DISTINCT " if distinct is not None else ""
    return Relation(f"SELECT {kind}{listed}{source.sql}{text}{order}{limited}", columns)


def _limit_scan(queries: Queries, node: exp.Select, source: Relation, values: Sequence[Value]) -> None:
    """Tell a table that stands alone in FROM how many of its rows are wanted."""
    table = node.args["from_"].this if node.args.get("from_") is not None else None
    if not isinstance(table, exp.Table) or (len(table.parts) == 1 and table.name.lower() in queries.withs):
        return
    counts = [node.args.get("limit"), node.args.get("offset")]
    if not isinstance(counts[0], exp.Limit) or not isinstance(counts[0].expression, exp.Literal):
        return
    if any(value.aggregate for value in values) or table.args.get("joins"):
        return
    rows = sum(_count(clause.expression, "LIMIT") for clause in counts if clause is not None)
    order, newest = node.args.get("order"), None
    if order is not None:
        first = order.expressions[0]
        value = queries.expressions.values.get(id(first.this))
        position = _position(first.this, len(values), "ORDER BY")
        value = values[position] if position is not None else value
        if value is None or value.column is None or not first.args.get("desc") or first.args.get("nulls_first"):
            return
        newest = value.column
    elif node.args.get("where") is not None:
        return
    queries.tables.limit(source.columns, rows, newest)


def _items(queries: Queries, node: exp.Select, scope: Scope) -> tuple[list[str], list[Value]]:
    names: list[str] = []
    values: list[Value] = []
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            wanted = tuple(part.name.lower() for part in item.parts[:-1]) if isinstance(item, exp.Column) else ()
            shown = [c for c in scope.columns if not c.hidden and (not wanted or c.qualifier[-len(wanted) :] == wanted)]
            if not shown:
                raise QueryError(f"there is no table {'.'.join(wanted)} to take * from" if wanted else "no columns")
            names += [column.name for column in shown]
            values += [Value(column.sql, column.type, column.reads, column=column) for column in shown]
        else:
            values.append(queries.expressions.value(item, scope))
            names.append(_label(item))
    return names, values


def _windows(queries: Queries, node: exp.Select, scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for named in node.args.get("windows") or ():
        text, used = window(queries.expressions, named, replace(scope, windows=found))
        queries.need(used)
        found[named.this.name.lower()] = text
    return found


def _group(queries: Queries, group: exp.Group, outputs: list[Value], scope: Scope) -> str:
    if group.args.get("all") is not None or group.args.get("totals"):
        refuse("GROUP BY ALL or DISTINCT")
    items = [*group.expressions, *(group.args.get("rollup") or []), *(group.args.get("cube") or [])]
    items += group.args.get("grouping_sets") or []
    return ", ".join(_group_item(queries, item, outputs, scope) for item in items)


def _group_item(queries: Queries, item: exp.Expr, outputs: list[Value], scope: Scope) -> str:
    if isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup):
        word = {exp.GroupingSets: "GROUPING SETS", exp.Cube: "CUBE", exp.Rollup: "ROLLUP"}[type(item)]
        return f"{word} ({', '.join(_group_item(queries, part, outputs, scope) for part in item.expressions)})"
    if isinstance(item, exp.Tuple | exp.Paren):
        parts = item.expressions if isinstance(item, exp.Tuple) else [item.this]
        return f"({', '.join(_group_item(queries, part, outputs, scope) for part in parts)})"
    position = _position(item, len(outputs), "GROUP BY")
    value = queries.expressions.value(item, scope) if position is None else outputs[position]
    if value.aggregate:
        raise QueryError("GROUP BY cannot hold an aggregate or window function")
    queries.need([value])
    # a number alone would be a position
    return f"CAST({value.sql} AS {value.type.duckdb})" if value.constant else value.sql


def _order(queries: Queries, node: exp.Expr, names: Sequence[str], values: Sequence[Value], scope: Scope) -> str:
    order = node.args.get("order")
    if order is None:
        return ""
    outputs: dict[str, Value] = {}
    for name, value in zip(names, values, strict=True):
        same = outputs.get(name.lower())
        if same is None or same.sql == value.sql:
            outputs[name.lower()] = value
    inside = replace(scope, outputs={name: value for name, value in outputs.items() if name})
    items = []
    for item in order.expressions:
        position = _position(item.this, len(values), "ORDER BY")
        value = queries.expressions.value(item.this, inside) if position is None else values[position]
        queries.need([value])
        same_text = [i for i, known in enumerate(values) if known.sql == value.sql]
        items.append(ordered(str(same_text[0] + 1) if same_text else value.sql, item))
    return " ORDER BY " + ", ".join(items)


def _limit(queries: Queries, node: exp.Expr) -> str:
    limit, offset, text = node.args.get("limit"), node.args.get("offset"), ""
    if isinstance(limit, exp.Fetch):
        text += f" LIMIT {_count(limit.args.get('count'), 'FETCH FIRST')}"
    elif limit is not None and limit.expression.name.upper() != "ALL":
        text += f" LIMIT {_count(limit.expression, 'LIMIT')}"
    if offset is not None:
        text += f" OFFSET {_count(offset.expression, 'OFFSET')}"
    return text


def ordered_query(queries: Queries, found: Relation, node: exp.Expr, outer: Scope | None) -> Relation:
    """A query that is done, with the ORDER BY and LIMIT after it."""
    limited = _limit(queries, node)
    if not limited and node.args.get("order") is None:
        return found
    alias = queries.alias()
    columns = tuple(replace(column, sql=f"{alias}.{column.sql}") for column in found.columns)
    values = [Value(column.sql, column.type, column.reads, column=column) for column in columns]
    order = _order(queries, node, [column.name for column in columns], values, Scope(columns, outer))
    listed = ", ".join(f"{column.sql} AS c{number}" for number, column in enumerate(columns))
    kept = Relation("", found.columns) if not limited else Relation("", found.columns).without_origins()
    return Relation(f"SELECT {listed} FROM ({found.sql}) AS {alias}{order}{limited}", kept.columns)


def _grouping_sets(group: exp.Group | None) -> bool:
    return group is not None and any(group.find_all(exp.GroupingSets, exp.Cube, exp.Rollup))


def _label(item: exp.Expr) -> str:
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column):
        return item.name
    base = item
    while isinstance(base, exp.Dot):
        base = base.this
    return item.expression.name if isinstance(item, exp.Dot) and isinstance(base, exp.Column) else ""


def _position(item: exp.Expr, columns: int, where: str) -> int | None:
    """The column that a number in GROUP BY or ORDER BY means, from 0. Raises QueryError when there is none."""
    if not isinstance(item, exp.Literal) or item.is_string or not item.this.isdigit():
        return None
    if not 1 <= int(item.this) <= columns:
        raise QueryError(f"{where} {item.this}: the query has {columns} columns")
    return int(item.this) - 1


def _count(node: Any, where: str) -> int:
    if node is None:
        return 1
    if not isinstance(node, exp.Literal) or not node.this.isdigit():
        refuse(f"{where} without a number")
    return int(node.this)
