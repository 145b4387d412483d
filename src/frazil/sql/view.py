"""Views of the embedded engine, which whoever opens it gives it: they are stored in no catalog."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pyiceberg.schema import Schema


@dataclass
class Bounds:
    """Bounds that a statement sets for every row of a view, by column: a text, or the times that it lies between.

    A time is in `since` or later and before `until`.
    """

    texts: dict[str, str] = field(default_factory=dict)
    since: dict[str, datetime] = field(default_factory=dict)
    until: dict[str, datetime] = field(default_factory=dict)


class View(Protocol):
    """A statement in Trino's dialect that has a name."""

    @property
    def schema(self) -> Schema:
        """Names and types of its columns, in their order."""

    def statement(self, bounds: Bounds) -> str:
        """The statement, without a semicolon; rows outside the bounds may be left out."""


Views = Mapping[str, View]
"""Views by name, in lower case."""
