"""Engines that answer SQL: the embedded one, or Trino."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.environment.settings import Settings
from frazil.sql.render import Format

if TYPE_CHECKING:
    from frazil.sql.engine import Engine
    from frazil.sql.trino import TrinoEngine


class EngineName(StrEnum):
    """Name of an engine."""

    EMBEDDED = "embedded"
    TRINO = "trino"


EngineOption = Annotated[
    EngineName | None,
    typer.Option("--engine", help="Who answers: frazil itself, or Trino (that of the stack, or TRINO_URL)."),
]

FormatOption = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
ExpandedOption = Annotated[
    bool, typer.Option("--expanded", "-x", help="One value per line, so that each column has room.")
]


def open_engine(settings: Settings, name: EngineName | None = None) -> Engine | TrinoEngine:
    """The engine of a name; without one, Trino where TRINO_URL is set, else the embedded engine.

    Raises ConfigError when Trino's variables cannot be used. A catalog that does not answer shows with the first
    statement that names a table.
    """
    if name is EngineName.TRINO or (name is None and settings.trino_external):
        from frazil.sql.trino import TrinoEngine

        return TrinoEngine(settings)
    from frazil.minio.questions.views import QUESTION_VIEWS
    from frazil.sql.engine import embedded_engine

    return embedded_engine(settings, QUESTION_VIEWS)
