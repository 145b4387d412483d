"""Tables of the schema `store` in the PostgreSQL of these tests, and connectors that take a snapshot of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from typer.testing import Result

from tests.connectors.iceberg.memory import MemoryCatalog

JSON = {
    f"{part}.converter{option}": value
    for part in ("key", "value")
    for option, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "true"))
} | {"value.converter.replace.null.with.default": "false"}
SINK = JSON | {
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics.regex": r"dbz\..*",
    "frazil.cdc.format": "debezium",
    "frazil.tables.topic-pattern": "store.{topic}",
    "iceberg.tables.auto-create-enabled": "true",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://127.0.0.1:9",
    "transforms": "table",
    "transforms.table.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.table.regex": r".*\.(.*)",
    "transforms.table.replacement": "$1",
}
ROWS = {"big": 50_000, "empty": 0, "small": 3}
Snapshot = Callable[..., Result]


def stored(catalog: MemoryCatalog) -> dict[str, int]:
    """Rows of each table, all of them different."""
    found = {}
    for name in ROWS:
        rows = catalog.load_table(f"store.{name}").scan().to_arrow()["id"].to_pylist()
        assert len(set(rows)) == len(rows)
        found[name] = len(rows)
    return found


def slots(database: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    return database.execute("SELECT slot_name, restart_lsn::text FROM pg_replication_slots").fetchall()
