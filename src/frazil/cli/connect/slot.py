"""The replication slot of a connector for PostgreSQL, as `describe` shows it."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.clients.postgres import Slot, replication_slot
from frazil.connectors.debezium_slot import slot_of
from frazil.declare.placeholders import has_placeholder
from frazil.errors import FrazilError

_WAIT_S = 5
_LOST = "lost, since PostgreSQL has removed log that was not read; drop it and take a new snapshot"


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


def slot_text(slot: Slot) -> str:
    """Write what is known of a slot."""
    if slot.lost:
        return _LOST
    found = ["active" if slot.active else "nobody reads it"]
    for value, what in ((slot.behind_bytes, "behind"), (slot.kept_bytes, "of log kept")):
        if value is not None:
            found.append(f"{value / (1 << 20):,.1f} MiB {what}")
    return ", ".join([*found, *([f"read up to {slot.confirmed}"] if slot.confirmed else [])])
