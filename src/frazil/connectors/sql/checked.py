"""Checks that are put around values of a statement."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

_VALUE = "frazil_value"


def checked(value: exp.Expr, is_wrong: Callable[[exp.Expr], exp.Expr], said: str | None) -> None:
    """Let a value for which a condition is true fail, as a bad value of its record; without `said` it is NULL."""
    simple = isinstance(value, exp.Column)
    own = value.copy() if simple else exp.column(_VALUE)
    error = exp.null() if said is None else exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(said)])
    case = exp.Case(ifs=[exp.If(this=is_wrong(own.copy()), true=error)], default=own)
    if simple:
        value.replace(case)
        return
    # The value is computed once: it is the only one of a list.
    array = exp.Anonymous(this="array", expressions=[value.copy()])
    each = exp.Lambda(this=case, expressions=[exp.to_identifier(_VALUE)])
    transformed = exp.Anonymous(this="transform", expressions=[array, each])
    value.replace(exp.Bracket(this=transformed, expressions=[exp.Literal.number(0)]))
