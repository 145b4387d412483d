"""The replication slot of Debezium's connector for PostgreSQL."""

from collections.abc import Mapping
from typing import Any

from frazil.clients.postgres import Slot
from frazil.connectors.debezium_keys import is_postgres

_ACCESS = {
    "hostname": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "dbname": "dbname",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}
"""Parameters of a connection by the keys behind `database.`."""
_LOST = "lost, since PostgreSQL has removed log that was not read; drop it and take a new snapshot"


def slot_of(config: Mapping[str, str]) -> tuple[dict[str, Any], str] | None:
    """Give access to the database and name of the slot; None for any other connector."""
    if not is_postgres(config):
        return None
    given = {name: config.get(f"database.{key}", "").strip() for key, name in _ACCESS.items()}
    return {name: value for name, value in given.items() if value}, config.get("slot.name", "").strip() or "debezium"


def slot_text(slot: Slot) -> str:
    """Write what is known of a slot."""
    if slot.lost:
        return _LOST
    found = ["active" if slot.active else "nobody reads it"]
    for value, what in ((slot.behind_bytes, "behind"), (slot.kept_bytes, "of log kept")):
        if value is not None:
            found.append(f"{value / (1 << 20):,.1f} MiB {what}")
    return ", ".join([*found, *([f"read up to {slot.confirmed}"] if slot.confirmed else [])])
