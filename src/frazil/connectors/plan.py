"""Plan of an engine for a statement."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Columns of a statement's rows with their types, and the engine's steps in its own words."""

    columns: Mapping[str, str]
    steps: str
