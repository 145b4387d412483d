"""Schemas as Kafka Connect has them, in the form that JsonConverter writes."""

from __future__ import annotations

from typing import Literal

import msgspec

PREFIX = "org.apache.kafka.connect.data."
DECIMAL, DATE, TIME, TIMESTAMP = f"{PREFIX}Decimal", f"{PREFIX}Date", f"{PREFIX}Time", f"{PREFIX}Timestamp"

SchemaKind = Literal[
    "boolean", "int8", "int16", "int32", "int64", "float", "double", "string", "bytes", "array", "map", "struct"
]


class ConnectSchema(msgspec.Struct, omit_defaults=True):
    """A schema; members of a struct have `field`. `default` is JSON, as values are written."""

    type: str
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    default: msgspec.Raw | None = None
    field: str | None = None
    parameters: dict[str, str] | None = None
    fields: list[ConnectSchema] | None = None
    items: ConnectSchema | None = None
    keys: ConnectSchema | None = None
    values: ConnectSchema | None = None

    def to_json(self) -> bytes:
        """Write the schema as JsonConverter does, so that equal schemas have the same text."""
        return msgspec.json.encode(self)
