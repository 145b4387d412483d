"""The replication slot of Debezium's connector for PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def slot_of(config: Mapping[str, str]) -> tuple[dict[str, Any], str] | None:
    """Give access to the database and name of the slot; None for any other connector."""
    if not is_postgres(config):
        return None
    given = {name: config.get(f"database.{key}", "").strip() for key, name in _ACCESS.items()}
    return {name: value for name, value in given.items() if value}, config.get("slot.name", "").strip() or "debezium"
