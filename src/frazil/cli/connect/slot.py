"""The replication slot of a connector for PostgreSQL, as `describe` shows it."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.clients.postgres import replication_slot
from frazil.connectors.debezium_slot import slot_of, slot_text
from frazil.declare.placeholders import has_placeholder
from frazil.errors import FrazilError

_WAIT_S = 5


def slot_rows(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Ask the database; no row for another connector, or one whose access only the worker knows."""
    place = slot_of(config)
    if place is None or any(has_placeholder(value) for value in place[0].values()):
        return []
    access, name = place
    try:
        slot = replication_slot(access, name, _WAIT_S)
    except FrazilError as error:
        return [("slot", f"{name}: not known, {error}")]
    return [("slot", f"{name}: {'not there' if slot is None else slot_text(slot)}")]
