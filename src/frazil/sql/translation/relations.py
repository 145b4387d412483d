"""A statement made ready for translation: tables bound, WITH queries put where they are used, every name qualified."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from frazil.errors import QueryError
from frazil.sql.translation.dialect import VALUE, WRITTEN, TrinoAsWritten
from frazil.sql.translation.scans import Tables
from frazil.sql.translation.types import Type
from frazil.sql.translation.value import Value, refuse
from frazil.text.quoting import identifier

#: Where the alias of a column of the answer keeps its name as it is written; empty for a column without one.
LABEL = "label"
#: Where a subquery keeps how many names its alias gives to columns.
NAMES = "names"
_MOST_RELATIONS = 500


def prepared(tree: exp.Expr, tables: Tables, constant: Callable[[exp.Expr], Value]) -> exp.Query:
    """The query with its names resolved; `constant` translates the version of a table.

    Raises QueryError for tables, columns and versions that do not exist."""
    made = _inlined(exp.Subquery(this=tree), {}, [0]).this
    for node in list(made.find_all(exp.Table, exp.Values)):
        if isinstance(node.parent, exp.Subquery) and not isinstance(node.parent.parent, exp.From | exp.Join):
            node.replace(exp.select("*").from_(node.copy(), copy=False))
    while isinstance(made, exp.Subquery | exp.Table | exp.Values):
        made = made.this if isinstance(made, exp.Subquery) else exp.select("*").from_(made)
    for node in list(made.find_all(exp.Limit, exp.Fetch, exp.Offset, exp.Values, exp.Unnest, exp.Select)):
        _normalize(node)
    _bind(made, tables, constant)
    for node in made.find_all(exp.Subquery):
        if node.alias_column_names:
            node.meta[NAMES] = len(node.alias_column_names)
    schema: dict[str, object] = {view: dict.fromkeys(names, "unknown") for view, names in tables.resolvable().items()}
    shown: Any = {view: tables.visible(view) for view in schema}
    try:
        found = qualify(
            made,
            dialect=TrinoAsWritten,
            schema=MappingSchema(schema, visible=shown, dialect=TrinoAsWritten, normalize=False),
            expand_alias_refs=False,
            validate_qualify_columns=False,
        )
    except OptimizeError as error:
        _, position, number = str(error).partition("Unknown output column: ")
        if position:
            raise QueryError(f"GROUP BY or ORDER BY {number}: the query has fewer columns") from None
        what = f"{error}"[:1].lower() + f"{error}"[1:]
        raise QueryError(f"{what}; SHOW TABLES and SHOW COLUMNS list what there is") from None
    return found  # type: ignore[no-any-return]


def _inlined(node: Any, visible: Mapping[str, exp.Subquery], made: list[int]) -> Any:
    """Put WITH queries in the place of their names, as Trino does it, so that each use reads only what it needs."""
    with_ = node.args.get("with_")
    if with_ is not None:
        visible = dict(visible)
        for cte in with_.expressions:
            if not isinstance(cte, exp.CTE):
                refuse("a function in WITH")
            body = _inlined(exp.Subquery(this=cte.this), visible, made)
            body.set("alias", cte.args["alias"])
            visible[cte.alias.lower()] = body
        node.set("with_", None)
    for child in list(node.iter_expressions()):
        _inlined(child, visible, made)
    if isinstance(node, exp.Table) and len(node.parts) == 1 and not node.args.get("version"):
        found = visible.get(node.name.lower())
        if found is not None:
            made[0] += 1
            if made[0] > _MOST_RELATIONS:
                refuse("a statement that uses its WITH queries this often")
            used = found.copy()
            names = node.alias_column_names or used.alias_column_names
            alias = exp.to_identifier(node.alias or node.name, quoted=True)
            used.set("alias", exp.TableAlias(this=alias, columns=[exp.to_identifier(n, quoted=True) for n in names]))
            if node.args.get("joins"):
                refuse("a join in parentheses")
            node.replace(used)
    return node


def _normalize(node: exp.Expr) -> None:
    """Give a node the one form that the translation knows."""
    if isinstance(node, exp.Select):
        for number, item in enumerate(node.expressions):
            if not item.is_star:
                label = item.alias if isinstance(item, exp.Alias) else _label(item)
                name = exp.to_identifier(label or f"_col{number}", quoted=True)
                name.meta[LABEL] = label
                item = exp.Alias(this=item.unalias(), alias=name)
            node.expressions[number] = item
            node.set("expressions", node.expressions)
    elif isinstance(node, exp.Values):
        rows = [row if isinstance(row, exp.Tuple) else exp.Tuple(expressions=[row]) for row in node.expressions]
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier("_values"))
        if not alias.columns:
            count = len(rows[0].expressions)
            alias.set("columns", [exp.to_identifier(f"_col{number}", quoted=True) for number in range(count)])
        node.set("expressions", rows)
        node.set("alias", alias)
    elif isinstance(node, exp.Unnest):
        if not node.alias or not (node.alias_column_names or node.args.get("offset")):
            refuse("UNNEST without names: write UNNEST(...) AS t (name)")
    elif isinstance(node, exp.Fetch):
        most = node.args.get("count") or exp.Literal.number(1)
        node.replace(exp.Limit(expression=most))
        _count(most, "FETCH FIRST")
    elif isinstance(node, exp.Limit) and node.expression.name.upper() == "ALL":
        node.pop()
    else:
        _count(node.args["expression"], type(node).__name__.upper())


def _count(node: Any, where: str) -> None:
    if not isinstance(node, exp.Literal) or not node.name.isdigit():
        refuse(f"{where} without a number")


def _label(item: exp.Expr) -> str:
    base = item
    while isinstance(base, exp.Dot):
        base = base.this
    if not isinstance(base, exp.Column):
        return ""
    return item.expression.name if isinstance(item, exp.Dot) else item.name


def _bind(tree: exp.Expr, tables: Tables, constant: Callable[[exp.Expr], Value]) -> None:
    """Put scans in the place of tables; columns lose the catalog and the schema before their table."""
    for each in tree.find_all(exp.Identifier):
        each.meta[WRITTEN] = each.name
    named: set[tuple[str, ...]] = set()
    for node in list(tree.find_all(exp.Table)):
        if node.args.get("joins"):
            refuse("a join in parentheses")
        view, full = tables.read(node, constant)
        if not node.alias:
            named |= {full, full[1:]}
        alias = exp.TableAlias(this=exp.to_identifier(node.alias or node.name, quoted=True))
        scan: exp.Expr = exp.Table(this=exp.to_identifier(view, quoted=True), alias=alias)
        # what the scan has to give is known at the end
        scan.meta[VALUE] = Value(f"\0{view}\0 AS {identifier(alias.name)}", Type(""))
        if names := node.alias_column_names:
            renamed = exp.TableAlias(this=alias.this.copy(), columns=[exp.to_identifier(n, quoted=True) for n in names])
            scan = exp.Subquery(this=exp.select("*").from_(scan, copy=False), alias=renamed)
        node.replace(scan)
    for column in tree.find_all(exp.Column):
        base: exp.Expr = column
        parts = tuple(part.name.lower() for part in column.parts)
        for length in (3, 2):
            if parts[:length] in named and len(parts) > length:
                kept = column.parts[length - 1 :]
                for place, part in zip(("this", "table", "db", "catalog"), reversed(kept), strict=False):
                    base.set(place, part)
                for place in ("this", "table", "db", "catalog")[len(kept) :]:
                    base.set(place, None)
                break
