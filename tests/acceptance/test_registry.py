"""A worker stores records with schemas of a real registry."""

from __future__ import annotations

import io
import json
import struct
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.client import RegistryClient
from frazil.environment.settings import Settings
from tests.harness import Pipe, Worker, eventually, messages

pytestmark = pytest.mark.spark

FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
]
AT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)


def encoded(number: int, schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return b"\0" + struct.pack(">i", number) + out.getvalue()


def test_old_and_new_schemas_fill_one_table(worker: Worker, pipe: Pipe, registry: Settings) -> None:
    client = RegistryClient(RegistryAccess((registry.registry_url,)))
    old: dict[str, Any] = {"type": "record", "name": "Sale", "fields": FIELDS}
    note = {"name": "note", "type": ["null", {"type": "enum", "name": "N", "symbols": ["GOOD"]}], "default": None}
    new: dict[str, Any] = {**old, "fields": [*FIELDS, note]}
    first, second = (client.register(f"{pipe.name}-value", json.dumps(schema)) for schema in (old, new))
    value = {"id": 1, "price": Decimal("12345678901234567.125"), "at": AT}
    pipe.send(
        [
            encoded(first, old, value),
            encoded(second, new, value | {"id": 2, "note": "GOOD"}),
            encoded(1_000_000, old, value),
            None,
        ],
        partition=0,
    )
    table = f"acceptance.{pipe.name}_sales"
    config = pipe.config(
        iceberg__tables=table,
        iceberg__tables__auto_create_enabled="true",
        value__converter="io.confluent.connect.avro.AvroConverter",
        value__converter__schema__registry__url=registry.registry_url,
        errors__tolerance="all",
        errors__deadletterqueue__context__headers__enable="true",
    )
    config["iceberg.tables.auto-create-enabled"] = "true"
    del config["value.converter.schemas.enable"]
    worker.client.put_config(pipe.connector, config)
    eventually(lambda: pipe.lag() == 0)

    stored = pipe.catalog().load_table(table)
    assert {field.name: str(field.field_type) for field in stored.schema().fields} == {
        "id": "long",
        "price": "decimal(38, 3)",
        "at": "timestamptz",
        "note": "string",
    }
    rows = sorted(stored.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [value | {"note": None}, value | {"id": 2, "note": "GOOD"}]
    (letter,) = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    headers = dict(letter.headers())
    assert headers["__connect.errors.stage"] == b"VALUE_CONVERTER"
    assert headers["__connect.errors.class.name"] == b"io.confluent.connect.avro.AvroConverter"
    assert b"the registry has no schema with id 1000000" in headers["__connect.errors.exception.message"]
