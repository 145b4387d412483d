"""Lambda expressions as arguments of functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.sql.functions.signatures import Bindings, LambdaType, bind, resolved
from frazil.query.sql.value import Value, coerce

if TYPE_CHECKING:
    from frazil.query.sql.expressions import Expressions
    from frazil.query.sql.relations import Scope


def lambda_of(self: Expressions, node: exp.Expr, wanted: LambdaType, bindings: Bindings, scope: Scope) -> Value:
    """Translate `(x, y) -> body`; the type variable of its result is bound. Raises QueryError when it does not fit."""
    if not isinstance(node, exp.Lambda) or len(node.expressions) != len(wanted.args):
        raise QueryError(f"a function of {len(wanted.args)} arguments is needed: {node.sql('trino')[:80]}")
    variables = dict(scope.variables)
    names = []
    for parameter, kind in zip(node.expressions, wanted.args, strict=True):
        names.append(f"v{len(variables)}")
        variables[parameter.name.lower()] = Value(names[-1], resolved(kind, bindings))
    body = self.value(node.this, replace(scope, variables=variables))
    if not bind(wanted.result, body.type, bindings):
        raise QueryError(f"the function gives {body.type}, {wanted.result} is needed: {node.sql('trino')[:80]}")
    kind = resolved(wanted.result, bindings, body.type)
    return body.written(f"lambda {', '.join(names)}: {coerce(body, kind).sql}", kind)
