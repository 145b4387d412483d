"""Queries of Trino to queries of the embedded engine, scope by scope from the inside."""

from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from frazil.errors import QueryError
from frazil.sql.translation.dialect import VALUE, WRITTEN, written
from frazil.sql.translation.expressions import Expressions
from frazil.sql.translation.operators import unify
from frazil.sql.translation.pushdown import Pushdown
from frazil.sql.translation.relations import LABEL, NAMES, prepared
from frazil.sql.translation.scans import Tables
from frazil.sql.translation.types import BIGINT, Type, common_type
from frazil.sql.translation.value import Value, ambiguous, coerce, refuse
from frazil.text.near import did_you_mean
from frazil.text.quoting import identifier

_GROUPS = (exp.GroupingSets, exp.Cube, exp.Rollup, exp.Tuple, exp.Paren)


class Queries:
    """Translates the queries of one statement."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.expressions = Expressions(self._column, self._columns)
        #: Names and values of the columns of each query.
        self.outputs: dict[int, list[tuple[str, Value]]] = {}
        self._order_names: dict[str, Value] = {}

    def translate(self, tree: exp.Expr) -> tuple[str, tuple[str, ...], tuple[Type, ...]]:
        """Text of the embedded engine, and names and types of the columns. Raises QueryError."""
        query = prepared(tree, self._tables, lambda node: self.expressions.value(node, None))
        scopes = traverse_scope(query)
        for scope in scopes:
            self._scope(scope)
        Pushdown(self._tables, self.outputs, scopes).apply()
        first: Any = query
        while not isinstance(first, exp.Select):
            first = first.left.unnest()
        labels = [item.args["alias"].meta.get(LABEL) for item in first.expressions]
        spelled = self._tables.spelling()
        names = [
            spelled.get(name, name) if label is None else label or f"_col{number}"
            for number, ((name, _), label) in enumerate(zip(self.outputs[id(query)], labels, strict=True))
        ]
        sql = written(query)
        for scan in self._tables.scans():
            sql = sql.replace(f"\0{scan.view}\0", self._tables.text(scan))
        return sql, tuple(names), tuple(value.type for _, value in self.outputs[id(query)])

    def _scope(self, scope: Scope) -> None:
        node = scope.expression
        if isinstance(node, exp.Select):
            found = self._select(node, scope)
        elif isinstance(node, exp.SetOperation):
            found = self._set(node)
        elif isinstance(node, exp.Values):
            found = self._values(node, scope)
        elif isinstance(node, exp.Unnest):
            found = self._unnest(node, scope)
        else:
            refuse(f"{node.sql('trino')[:80]}")
        self.outputs[id(node)] = found
        around: Any = node.parent
        wanted = around.meta.get(NAMES) if around is not None else None
        if wanted not in (None, len(found)):
            raise QueryError(f"{around.alias} has {wanted} column aliases for {len(found)} columns")

    def _select(self, node: exp.Select, scope: Scope) -> list[tuple[str, Value]]:
        for join in node.args.get("joins") or ():
            if join.kind.upper() not in ("", "CROSS", "INNER", "OUTER"):
                refuse(f"{join.kind} JOIN")
            if join.args.get("on") is not None:
                self.expressions.condition(join.args["on"], scope)
        if (where := node.args.get("where")) and self.expressions.condition(where.this, scope).aggregate:
            raise QueryError("WHERE cannot hold an aggregate or window function; use HAVING or a subquery")
        for window in node.args.get("windows") or ():
            self.expressions.around(window, scope)
        if any(item.is_star for item in node.expressions):
            refuse("* of a subquery with two columns of one name")
        found = [(item.alias, self.expressions.value(item.this, scope)) for item in node.expressions]
        if group := node.args.get("group"):
            for part in ("expressions", "grouping_sets", "cube", "rollup"):
                for item in group.args.get(part) or ():
                    self._group(item, scope)
        if having := node.args.get("having"):
            self.expressions.condition(having.this, scope)
        self._order(node, found, scope)
        return found

    def _group(self, item: exp.Expr, scope: Scope) -> None:
        if isinstance(item, _GROUPS):
            for part in [item.this] if isinstance(item, exp.Paren) else item.expressions:
                self._group(part, scope)
        elif not isinstance(item, exp.Literal) and self._key(item, scope).aggregate:
            raise QueryError("GROUP BY cannot hold an aggregate or window function")

    def _key(self, item: exp.Expr, scope: Scope) -> Value:
        """Translate an expression of GROUP BY or ORDER BY; a number alone would be a position."""
        value = self.expressions.value(item, scope)
        if value.constant:
            item.meta[VALUE] = value.written(f"CAST({value.sql} AS {value.type.duckdb})", value.type)
        return value

    def _order(self, node: exp.Query, found: list[tuple[str, Value]], scope: Scope | None) -> None:
        order = node.args.get("order")
        self._order_names = {name: value for name, value in found if not self._is_twin(value)}
        for item in order.expressions if order else ():
            key = item.this
            if isinstance(key, exp.Literal) and key.is_int:
                continue
            if isinstance(key, exp.Column) and not key.table and key.name in self._order_names:
                places = [number for number, (name, _) in enumerate(found) if name == key.name]
                if len({found[place][1].sql or place for place in places}) > 1:
                    ambiguous(key.name, [key.name])
                key.meta[VALUE] = Value(str(places[0] + 1), found[places[0]][1].type, column=found[places[0]][1].column)
            elif scope is None:
                refuse(f"ORDER BY {key.sql('trino')[:80]} behind {type(node).__name__.upper()}")
            else:
                self._key(key, scope)
        self._order_names = {}

    def _set(self, node: exp.SetOperation) -> list[tuple[str, Value]]:
        sides = [self.outputs[id(side.unnest())] for side in (node.left, node.right)]
        word = type(node).__name__.upper()
        if len(sides[0]) != len(sides[1]):
            raise QueryError(f"{word}: one side has {len(sides[0])} columns, the other {len(sides[1])}")
        found = []
        for number, ((name, left), (_, right)) in enumerate(zip(*sides, strict=True)):
            kind = common_type(left.type, right.type)
            if kind is None:
                raise QueryError(
                    f"{word}: column {number + 1} is {left.type} on one side and {right.type} on the other"
                )
            for side in (node.left, node.right):
                self._as_type(side.unnest(), number, kind)
            found.append((name, Value("", kind)))
        self._order(node, found, None)
        return found

    def _as_type(self, query: Any, number: int, kind: Type) -> None:
        if isinstance(query, exp.SetOperation):
            self._as_type(query.left.unnest(), number, kind)
            self._as_type(query.right.unnest(), number, kind)
        else:
            item = query.expressions[number].this
            item.meta[VALUE] = coerce(item.meta[VALUE], kind)

    def _values(self, node: exp.Values, scope: Scope) -> list[tuple[str, Value]]:
        rows = [self.expressions.values(row.expressions, scope) for row in node.expressions]
        if len({len(row) for row in rows}) != 1:
            raise QueryError("the rows of VALUES have different numbers of columns")
        if len(rows[0]) != len(node.alias_column_names):
            raise QueryError(
                f"{node.alias} has {len(node.alias_column_names)} column aliases for {len(rows[0])} columns"
            )
        found = []
        for number, (name, cells) in enumerate(zip(node.alias_column_names, zip(*rows, strict=True), strict=True)):
            done, kind = unify(cells, "VALUES")
            for row, cell in zip(node.expressions, done, strict=True):
                row.expressions[number].meta[VALUE] = cell.written(f"CAST({cell.sql} AS {kind.duckdb})", kind)
            found.append((name, Value("", kind)))
        return found

    def _unnest(self, node: exp.Unnest, scope: Scope) -> list[tuple[str, Value]]:
        parts: list[tuple[str, Type]] = []
        lengths: list[str] = []
        for value in self.expressions.values(node.expressions, scope):
            if value.type.name == "map":
                for part, kind in zip(("map_keys", "map_values"), value.type.args, strict=True):
                    parts.append((f"{part}({value.sql})", kind))
            elif value.type.name == "array" and value.type.args[0].name != "row":
                parts.append((value.sql, value.type.args[0]))
            else:
                refuse(f"UNNEST of {value.type}; it takes an array or a map")
            lengths.append(f"coalesce(len({parts[-1][0]}), 0)")
        names = list(node.alias_column_names)
        if offset := node.args.get("offset"):
            parts.append((f"range(1, greatest({', '.join(lengths)}) + 1)", BIGINT))
            names += [offset.name] if isinstance(offset, exp.Identifier) else []
        if len(names) != len(parts):
            raise QueryError(f"{node.alias} has {len(names)} column aliases for {len(parts)} columns")
        listed = ", ".join(f"unnest({sql}) AS {identifier(name)}" for name, (sql, _) in zip(names, parts, strict=True))
        node.meta[VALUE] = Value(f"LATERAL (SELECT {listed}) AS {identifier(node.alias)}", BIGINT)
        return [(name, Value("", kind)) for name, (_, kind) in zip(names, parts, strict=True)]

    def _columns(self, query: exp.Expr) -> list[Value]:
        if id(query) not in self.outputs:
            refuse(f"a query at this place: {query.sql('trino')[:80]}")
        return [value for _, value in self.outputs[id(query)]]

    def _column(self, node: exp.Column, scope: Scope | None) -> Value:
        if isinstance(node.this, exp.Star):
            refuse("a star inside an expression")
        if not node.table and node.name in self._order_names:
            return self._order_names[node.name]
        known: list[str] = []
        around = scope
        while around is not None:
            found = [
                (alias, name, kind)
                for alias in ([node.table] if node.table else around.selected_sources)
                for name, kind in self._types(around.sources.get(alias))
                if node.name in (name, self._tables.plain(name))
            ]
            if len(found) > 1:
                spelled = self._tables.spelling() if any(name != node.name for _, name, _ in found) else {}
                meant = [spelled.get(name, name) for _, name, _ in found]
                as_written = node.this.meta.get(WRITTEN)
                found = [one for one, name in zip(found, meant, strict=True) if name == as_written and spelled]
                if len(found) != 1:
                    ambiguous(node.name, meant)
            if found:
                alias, name, kind = found[0]
                node.set("this", exp.to_identifier(name, quoted=True))
                node.set("table", exp.to_identifier(alias, quoted=True))
                return Value(f"{identifier(alias)}.{identifier(name)}", kind, column=node)
            known += [name for alias in around.selected_sources for name, _ in self._types(around.sources[alias])]
            if not node.table and node.name in around.selected_sources:
                raise QueryError(f"column {node.name} cannot be resolved; it is the name of a table")
            around = around.parent
        full = ".".join(part.name for part in node.parts)
        near = did_you_mean(node.name, [self._tables.spelling().get(one, one) for one in known])
        raise QueryError(f"column {full} cannot be resolved{near or '; SHOW COLUMNS FROM a table lists its columns'}")

    def _is_twin(self, value: Value) -> bool:
        return value.column is not None and self._tables.plain(value.column.name) != value.column.name

    def _types(self, source: exp.Table | Scope | None) -> list[tuple[str, Type]]:
        if isinstance(source, exp.Table):
            return list(self._tables.schema()[source.name].items())
        found = self.outputs.get(id(source.expression), []) if source is not None else []
        return [(name, value.type) for name, value in found]
