"""Who answers SQL: the embedded engine, or Trino."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.query.engine import Engine
    from frazil.query.trino import TrinoEngine


class EngineName(StrEnum):
    """Who answers."""

    EMBEDDED = "embedded"
    TRINO = "trino"


EngineOption = Annotated[
    EngineName | None,
    typer.Option("--engine", help="Who answers: frazil itself, or Trino (that of the stack, or TRINO_URL)."),
]


def open_engine(settings: Settings, name: EngineName | None = None) -> Engine | TrinoEngine:
    """The engine of a name; without one, Trino where TRINO_URL is set, else the embedded engine.

    Raises ConfigError when Trino's variables cannot be used. A catalog that does not answer shows with the first
    statement that names a table.
    """
    if name is EngineName.TRINO or (name is None and settings.trino_external):
        from frazil.query.trino import TrinoEngine

        return TrinoEngine(settings)
    from frazil.clients.catalog import connect
    from frazil.minio.questions.views import QUESTION_VIEWS
    from frazil.query.engine import Engine

    # The catalogs in question know views without saying so.
    properties = {**settings.catalog_properties(), "view-endpoints-supported": "true"}
    catalog = cache(lambda: connect(properties))
    return Engine(catalog, settings.warehouse, settings.namespace, own_views=QUESTION_VIEWS)
