"""Queries of Trino to queries of the embedded engine, with what they need from tables.

Every relation and column gets a name of its own (`r3.c0`), so that no name of the statement can mean something else
here. WITH queries are put where they are used, as Trino does it, so that each use reads only what it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.expressions import Expressions
from frazil.query.sql.operators import unify
from frazil.query.sql.relations import Column, Relation, Scope
from frazil.query.sql.select import ordered_query, select
from frazil.query.sql.sources import bare
from frazil.query.sql.types import SEVERAL_ZONES, Type, common_type
from frazil.query.sql.value import Reading, Value, coerce, combine, refuse

_SETS: dict[type[exp.Expr], str] = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}
_MOST_RELATIONS = 500


class TableReader(Protocol):
    """What the translation asks of tables."""

    def read(self, node: exp.Table, alias: str, expressions: Expressions) -> Relation:
        """A table as something to select from, under an alias of the text."""

    def qualified(self, node: exp.Table) -> tuple[str, ...]:
        """The names that may stand before a column of a table without an alias."""

    def narrow(self, condition: exp.Expr, expressions: Expressions, reachable: frozenset[Reading]) -> bool:
        """Leave out rows for which a condition cannot hold; whether all of it was taken."""

    def limit(self, columns: Sequence[Column], rows: int, newest: Column | None) -> None:
        """Only so many rows of a table are wanted; those with the greatest values of `newest`, if it is given."""


@dataclass(frozen=True)
class _With:
    """A WITH query: its syntax tree, and those that it may use itself."""

    node: exp.CTE
    visible: dict[str, _With | Relation]
    recursive: bool


class Queries:
    """Translates the queries of one statement."""

    def __init__(self, tables: TableReader) -> None:
        self.tables = tables
        self.expressions = Expressions(self)
        self.needed: set[Reading] = set()
        self.mentioned: set[Reading] = set()
        self._made = 0
        self.withs: dict[str, _With | Relation] = {}

    def need(self, values: Sequence[Value | Column]) -> None:
        """Remember that what these read has to be read."""
        for value in values:
            self.needed |= value.reads

    def alias(self) -> str:
        """A new name for a relation. Raises QueryError when there are too many."""
        self._made += 1
        if self._made > _MOST_RELATIONS:
            refuse("a statement that uses its WITH queries this often")
        return f"r{self._made}"

    def subquery(self, node: exp.Expr, scope: Scope) -> Relation:
        """A query inside an expression, which may use the names around it; its text is in parentheses."""
        found = self.query(node.this if isinstance(node, exp.Subquery) and bare(node) else node, scope)
        self.need(found.columns)
        return Relation(f"({found.sql})", found.columns)

    def query(self, node: exp.Expr, outer: Scope | None) -> Relation:
        """Translate a query; its columns are called `c0`, `c1`, ... in the text."""
        before = self.withs
        try:
            self.withs = self._with_queries(node)
            return self._query(node, outer)
        finally:
            self.withs = before

    def _query(self, node: exp.Expr, outer: Scope | None) -> Relation:
        if isinstance(node, exp.Select):
            return select(self, node, outer)
        if isinstance(node, exp.SetOperation):
            return ordered_query(self, self._set(node, outer), node, outer)
        if isinstance(node, exp.Values):
            return self._values(node, outer)
        if isinstance(node, exp.Subquery):
            return ordered_query(self, self.query(node.this, outer), node, outer)
        if isinstance(node, exp.Paren):
            return self.query(node.this, outer)
        if not isinstance(node, exp.Table):
            refuse(f"{node.sql('trino')[:80]}")
        return self.query(exp.select("*").from_(node.copy()), outer)

    def _with_queries(self, node: exp.Expr) -> dict[str, _With | Relation]:
        with_ = node.args.get("with_")
        found = dict(self.withs)
        recursive = with_ is not None and bool(with_.args.get("recursive"))
        for cte in with_.expressions if with_ is not None else ():
            if not isinstance(cte, exp.CTE):
                refuse("a function in WITH")
            found[cte.alias.lower()] = _With(cte, dict(found), recursive)
        return found

    def _set(self, node: exp.SetOperation, outer: Scope | None) -> Relation:
        sides = [self.query(side, outer) for side in (node.left, node.right)]
        distinct = node.args.get("distinct") is not False
        word = _SETS[type(node)]
        if len(sides[0].columns) != len(sides[1].columns):
            raise QueryError(f"{word}: one side has {len(sides[0].columns)} columns, the other {len(sides[1].columns)}")
        kinds = []
        for number, (left, right) in enumerate(zip(sides[0].columns, sides[1].columns, strict=True)):
            kind = common_type(left.type, right.type)
            if kind is None:
                raise QueryError(
                    f"{word}: column {number + 1} is {left.type} on one side and {right.type} on the other"
                )
            if kind.name == "timestamptz" and kind.zone == SEVERAL_ZONES:
                refuse(f"{word} of times in several zones")
            kinds.append(kind)
        if word != "UNION" or distinct:
            for side in sides:
                self.need(side.columns)
        columns = tuple(
            Column(
                left.name,
                kind,
                f"c{number}",
                reads=left.reads | right.reads,
                origins=left.origins | right.origins if word == "UNION" and left.type == right.type else frozenset(),
            )
            for number, (left, right, kind) in enumerate(zip(sides[0].columns, sides[1].columns, kinds, strict=True))
        )
        texts = [self._as_types(side, kinds) for side in sides]
        return Relation(f"({texts[0]}) {word}{'' if distinct else ' ALL'} ({texts[1]})", columns)

    def _as_types(self, found: Relation, kinds: Sequence[Type]) -> str:
        if [column.type for column in found.columns] == list(kinds):
            return found.sql
        alias = self.alias()
        cast = ", ".join(
            f"{coerce(Value(f'{alias}.{column.sql}', column.type), kind).sql} AS c{number}"
            for number, (column, kind) in enumerate(zip(found.columns, kinds, strict=True))
        )
        return f"SELECT {cast} FROM ({found.sql}) AS {alias}"

    def _values(self, node: exp.Values, outer: Scope | None) -> Relation:
        scope = Scope((), outer)
        for row in node.expressions:
            if not isinstance(row, exp.Tuple) and self.expressions.value(row, scope).type.name == "row":
                refuse("a row in VALUES that is not written as (...)")
        rows = [
            [self.expressions.value(cell, scope) for cell in (row.expressions if isinstance(row, exp.Tuple) else [row])]
            for row in node.expressions
        ]
        if len({len(row) for row in rows}) != 1:
            raise QueryError("the rows of VALUES have different numbers of columns")
        unified = [unify(list(cells), "VALUES") for cells in zip(*rows, strict=True)]
        columns = tuple(
            Column(f"_col{number}", kind, f"c{number}", reads=combine("", kind, cells).reads)
            for number, (cells, kind) in enumerate(unified)
        )
        self.need(columns)
        listed = ", ".join(
            "(" + ", ".join(f"CAST({cells[i].sql} AS {kind.duckdb})" for cells, kind in unified) + ")"
            for i in range(len(rows))
        )
        names = ", ".join(f"c{number}" for number in range(len(unified)))
        return Relation(f"SELECT {names} FROM (VALUES {listed}) AS {self.alias()}({names})", columns)

    def use(self, known: _With | Relation, name: str) -> Relation:
        if isinstance(known, Relation):
            alias = self.alias()
            columns = tuple(replace(column, sql=f"{alias}.c{i}") for i, column in enumerate(known.columns))
            return Relation(f"{known.sql} AS {alias}", columns)
        before = self.withs
        self.withs = known.visible
        try:
            inner = known.node.this
            names = [column.name for column in known.node.args["alias"].columns]
            recursive = known.recursive and any(
                len(table.parts) == 1 and table.name.lower() == name.lower() for table in inner.find_all(exp.Table)
            )
            found = self._recursive(known, names) if recursive else self.query(inner, None)
        finally:
            self.withs = before
        alias = self.alias()
        columns = tuple(replace(column, sql=f"{alias}.{column.sql}") for column in found.columns)
        return Relation(f"({found.sql}) AS {alias}", columns).renamed(name, names)

    def _recursive(self, known: _With, names: Sequence[str]) -> Relation:
        inner = known.node.this
        if not isinstance(inner, exp.Union) or inner.args.get("distinct") is not False or not names:
            refuse("WITH RECURSIVE that is not name(columns) AS (... UNION ALL ...)")
        start = self.query(inner.left, None)
        self.need(start.columns)
        alias = self.alias()
        columns = tuple(
            Column(name, column.type, f"c{i}")
            for i, (name, column) in enumerate(zip(names, start.columns, strict=False))
        )
        self.withs = {**known.visible, known.node.alias.lower(): Relation(alias, columns)}
        step = self.query(inner.right, None)
        self.need(step.columns)
        kinds = [column.type for column in start.columns]
        if len(step.columns) != len(kinds):
            raise QueryError(f"{known.node.alias}: both sides of UNION ALL need {len(kinds)} columns")
        listed = ", ".join(f"c{i}" for i in range(len(kinds)))
        body = f"({start.sql}) UNION ALL ({self._as_types(step, kinds)})"
        return Relation(f"WITH RECURSIVE {alias}({listed}) AS ({body}) SELECT {listed} FROM {alias}", columns)
