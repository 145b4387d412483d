"""Streams into lakehouse tables: runs Kafka Connect sink configurations on Spark, exactly once.

`open` a connector, `query` the tables, run a `Worker`; `errors` has what they raise. Source: docs/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import errors

if TYPE_CHECKING:
    from frazil.api.connector import Connector
    from frazil.api.connector import open_connector as open
    from frazil.api.data_source import RecordSource
    from frazil.api.query import query
    from frazil.api.worker import Worker

__all__ = ["Connector", "RecordSource", "Worker", "errors", "open", "query"]

_PLACES = {
    "Connector": ("frazil.api.connector", "Connector"),
    "RecordSource": ("frazil.api.data_source", "RecordSource"),
    "open": ("frazil.api.connector", "open_connector"),
    "query": ("frazil.api.query", "query"),
    "Worker": ("frazil.api.worker", "Worker"),
}


def __getattr__(name: str) -> Any:
    """Load a name when it is used: who imports a part of frazil does not pay for the others."""
    if name not in _PLACES:
        raise AttributeError(f"module 'frazil' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)
