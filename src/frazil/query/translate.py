"""Trino SQL to the embedded engine's SQL, with the scans that it needs (seeds 000 9.4 and 001 10.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.expressions import BooleanExpression
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, UnsupportedError

from frazil.errors import QueryError
from frazil.query.functions import adapt_functions
from frazil.query.names import Names, Source
from frazil.query.newest import Newest, newest_rows
from frazil.query.pushdown import needed_columns, row_filter, row_limit
from frazil.query.questions.views import expand_views
from frazil.query.statements import Statement

_DIALECT = DuckDB()


@dataclass(frozen=True)
class Scan:
    """One place where a statement reads a table: under `view` the engine finds its `columns`.

    For a metadata table (`source.metadata`) there is nothing to choose, and columns, filter and limit do not apply.
    """

    view: str
    source: Source
    columns: tuple[str, ...]
    row_filter: BooleanExpression
    limit: int | None
    newest: Newest | None = None


@dataclass(frozen=True)
class Translation:
    """A statement for the embedded engine.

    `labels` are the column names that Trino would show where the statement gives none (`_col0`), by position.
    """

    sql: str
    scans: tuple[Scan, ...]
    labels: dict[int, str]


def translate(statement: Statement, names: Names) -> Translation:
    """Translate a statement that reads tables. SHOW and DESCRIBE are answered by `frazil.query.show`.

    Raises QueryError when a name cannot be resolved or the engine has no counterpart for a construct.
    """
    tree = expand_views(statement.parse(), names)
    if not isinstance(tree, exp.Query | exp.Values):
        raise QueryError(f"{statement.keyword} ... is not a statement that can be answered: {statement.text[:80]}")
    found = [(table, _source(table, names)) for table in list(_base_tables(tree))]
    _check_rows_as_values(tree, found)
    labels = _labels(tree)
    adapt_functions(tree, [(table.alias_or_name, source) for table, source in found])
    scans = [
        Scan(
            view=f"frazil scan {number}",
            source=source,
            columns=needed_columns(tree, source.table.schema()),
            row_filter=row_filter(table, source.table.schema()),
            limit=row_limit(table),
            newest=newest_rows(table, source.table.schema()),
        )
        for number, (table, source) in enumerate(found)
    ]
    for scan, (table, _) in zip(scans, found, strict=True):
        _strip_qualifiers(tree, table, names)
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
        table.set("alias", alias)
        table.set("this", exp.to_identifier(scan.view, quoted=True))
        table.set("db", None)
        table.set("catalog", None)
    try:
        sql = tree.sql(_DIALECT, comments=False, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise QueryError(f"the embedded engine has no counterpart: {error}; set TRINO_URL to ask Trino") from None
    return Translation(sql, tuple(scans), labels)


def _source(table: exp.Table, names: Names) -> Source:
    if isinstance(table.this, exp.Dot):
        raise QueryError(f"{table.sql(comments=False)} has too many parts; a table is named catalog.schema.table")
    if not isinstance(table.this, exp.Identifier):
        called = table.this.sql(comments=False) if isinstance(table.this, exp.Expr) else str(table.this)
        raise QueryError(f"table function {called[:80]} is refused; only tables of the catalog can be read")
    if table.args.get("version") or table.args.get("when"):
        raise QueryError("FOR VERSION and FOR TIMESTAMP are not answered by the embedded engine; set TRINO_URL")
    return names.source([part.name for part in table.parts])


def _base_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """Table references that are not the name of a WITH query in scope."""
    for table in tree.find_all(exp.Table):
        if len(table.parts) > 1 or not _names_cte(table):
            yield table


def _names_cte(table: exp.Table) -> bool:
    name = table.name.lower()
    inside: exp.Expr = table
    parent = table.parent
    while parent is not None:
        with_ = parent.args.get("with_")
        if isinstance(with_, exp.With):
            visible = with_.expressions
            if inside is with_:
                visible = _earlier(with_, table)
            if any(cte.alias.lower() == name for cte in visible):
                return True
        inside, parent = parent, parent.parent
    return False


def _earlier(with_: exp.With, table: exp.Table) -> list[exp.CTE]:
    """WITH queries that the one around `table` may name: those before it, and itself when RECURSIVE."""
    own = next(i for i, cte in enumerate(with_.expressions) if any(node is table for node in cte.find_all(exp.Table)))
    return list(with_.expressions[: own + 1 if with_.args.get("recursive") else own])


def _check_rows_as_values(tree: exp.Expr, found: list[tuple[exp.Table, Source]]) -> None:
    """Refuse a table's name where a column is wanted: the engine would answer with the columns that were read."""
    tables = {table.alias_or_name.lower() for table, _ in found}
    columns = {field.name.lower() for _, source in found for field in source.table.schema().fields}
    columns |= {alias.alias.lower() for alias in tree.find_all(exp.Alias)}
    columns |= {name.lower() for alias in tree.find_all(exp.TableAlias) for name in (c.name for c in alias.columns)}
    for column in tree.find_all(exp.Column):
        name = column.name.lower()
        if not column.table and name in tables and name not in columns:
            raise QueryError(f"column {column.name} cannot be resolved; it is the name of a table")


def _strip_qualifiers(tree: exp.Expr, table: exp.Table, names: Names) -> None:
    """Turn `catalog.schema.table.column` and `schema.table.column` into `table.column`: the engine knows no schemas."""
    if table.alias:
        return
    full = [names.catalog_name.lower(), (table.db or names.default_schema).lower(), table.name.lower()]
    for column in list(tree.find_all(exp.Column)):
        parts = column.parts
        written = [part.name.lower() for part in parts]
        for prefix in (full, full[1:]):
            if written[: len(prefix)] == prefix and len(parts) > len(prefix):
                kept = parts[len(prefix) - 1 :]
                levels = ("this", "table", "db", "catalog")
                column.replace(exp.Column(**dict(zip(levels, (part.copy() for part in reversed(kept)), strict=False))))
                break


def _labels(tree: exp.Expr) -> dict[int, str]:
    if isinstance(tree, exp.Values):
        return {i: f"_col{i}" for i in range(len(tree.expressions[0].expressions))}
    select = tree.find(exp.Select)
    if select is None or any(item.is_star for item in select.expressions):
        return {}
    named = (exp.Alias, exp.Column, exp.Dot)
    return {i: f"_col{i}" for i, item in enumerate(select.expressions) if not isinstance(item, named)}
