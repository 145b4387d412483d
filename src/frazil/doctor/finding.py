"""Findings of a look at everything, and what the look goes by."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from frazil.declare.providers import ConfigProviders
from frazil.environment.settings import Settings
from frazil.stack.service import Service

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """Finding about a part: what it is, what it will cause, and what to do."""

    part: str
    level: Level
    what: str
    effect: str = ""
    cure: str = ""


@dataclass(frozen=True)
class Look:
    """Parts to look at: `connectors` as the REST API of the worker tells them, and the `services` of this home."""

    settings: Settings
    providers: ConfigProviders
    services: Sequence[Service] = ()
    connectors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


Check = Callable[[Look], Iterator[Finding]]
"""Looks at one part. What it raises as FrazilError is a problem of it."""
