"""The embedded engine over the catalog that settings describe."""

from __future__ import annotations

from functools import cache

from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.sql.engine import Engine
from frazil.sql.view import Views


def embedded_engine(settings: Settings, own_views: Views) -> Engine:
    """Make the engine; a catalog that does not answer shows with the first statement that names a table.

    `own_views` are views of the program's own, beside those of the catalog.
    """
    # The catalogs in question know views without saying so.
    properties = {**settings.catalog_properties(), "view-endpoints-supported": "true"}
    return Engine(cache(lambda: connect(properties)), settings.warehouse, settings.namespace, own_views=own_views)
