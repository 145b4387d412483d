"""The file of a connector, in one of the two shapes that Kafka Connect's REST API takes."""

from __future__ import annotations

import json
from pathlib import Path

from frazil.errors import UsageError


def read_connector(file: Path, what: str) -> tuple[str, dict[str, str]]:
    """Name, empty when there is none, and configuration of a connector.

    Raises UsageError that begins with `what`.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} cannot be read: {error}") from None
    except RecursionError:
        raise UsageError(f"{what} cannot be read: it is nested too deeply") from None
    return connector_in(found, what)


def connector_in(document: object, what: str) -> tuple[str, dict[str, str]]:
    """Name and configuration in a document: keys and values, or these as `config` beside `name`."""
    config = document.get("config", document) if isinstance(document, dict) else None
    if not isinstance(config, dict) or not all(isinstance(v, str | int | float | bool) for v in config.values()):
        raise UsageError(f"{what}: expected the keys and values of one connector as a JSON object")
    own = document.get("name") if isinstance(document, dict) else None
    name = str(own or config.get("name") or "")
    return name, {key: v if isinstance(v, str) else json.dumps(v) for key, v in config.items()}
