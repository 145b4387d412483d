"""How a connector finds the tables of a record (iceberg-sink.md 1.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOPIC = "{topic}"
"""Stands for the topic's name in `frazil.tables.topic-pattern`."""

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f/\\?#%\"`]")
_LONGEST_NAME = 255


@dataclass(frozen=True)
class Route:
    """The rule of one connector; without one every record goes to every table.

    `path` leads to the value that decides, `topic_pattern` makes a name of the topic instead. `dynamic`: the value is
    the table's name; else a record goes to the tables of `regexes` whose Java regular expression matches all of it.
    """

    path: tuple[str, ...] = ()
    regexes: tuple[tuple[str, str], ...] = ()
    dynamic: bool = False
    topic_pattern: str = ""

    @property
    def names_tables(self) -> bool:
        """Whether records say which tables there are."""
        return self.dynamic or bool(self.topic_pattern)


def table_name_problem(name: str) -> str | None:
    """Why a text cannot be the name of a table, as a record may bring any text; None when it can."""
    levels = name.split(".")
    if len(levels) < 2 or not all(levels):
        return "it is not written namespace.table"
    if _FORBIDDEN.search(name) or ".." in name:
        return "it has characters that a table's name cannot have"
    if len(name) > _LONGEST_NAME:
        return f"it is longer than {_LONGEST_NAME} characters"
    return None
