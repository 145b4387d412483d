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
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.client import RegistryClient
from frazil.environment.settings import Settings
from frazil.minio.generators.schemas import Format
from frazil.minio.records.tables import API_SCHEMA
from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_class, message_of
from tests.harness import Pipe, Worker, messages
from tests.waits import eventually

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


PART = 'syntax = "proto3";\npackage shop;\nmessage Part { string name = 1; float weight = 2; }\n'
OLD = """
syntax = "proto3";
package shop;
import "part.proto";
import "google/protobuf/timestamp.proto";
message Other {}
message Sale { int64 id = 1; Part part = 2; google.protobuf.Timestamp at = 3; }
"""
NEW = OLD.replace(
    "at = 3;", "at = 3; map<string, int32> counts = 4; oneof payment { string cash = 5; int64 card = 6; }"
)


def message(number: int, text: str, **values: Any) -> bytes:
    sale = message_class(message_of(compile_protobuf(text, [("part.proto", PART)]), "shop.Sale"))
    data: bytes = sale(**values).SerializeToString()
    return b"\0" + struct.pack(">i", number) + b"\x02\x02" + data


def test_protobuf_of_two_schemas_fills_one_table(worker: Worker, pipe: Pipe, registry: Settings) -> None:
    client = RegistryClient(RegistryAccess((registry.registry_url,)))
    client.register("part.proto", PART, "PROTOBUF")
    references = [{"name": "part.proto", "subject": "part.proto", "version": 1}]
    first, second = (client.register(f"{pipe.name}-value", text, "PROTOBUF", references) for text in (OLD, NEW))
    pipe.send(
        [
            message(first, OLD, id=2**60 + 1, part={"name": "x", "weight": 0.5}, at={"seconds": 1_700_000_000}),
            message(second, NEW, id=2, counts={"b": 2, "a": 1}, cash="y"),
            message(first, OLD)[:-1] + b"\xff",
            message(first, OLD, id=3),
        ],
        partition=0,
    )
    table = f"acceptance.{pipe.name}_proto"
    config = pipe.config(iceberg__tables=table, errors__tolerance="all")
    config |= {
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "value.converter": "io.confluent.connect.protobuf.ProtobufConverter",
        "value.converter.schema.registry.url": registry.registry_url,
    }
    del config["value.converter.schemas.enable"]
    worker.client.put_config(pipe.connector, config)
    eventually(lambda: pipe.lag() == 0)

    stored = pipe.catalog().load_table(table)
    assert {field.name: str(field.field_type) for field in stored.schema().fields} == {
        "id": "long",
        "part": "struct<3: name: optional string, 4: weight: optional float>",
        "at": "timestamptz",
        "payment_0": "struct<7: cash: optional string, 8: card: optional long>",
        "counts": "map<string, int>",
    }
    rows = {row["id"]: row for row in stored.scan().to_arrow().to_pylist()}
    assert rows.keys() == {2**60 + 1, 2, 3}
    assert rows[2**60 + 1]["part"] == {"name": "x", "weight": 0.5}
    assert rows[2**60 + 1]["at"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (dict(rows[2]["counts"]), rows[2]["payment_0"]) == ({"a": 1, "b": 2}, {"cash": "y", "card": None})
    assert (rows[3]["part"], rows[3]["at"], rows[3]["payment_0"]) == (None, None, None)
    (letter,) = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    assert letter.offset() == 0


CONVERTERS = {
    Format.AVRO: "io.confluent.connect.avro.AvroConverter",
    Format.PROTOBUF: "io.confluent.connect.protobuf.ProtobufConverter",
    Format.JSON_SCHEMA: "io.confluent.connect.json.JsonSchemaConverter",
}


@pytest.mark.parametrize("form", Format)
def test_generated_records_are_stored_with_the_columns_of_their_schema(
    worker: Worker, pipe: Pipe, registry: Settings, monkeypatch: pytest.MonkeyPatch, form: Format
) -> None:
    env = {"SCHEMA_REGISTRY_URL": registry.registry_url, "API_LOGS_TOPIC": pipe.name}
    for name, text in (*pipe.settings.env.items(), *env.items()):
        monkeypatch.setenv(name, text)
    made = CliRunner().invoke(app, ["generate", "api", "-n", "300", "--format", form])
    assert made.exit_code == 0 and made.stdout.startswith(f"{pipe.name}-{form}: 300 records"), made.output
    table = f"acceptance.{pipe.name}_{form.replace('-', '_')}"
    config = pipe.config(iceberg__tables=table, topics=f"{pipe.name}-{form}")
    config |= {
        "iceberg.tables.auto-create-enabled": "true",
        "value.converter": CONVERTERS[form],
        "value.converter.schema.registry.url": registry.registry_url,
    }
    del config["value.converter.schemas.enable"]
    worker.client.put_config(pipe.connector, config)

    def stored() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pipe.catalog().load_table(table).scan().to_arrow().to_pylist()
        return rows

    eventually(lambda: pipe.catalog().table_exists(table) and len(stored()) == 300)
    columns = {field.name: str(field.field_type) for field in pipe.catalog().load_table(table).schema().fields}
    assert columns.keys() == {field.name for field in API_SCHEMA.fields}
    assert (columns["time"], columns["tags"]) == ("timestamptz", "map<string, string>")
    assert all(row["time"].year >= 2026 and row["name"] for row in stored())
