"""Options that several verbs take alike, declared once as the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, get_type_hints


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """Let a verb take the fields of a dataclass, which is its first parameter, as options of its own."""
    first, *rest = inspect.signature(verb, eval_str=True).parameters.values()
    kind: Any = first.annotation
    hints = get_type_hints(kind, include_extras=True)
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(kind)
    ]

    @wraps(verb)
    def called(**given: Any) -> None:
        verb(kind(**{one.name: given.pop(one.name) for one in fields(kind)}), **given)

    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in rest]
    called.__signature__ = inspect.Signature([*options, *own])  # type: ignore[attr-defined]
    return called
