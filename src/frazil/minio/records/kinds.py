"""The three kinds of log records, with the names of their tables and connectors."""

from typing import Literal

TableKind = Literal["api", "error", "audit"]

TABLE_NAMES: dict[TableKind, str] = {"api": "apilogs", "error": "errorlogs", "audit": "auditlogs"}
CONNECTOR_NAMES: dict[TableKind, str] = {kind: f"iceberg-sink-{table}" for kind, table in TABLE_NAMES.items()}
