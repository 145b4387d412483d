"""The connectors that the worker has, for verbs that can do without."""

from typing import Any

from frazil.environment.settings import Settings
from frazil.errors import FrazilError


def worker_connectors(settings: Settings) -> tuple[dict[str, dict[str, Any]], str]:
    """Connectors with their `info` and `status`, by name, as the REST API has them; and why they are not known."""
    from frazil.clients.connect import ConnectClient

    try:
        with ConnectClient(settings.connect_access) as client:
            return client.expanded(), ""
    except FrazilError as error:
        return {}, str(error)
