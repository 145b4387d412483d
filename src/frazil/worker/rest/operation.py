"""Declares what a method of a resource takes and answers; the OpenAPI document is made from this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Schema = Mapping[str, Any]

_NOTHING: Mapping[str, Schema] = MappingProxyType({})
_ATTRIBUTE = "__operation__"


@dataclass(frozen=True)
class Operation:
    """Operation on a path; decorates the method of the resource.

    `answers` has the name of the body's schema by status, None for no body; `errors` are statuses whose body is
    `{error_code, message}`; `body` is the schema of the request's body; `query` has the schemas of the parameters.
    """

    summary: str
    answers: Mapping[int, str | None]
    errors: tuple[int, ...] = ()
    body: str | None = None
    query: Mapping[str, Schema] = field(default_factory=lambda: _NOTHING)

    def __call__(self, method: F) -> F:
        setattr(method, _ATTRIBUTE, self)
        return method


def operation_of(method: object) -> Operation:
    """The declaration of a method; raises LookupError when it has none."""
    declared = getattr(method, _ATTRIBUTE, None)
    if not isinstance(declared, Operation):
        raise LookupError(f"{method} has no @Operation")
    return declared
