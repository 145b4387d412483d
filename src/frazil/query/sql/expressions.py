"""Expressions of Trino to expressions of the embedded engine, each with its type."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.near import did_you_mean
from frazil.query.sql import calls, casts
from frazil.query.sql.functions import dates
from frazil.query.sql.operators import arithmetic, as_text, joined, negated, row_of, unify
from frazil.query.sql.predicates import PREDICATES, Translator
from frazil.query.sql.relations import Scope
from frazil.query.sql.types import (
    BOOLEAN,
    DATE,
    INTEGER,
    UNKNOWN,
    VARBINARY,
    VARCHAR,
    Type,
    array,
    decimal,
    field_names,
    quoted,
    text,
    timestamp,
    timestamptz,
)
from frazil.query.sql.value import Reading, Value, coerce, combine, local, refuse

if TYPE_CHECKING:
    from frazil.query.sql.queries import Queries

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_INTEGERS = 2**31


class Expressions:
    """Translates the expressions of one statement; all its `current_timestamp` are the same moment.

    `values` keeps what each node became, for the filters that scans can apply.
    """

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self.values: dict[int, Value] = {}
        now = datetime.now(UTC)
        self._now = now.replace(microsecond=now.microsecond // 1000 * 1000)

    def value(self, node: exp.Expr, scope: Scope) -> Value:
        """Translate an expression. Raises QueryError for what is unknown, has wrong types or no counterpart."""
        translate = _TRANSLATORS.get(type(node))
        if translate is None:
            refuse(f"this use of {type(node).__name__.upper()}: {node.sql('trino', comments=False)[:80]}")
        found = translate(self, node, scope)
        self.values[id(node)] = found
        return found

    def condition(self, node: exp.Expr, scope: Scope) -> Value:
        """Translate what has to be true or false. Raises QueryError when it is neither."""
        found = self.value(node, scope)
        if found.type not in (BOOLEAN, UNKNOWN):
            raise QueryError(f"a condition is needed, not a value of type {found.type}: {node.sql('trino')[:80]}")
        return found

    def moment(self) -> Value:
        """`current_timestamp`."""
        return Value(f"TIMESTAMPTZ '{self._now.isoformat(' ')}'", timestamptz(3), constant=True)

    def column(self, parts: list[str], scope: Scope) -> Value:
        """The column of a dotted name, or a field inside it. Raises QueryError when there is none."""
        variable = scope.variables.get(parts[0].lower())
        if variable is not None:
            return _fields(variable, parts[1:])
        output = scope.outputs.get(parts[0].lower()) if len(parts) == 1 else None
        if output is not None:
            return output
        found = scope.resolve(parts)
        if found is None:
            if len(parts) == 1 and scope.is_relation(parts[0]):
                raise QueryError(f"column {parts[0]} cannot be resolved; it is the name of a table")
            near = did_you_mean(parts[-1], scope.names())
            raise QueryError(
                f"column {'.'.join(parts)} cannot be resolved{near or '; SHOW COLUMNS FROM a table lists its columns'}"
            )
        column, inside = found
        value = Value(column.sql, column.type, column.reads, column=column)
        if inside:
            value = _fields(value, inside)
            self.queries.mentioned |= value.reads
        return value


def _fields(value: Value, names: list[str]) -> Value:
    paths = value.column.origins if value.column is not None else frozenset[Reading]()
    for name in names:
        kind = value.type
        found = [i for i, known in enumerate(kind.fields) if known.lower() == name.lower()]
        if kind.name != "row" or len(found) != 1:
            meant = did_you_mean(name, kind.fields)
            raise QueryError(f"{name} cannot be resolved: there is no field of that name in {kind}{meant}")
        inner = field_names(kind)[found[0]]
        paths = frozenset((scan, f"{path}.{inner}") for scan, path in paths)
        value = replace(
            value,
            sql=f"({value.sql}).{quoted(inner)}",
            type=kind.args[found[0]],
            reads=paths or value.reads,
            column=None,
        )
    return value


def _column(self: Expressions, node: Any, scope: Scope) -> Value:
    if isinstance(node.this, exp.Star):
        refuse("a star inside an expression")
    return self.column([part.name for part in node.parts], scope)


def _dot(self: Expressions, node: exp.Dot, scope: Scope) -> Value:
    if not isinstance(node.expression, exp.Identifier):
        refuse(f"{node.sql('trino')[:80]}")
    names: list[str] = []
    base: exp.Expr = node
    while isinstance(base, exp.Dot):
        names.insert(0, base.expression.name)
        base = base.this
    if isinstance(base, exp.Column):
        return self.column([*(part.name for part in base.parts), *names], scope)
    if isinstance(base, exp.Identifier):
        return self.column([base.name, *names], scope)
    return _fields(self.value(base, scope), names)


def _identifier(self: Expressions, node: exp.Identifier, scope: Scope) -> Value:
    return self.column([node.name], scope)


def _literal(self: Expressions, node: exp.Literal, scope: Scope) -> Value:
    written = node.name
    if node.is_string:
        return Value(text(written), VARCHAR, constant=True)
    if "e" in written.lower():
        return Value(f"{written}::DOUBLE", Type("double"), constant=True)
    if "." in written:
        return _decimal(written)
    number = int(written)
    if number >= 2**63:
        raise QueryError(f"{written} is out of the range of bigint; write it as DECIMAL '{written}'")
    kind = INTEGER if number < _INTEGERS else Type("bigint")
    return Value(f"{number}::{kind.duckdb}" if kind != INTEGER else str(number), kind, constant=True)


def _decimal(written: str) -> Value:
    whole, _, fraction = written.partition(".")
    digits = len((whole + fraction).lstrip("0"))
    kind = decimal(max(digits, len(fraction)), len(fraction))
    return Value(f"'{written}'::{kind.duckdb}", kind, constant=True)


def _cast(self: Expressions, node: Any, scope: Scope) -> Value:
    kind, inner = casts.type_of(node.to), node.this
    safe = isinstance(node, exp.TryCast)
    if isinstance(inner, exp.Literal) and inner.is_string and not safe:
        # sqlglot has one node for CAST('...' AS TIMESTAMP) and TIMESTAMP '...'
        if kind.is_moment:
            found = casts.moment_literal(inner.name)
            if kind.name == "timestamptz":
                found = coerce(found, timestamptz(found.type.precision, found.type.zone))
                kind = replace(kind, zone=found.type.zone)
            return casts.cast(found, kind)
        if kind == DATE:
            return casts.date_literal(inner.name)
        if kind.name == "decimal" and not node.to.expressions and re.fullmatch(r"\d*\.?\d*", inner.name):
            return _decimal(inner.name)
    return casts.cast(self.value(inner, scope), kind, safe=safe)


def _bracket(self: Expressions, node: exp.Bracket, scope: Scope) -> Value:
    if len(node.expressions) != 1:
        refuse(f"{node.sql('trino')[:80]}")
    container, key = self.value(node.this, scope), self.value(node.expressions[0], scope)
    kind = container.type
    if kind.name == "map":
        wanted = coerce(key, kind.args[0])
        if wanted.type != kind.args[0]:
            raise QueryError(f"{kind} has no key of type {key.type}")
        return combine(f"frazil_at_key({container.sql}, {wanted.sql})", kind.args[1], (container, wanted))
    if kind.name == "array" and key.type.is_integer:
        return combine(f"frazil_at_index({container.sql}, {key.sql})", kind.args[0], (container, key))
    if kind.name == "row" and isinstance(node.expressions[0], exp.Literal) and key.type.is_integer:
        position = int(node.expressions[0].name) - 1
        if 0 <= position < len(kind.args):
            name = field_names(kind)[position]
            return container.written(f"({container.sql}).{quoted(name)}", kind.args[position])
    raise QueryError(f"{kind} has no element at a {key.type}")


def _array(self: Expressions, node: exp.Array, scope: Scope) -> Value:
    if not node.expressions:
        return Value("[]::INTEGER[]", array(UNKNOWN), constant=True)
    items, kind = unify([self.value(item, scope) for item in node.expressions], "ARRAY")
    return combine("[" + ", ".join(item.sql for item in items) + "]", array(kind), items)


def _row(self: Expressions, node: Any, scope: Scope) -> Value:
    return row_of([self.value(item, scope) for item in node.expressions])


def _trim(self: Expressions, node: exp.Trim, scope: Scope) -> Value:
    value = as_text(self.value(node.this, scope), "TRIM")
    characters = node.args.get("expression")
    wanted = as_text(self.value(characters, scope), "TRIM") if characters else Value("frazil_spaces()", VARCHAR)
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return combine(f"{name}({value.sql}, {wanted.sql})", VARCHAR, (value,) if not characters else (value, wanted))


def _position(self: Expressions, node: exp.StrPosition, scope: Scope) -> Value:
    inside = as_text(self.value(node.this, scope), "POSITION")
    wanted = as_text(self.value(node.args["substr"], scope), "POSITION")
    return combine(f"strpos({inside.sql}, {wanted.sql})", Type("bigint"), (inside, wanted))


def _at_time_zone(self: Expressions, node: exp.AtTimeZone, scope: Scope) -> Value:
    return dates.at_zone(self.value(node.this, scope), self.value(node.args["zone"], scope))


def _binary(self: Expressions, node: Any, scope: Scope) -> Value:
    return Value(f"unhex({text(node.name)})", VARBINARY, constant=True)


_TRANSLATORS: dict[type[exp.Expr], Translator] = {
    **PREDICATES,
    exp.Alias: lambda self, node, scope: self.value(node.this, scope),
    exp.Anonymous: calls.call,
    exp.Array: _array,
    exp.AtTimeZone: _at_time_zone,
    exp.Boolean: lambda self, node, scope: Value(str(node.this).upper(), BOOLEAN, constant=True),
    exp.Bracket: _bracket,
    exp.Cast: _cast,
    exp.Column: _column,
    exp.CurrentDate: lambda self, node, scope: self.moment().written(f"CAST({local(self.moment())} AS DATE)", DATE),
    exp.CurrentTimestamp: lambda self, node, scope: self.moment(),
    exp.DPipe: lambda self, node, scope: joined(self.value(node.this, scope), self.value(node.expression, scope)),
    exp.Dot: _dot,
    exp.Extract: dates.extract,
    exp.Filter: calls.call,
    exp.GroupConcat: calls.call,
    exp.HexString: _binary,
    exp.Identifier: _identifier,
    exp.IgnoreNulls: calls.call,
    exp.Interval: lambda self, node, scope: casts.interval(node),
    exp.Literal: _literal,
    exp.Localtimestamp: lambda self, node, scope: self.moment().written(local(self.moment()), timestamp(3)),
    exp.Neg: lambda self, node, scope: negated(self.value(node.this, scope)),
    exp.Null: lambda self, node, scope: Value("NULL", UNKNOWN, constant=True),
    exp.Paren: lambda self, node, scope: self.value(node.this, scope),
    exp.RespectNulls: calls.call,
    exp.StrPosition: _position,
    exp.Struct: _row,
    exp.Trim: _trim,
    exp.TryCast: _cast,
    exp.Tuple: _row,
    exp.Window: calls.call,
    exp.WithinGroup: calls.call,
    **{
        kind: (
            lambda self, node, scope: arithmetic(
                _ARITHMETIC[type(node)], self.value(node.this, scope), self.value(node.expression, scope)
            )
        )
        for kind in _ARITHMETIC
    },
}
