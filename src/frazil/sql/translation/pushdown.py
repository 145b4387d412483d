"""Pushdown of a translated statement to its scans: columns, conditions and limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, ScopeType, walk_in_scope

from frazil.sql.translation.dialect import VALUE
from frazil.sql.translation.filters import Filter
from frazil.sql.translation.scans import Tables
from frazil.sql.translation.value import Value

_Outputs = Mapping[int, list[tuple[str, Value]]]


class Pushdown:
    """Tells tables what the scopes of a statement, the innermost ones first, want of them."""

    def __init__(self, tables: Tables, outputs: _Outputs, scopes: Sequence[Scope]) -> None:
        self._tables = tables
        self._outputs = outputs
        self._scopes = scopes
        self._asked: set[tuple[int, int, tuple[str, ...], bool]] = set()

    def apply(self) -> None:
        """Note what each scan has to give, and what it may leave out."""
        for scope in self._scopes:
            node = scope.expression
            everything = scope.scope_type in (ScopeType.ROOT, ScopeType.SUBQUERY)
            if everything or (not isinstance(node, exp.UDTF) and node.args.get("distinct")):
                for place in range(len(self._outputs[id(node)])):
                    self._output(scope, place, (), needed=True)
            for part, value in node.args.items():
                if part != "expressions" or isinstance(node, exp.UDTF):
                    self._all(scope, value, needed=True)
            if isinstance(node, exp.Select):
                self._all(scope, node.expressions, needed=False)
                exact = self._conditions(scope, node)
                self._limit(scope, node, exact=exact)

    def _all(self, scope: Scope, nodes: Any, *, needed: bool) -> None:
        for node in nodes if isinstance(nodes, list) else [nodes]:
            for column, path in _columns(node):
                self._read(scope, column, path, needed=needed)

    def _read(self, scope: Scope, column: exp.Column, path: tuple[str, ...], *, needed: bool) -> None:
        """Have a column read, where one that is not needed only has to exist."""
        around: Scope | None = scope
        while around is not None and column.table not in around.sources:
            around = around.parent
        source = around.sources[column.table] if around is not None else None
        if isinstance(source, exp.Table):
            self._tables.need(source.name, column.name, path, needed=needed)
        elif source is not None:
            self._output(source, self._place(source, column), path, needed=needed)

    def _place(self, source: Scope, column: exp.Column) -> int:
        return [name for name, _ in self._outputs[id(source.expression)]].index(column.name)

    def _output(self, scope: Scope, place: int, path: tuple[str, ...], *, needed: bool) -> None:
        node = scope.expression
        if (id(node), place, path, needed) in self._asked:
            return
        self._asked.add((id(node), place, path, needed))
        if isinstance(node, exp.Select):
            inner = node.expressions[place].this
            value: Value = inner.meta[VALUE]
            if value.column is not None:
                self._read(scope, value.column, value.path + path, needed=needed)
            else:
                self._all(scope, inner, needed=needed)
        elif isinstance(node, exp.SetOperation):
            for side in scope.set_operation_scopes:
                self._output(side, place, path, needed=needed)

    def _conditions(self, scope: Scope, node: exp.Select) -> bool:
        """Give conditions to the scans; whether one scan takes all of WHERE."""
        for on, names in _join_conditions(node):
            self._narrow(scope, on, names)
        where = node.args.get("where")
        return where is None or self._narrow(scope, where.this, _kept(node))

    def _narrow(self, scope: Scope, condition: exp.Expr, names: set[str]) -> bool:
        """Let scans leave out rows for which a condition cannot hold; whether one scan took all of it."""
        found = [origin for c, path in _columns(condition) if not path for origin in self._origins(scope, c, names)]
        exact = False
        for view in dict.fromkeys(view for view, _ in found):

            def column(value: Value, view: str = view) -> str | None:
                if value.column is None or value.path:
                    return None
                known = [name for scan, name in self._origins(scope, value.column, names) if scan == view]
                return self._tables.filterable(view, known[0], value.type) if known else None

            wanted, exact = Filter(column, self._tables.evaluate).of(condition)
            if wanted is not None:
                self._tables.narrow(view, wanted)
        return exact

    def _origins(self, scope: Scope, column: exp.Column, names: set[str]) -> list[tuple[str, str]]:
        """Columns of scans whose very value a column has, so that a condition on it may be tested there already."""
        source = scope.sources.get(column.table) if column.table in names else None
        if isinstance(source, exp.Table):
            return [(source.name, column.name)]
        return [] if source is None else self._origins_of(source, self._place(source, column))

    def _origins_of(self, scope: Scope, place: int) -> list[tuple[str, str]]:
        node = scope.expression
        if node.args.get("limit") or node.args.get("offset"):
            return []
        if isinstance(node, exp.Union):
            return [origin for side in scope.set_operation_scopes for origin in self._origins_of(side, place)]
        if not isinstance(node, exp.Select) or scope.find(exp.Window, exp.GroupingSets, exp.Cube, exp.Rollup):
            return []
        value: Value = node.expressions[place].this.meta[VALUE]
        return [] if value.column is None or value.path else self._origins(scope, value.column, _kept(node))

    def _limit(self, scope: Scope, node: exp.Select, *, exact: bool) -> None:
        """Tell a table that stands alone in FROM how many of its rows are wanted."""
        from_, limit, offset, order = (node.args.get(part) for part in ("from_", "limit", "offset", "order"))
        table = from_.this if from_ is not None else None
        if not exact or limit is None or not isinstance(table, exp.Table):
            return
        outputs = [value for _, value in self._outputs[id(node)]]
        if any(node.args.get(part) for part in ("group", "distinct", "having", "joins")) or any(
            value.aggregate for value in outputs
        ):
            return
        rows = int(limit.expression.name) + (int(offset.expression.name) if offset else 0)
        if order is None:
            if node.args.get("where") is None:
                self._tables.limit(table.name, rows, None)
            return
        first = order.expressions[0]
        value = outputs[int(first.this.name) - 1] if isinstance(first.this, exp.Literal) else first.this.meta[VALUE]
        if value.column is not None and not value.path and first.args.get("desc") and not first.args.get("nulls_first"):
            self._tables.limit(table.name, rows, value.column.name)


def _columns(node: Any) -> Iterator[tuple[exp.Column, tuple[str, ...]]]:
    """Columns of an expression, each with the path of the field that is taken from it."""
    for column in walk_in_scope(node) if isinstance(node, exp.Expr) else ():
        if isinstance(column, exp.Column) and VALUE in column.meta:
            top: exp.Expr = column
            while isinstance(top.parent, exp.Dot) and top is not node:
                top = top.parent
            value: Value = top.meta[VALUE]
            yield value.column or column, value.path


def _kept(node: exp.Select) -> set[str]:
    """Names in FROM whose rows an outer join does not fill with nulls."""
    names = {node.args["from_"].this.alias_or_name}
    lost: set[str] = set()
    for join in node.args.get("joins") or ():
        side = join.side.upper()
        lost |= names if side in ("RIGHT", "FULL") else set()
        lost |= {join.this.alias_or_name} if side in ("LEFT", "FULL") else set()
        names.add(join.this.alias_or_name)
    return names - lost


def _join_conditions(node: exp.Select) -> Iterator[tuple[exp.Expr, set[str]]]:
    """Conditions of joins, and the names in FROM whose rows they may leave out."""
    joins = node.args.get("joins") or []
    for number, join in enumerate(joins):
        on, side = join.args.get("on"), join.side.upper()
        if on is not None and side in ("", "LEFT"):
            before = exp.Select(from_=node.args["from_"].copy(), joins=[one.copy() for one in joins[:number]])
            yield on, {join.this.alias_or_name} | (set() if side else _kept(before))
