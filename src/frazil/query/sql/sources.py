"""FROM: tables, joins, subqueries, and the elements of arrays and maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.operators import unify
from frazil.query.sql.relations import Column, Relation, Scope, origins
from frazil.query.sql.types import Type, quoted
from frazil.query.sql.value import Reading, Value, refuse

if TYPE_CHECKING:
    from frazil.query.sql.queries import Queries


def from_clause(queries: Queries, node: exp.Select, outer: Scope | None) -> Relation:
    first = node.args.get("from_")
    if first is None:
        return Relation("", ())
    found = _source(queries, first.this, outer, ())
    found = _joins(queries, found, node.args.get("joins") or (), outer)
    return Relation(f" FROM {found.sql}", found.columns)


def _joins(queries: Queries, found: Relation, joins: Sequence[exp.Join], outer: Scope | None) -> Relation:
    for join in joins:
        found = _join(queries, found, join, outer)
    return found


def _join(queries: Queries, left: Relation, join: exp.Join, outer: Scope | None) -> Relation:
    side, kind = join.side.upper(), join.kind.upper()
    method = str(join.args.get("method") or "").upper()
    if kind not in ("", "CROSS", "INNER", "OUTER") or method not in ("", "NATURAL"):
        refuse(f"{method or kind} JOIN")
    right = _source(queries, join.this, outer, left.columns)
    inner = not side
    if side in ("RIGHT", "FULL"):
        left = left.without_origins()
    if side in ("LEFT", "FULL"):
        plain_right, right = right, right.without_origins()
    else:
        plain_right = right
    using = [identifier.name for identifier in join.args.get("using") or ()]
    if method == "NATURAL":
        theirs = {column.name.lower() for column in right.columns if not column.hidden}
        using = [column.name for column in left.columns if column.name.lower() in theirs and not column.hidden]
    if using:
        return _using(queries, left, right, side, using)
    on = join.args.get("on")
    columns = (*left.columns, *right.columns)
    if on is None:
        word = "CROSS JOIN" if inner else f"{side} JOIN"
        return Relation(f"{left.sql} {word} {right.sql}" + ("" if inner else " ON TRUE"), columns)
    condition = queries.expressions.condition(on, Scope((*left.columns, *plain_right.columns), outer))
    queries.need([condition])
    if inner or side == "LEFT":
        reachable = origins(plain_right.columns) | (origins(left.columns) if inner else frozenset())
        queries.tables.narrow(on, queries.expressions, reachable)
    word = f"{side} JOIN" if side else "JOIN"
    return Relation(f"{left.sql} {word} {right.sql} ON {condition.sql}", columns)


def _using(queries: Queries, left: Relation, right: Relation, side: str, names: Sequence[str]) -> Relation:
    shared, conditions, taken = [], [], set()
    for name in names:
        ends = []
        for relation in (left, right):
            found = Scope(relation.columns).resolve([name])
            if found is None:
                raise QueryError(f"USING: there is no column {name} on both sides")
            ends.append(found[0])
        a, b = ends
        taken |= {id(a), id(b)}
        values, kind = unify([Value(end.sql, end.type, end.reads) for end in ends], "USING")
        queries.need(values)
        conditions.append(f"{values[0].sql} = {values[1].sql}")
        sql = {"": values[0].sql, "LEFT": values[0].sql, "RIGHT": values[1].sql}.get(
            side, f"coalesce({values[0].sql}, {values[1].sql})"
        )
        origins = a.origins | b.origins if not side and a.type == b.type else frozenset[Reading]()
        shared.append(Column(name, kind, sql, reads=a.reads | b.reads, origins=origins))
    rest = [column for column in (*left.columns, *right.columns) if id(column) not in taken]
    word = f"{side} JOIN" if side else "JOIN"
    return Relation(f"{left.sql} {word} {right.sql} ON {' AND '.join(conditions)}", (*shared, *rest))


def _source(queries: Queries, node: Any, outer: Scope | None, before: Sequence[Column]) -> Relation:
    """A table, query or array in FROM; `before` are the columns to its left, for LATERAL and UNNEST."""
    if isinstance(node, exp.Table):
        found = _table(queries, node)
    elif isinstance(node, exp.Unnest):
        found = _unnest(queries, node, Scope(tuple(before), outer))
    elif isinstance(node, exp.Lateral):
        if not isinstance(node.this, exp.Subquery):
            refuse(f"{node.sql('trino')[:80]}")
        found = _derived(queries, node, node.this.this, Scope(tuple(before), outer), "LATERAL ")
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
        found = _joins(queries, _source(queries, node.this, outer, before), node.this.args.get("joins") or (), outer)
        found = Relation(f"({found.sql})", found.columns)
    elif isinstance(node, exp.Subquery | exp.Values):
        inner = node.this if isinstance(node, exp.Subquery) and bare(node) else node
        found = _derived(queries, node, inner, outer, "")
    elif isinstance(node, exp.Paren):
        return _source(queries, node.this, outer, before)
    else:
        refuse(f"{node.sql('trino')[:80]} in FROM")
    nested = node.args.get("joins") if not isinstance(node.this, exp.Table) else None
    if nested:
        found = _joins(queries, found, nested, outer)
        found = Relation(f"({found.sql})", found.columns)
    return found


def _derived(queries: Queries, node: Any, inner: exp.Expr, outer: Scope | None, word: str) -> Relation:
    found = queries.query(inner, outer)
    alias = queries.alias()
    columns = tuple(replace(column, sql=f"{alias}.{column.sql}") for column in found.columns)
    made = Relation(f"{word}({found.sql}) AS {alias}", columns)
    return made.renamed(node.alias, node.alias_column_names) if node.alias else made


def _table(queries: Queries, node: exp.Table) -> Relation:
    known = queries.withs.get(node.name.lower()) if len(node.parts) == 1 and not node.args.get("version") else None
    if known is not None:
        found = queries.use(known, node.name)
        name = node.alias or node.name
        return found.renamed(name, node.alias_column_names)
    found = queries.tables.read(node, queries.alias(), queries.expressions)
    if node.alias:
        return found.renamed(node.alias, node.alias_column_names)
    qualified = queries.tables.qualified(node)
    return Relation(found.sql, tuple(replace(column, qualifier=qualified) for column in found.columns))


def _unnest(queries: Queries, node: exp.Unnest, scope: Scope) -> Relation:
    alias = queries.alias()
    parts: list[tuple[str, Type]] = []
    lengths: list[str] = []
    reads = frozenset[Reading]()
    for argument in node.expressions:
        value = queries.expressions.value(argument, scope)
        reads |= value.reads
        if value.type.name == "map":
            keys, values = f"map_keys({value.sql})", f"map_values({value.sql})"
            parts += [(keys, value.type.args[0]), (values, value.type.args[1])]
            lengths.append(f"len({keys})")
        elif value.type.name == "array":
            element = value.type.args[0]
            lengths.append(f"len({value.sql})")
            if element.name == "row":
                inner = zip(element.fields, element.args, strict=True)
                parts += [
                    (f"list_transform({value.sql}, lambda x: x.{quoted(name or f'field{i}')})", kind)
                    for i, (name, kind) in enumerate(inner)
                ]
            else:
                parts.append((value.sql, element))
        else:
            raise QueryError(f"UNNEST needs an array or a map, not {value.type}")
    offset = node.args.get("offset")
    if offset:
        longest = f"greatest({', '.join(f'coalesce({length}, 0)' for length in lengths)})"
        parts.append((f"range(1, {longest} + 1)", Type("bigint")))
    queries.needed |= reads
    columns = tuple(Column(f"_col{i}", kind, f"{alias}.c{i}", reads=reads) for i, (_, kind) in enumerate(parts))
    listed = ", ".join(f"unnest({sql}) AS c{i}" for i, (sql, _) in enumerate(parts))
    made = Relation(f"LATERAL (SELECT {listed}) AS {alias}", columns)
    names = list(node.alias_column_names)
    if isinstance(offset, exp.Identifier):
        names.append(offset.name)
    return made.renamed(node.alias, names) if node.alias else made


def bare(node: exp.Subquery) -> bool:
    return not any(node.args.get(key) for key in ("order", "limit", "offset", "with_", "joins"))
