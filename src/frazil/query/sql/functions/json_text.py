"""Functions of JSON in text (Trino documentation, JSON functions and operators)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.functions.dates import Builder, arguments, literal
from frazil.query.sql.types import BIGINT, BOOLEAN, JSON, VARCHAR, Type, text
from frazil.query.sql.value import Value, coerce, combine, refuse

if TYPE_CHECKING:
    from frazil.query.sql.expressions import Expressions
    from frazil.query.sql.relations import Scope

_PATH = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]|\[\"[^\"]*\"\]|\['[^']*'\])*")


def _json_path(node: exp.Expr) -> str:
    path = literal(node, "a JSON path")
    if not _PATH.fullmatch(path):
        refuse(f'the JSON path {path!r}; there are $.name, [0] and ["name"]')
    return path


def _json_extract(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    value, _ = arguments(self, "json_extract", nodes, scope, 2)
    return _json_text(value).written(f"frazil_json_extract({value.sql}, {text(_json_path(nodes[1]))})", JSON)


def _json_extract_scalar(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    value, _ = arguments(self, "json_extract_scalar", nodes, scope, 2)
    path = text(_json_path(nodes[1]))
    return _json_text(value).written(f"frazil_json_extract_scalar({value.sql}, {path})", VARCHAR)


def _json_size(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    value, _ = arguments(self, "json_size", nodes, scope, 2)
    return _json_text(value).written(
        f"frazil_json_size(frazil_json_extract({value.sql}, {text(_json_path(nodes[1]))}))", BIGINT
    )


def _json_text(value: Value) -> Value:
    if value.type.name not in ("json", "varchar", "unknown"):
        raise QueryError(f"a JSON text is needed, not {value.type}")
    return value


def _json_call(name: str, kind: Type, *more: Type) -> Builder:
    """Functions that take JSON, or text that holds JSON."""

    def build(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
        values = arguments(self, name, nodes, scope, 1 + len(more))
        rest = [coerce(value, wanted) for value, wanted in zip(values[1:], more, strict=True)]
        sql = ", ".join(value.sql for value in (_json_text(values[0]), *rest))
        return combine(f"frazil_{name}({sql})", kind, values)

    return build


def _json_array_contains(self: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> Value:
    value, wanted = arguments(self, "json_array_contains", nodes, scope, 2)
    if wanted.type.name not in ("varchar", "boolean", "integer", "bigint", "double"):
        refuse(f"json_array_contains of {wanted.type}")
    inside = f"CAST(to_json({wanted.sql}) AS VARCHAR)"
    return combine(f"frazil_json_array_contains({_json_text(value).sql}, {inside})", BOOLEAN, (value, wanted))


JSON_FUNCTIONS: dict[str, Builder] = {
    "is_json_scalar": _json_call("is_json_scalar", BOOLEAN),
    "json_array_contains": _json_array_contains,
    "json_array_length": _json_call("json_array_length", BIGINT),
    "json_extract": _json_extract,
    "json_extract_scalar": _json_extract_scalar,
    "json_size": _json_size,
}
