"""What the schemas of Avro files say of the Connect schemas of their records."""

from __future__ import annotations

import base64
import json
from typing import Any

import fastavro
import msgspec

from frazil.connectors.objects.formats.avro import avro_schema
from frazil.connectors.objects.formats.avro_notes import noted, schema_of
from frazil.pipeline.envelope import columns_of
from frazil.pipeline.envelope import schema_of as parsed
from frazil.pipeline.schemas.avro import avro_to_connect, parse_avro
from frazil.pipeline.schemas.connect import ConnectSchema
from frazil.pipeline.types import Field, List, Map, Scalar, Struct

CONNECT, CONFLUENT = "org.apache.kafka.connect.data.", "io.confluent.connect.avro"
DECIMAL = {"type": "bytes", "name": f"{CONNECT}Decimal", "version": 1, "parameters": {"scale": "2"}}
TOLD: dict[str, Any] = {
    "type": "struct",
    "name": "shop.Order",
    "version": 3,
    "doc": "an order",
    "parameters": {"owner": "sales", f"{CONFLUENT}.record.doc": "as Avro has it", f"{CONFLUENT}.field.doc.n": "units"},
    "fields": [
        {"type": "int16", "field": "n", "doc": "how many", "default": 7},
        {"type": "bytes", "field": "b", "optional": True, "default": base64.b64encode(b"\xff\x00").decode()},
        DECIMAL | {"field": "d", "default": base64.b64encode(b"\x7b").decode()},
        {"type": "int64", "field": "at", "name": "io.debezium.time.MicroTimestamp", "version": 1},
        {"type": "int64", "field": "micros", "parameters": {"logicalType": "timestamp-micros"}},
        {"type": "string", "field": "a-b", "default": "x", "parameters": {f"{CONFLUENT}.field.default": "true"}},
        {"type": "array", "field": "l", "items": {"type": "int32", "name": f"{CONNECT}Date", "version": 1}},
        {"type": "map", "field": "m", "keys": {"type": "string"}, "values": DECIMAL},
        {"type": "map", "field": "e", "keys": {"type": "int8"}, "values": {"type": "string", "doc": "text"}},
    ],
}


def written(told: Any) -> dict[str, Any]:
    columns = columns_of(json.dumps(told).encode())
    assert columns is not None
    schema: dict[str, Any] = noted(avro_schema(columns, told["name"])[0], parsed(json.dumps(told).encode()))
    fastavro.parse_schema(schema)
    return schema


def test_a_file_tells_documentation_parameters_names_versions_and_defaults() -> None:
    schema = written(TOLD)
    assert {name: value for name, value in schema.items() if name not in ("type", "fields")} == {
        "name": "shop.Order",
        "doc": "as Avro has it",
        "connect.doc": "an order",
        "connect.name": "shop.Order",
        "connect.version": 3,
        "connect.parameters": TOLD["parameters"],
    }
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
    decimal |= {"connect.name": f"{CONNECT}Decimal", "connect.version": 1, "connect.parameters": {"scale": "2"}}
    fields = {field["name"]: field for field in schema["fields"]}
    assert fields["n"]["doc"] == "units"
    assert {name: field["type"][1] for name, field in fields.items()} == {
        "n": {"type": "int", "connect.type": "int16", "connect.doc": "how many", "connect.default": 7},
        "b": {"type": "bytes", "connect.default": "\xff\x00"},
        "d": decimal | {"connect.default": "\x7b"},
        "at": {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "connect.version": 1},
        "micros": "long",
        "a_x2d_b": "string",
        "l": {
            "type": "array",
            "items": [
                "null",
                {"type": "int", "logicalType": "date", "connect.name": f"{CONNECT}Date", "connect.version": 1},
            ],
        },
        "m": {"type": "map", "values": ["null", decimal]},
        "e": {
            "type": "array",
            "items": {
                "type": "record",
                "name": "shop.Order.e.MapEntry",
                "fields": [
                    {"name": "key", "type": ["null", {"type": "int", "connect.type": "int8"}], "default": None},
                    {"name": "value", "type": ["null", {"type": "string", "connect.doc": "text"}], "default": None},
                ],
            },
        },
    }


def test_a_converter_that_reads_the_file_finds_them_again() -> None:
    found = avro_to_connect(parse_avro(json.dumps(written(TOLD))))
    told = parsed(json.dumps(TOLD).encode())
    assert (found.name, found.version, found.doc, found.parameters) == (
        told.name,
        told.version,
        told.doc,
        told.parameters,
    )
    kept = {one.field: one for one in found.fields or ()}
    for one in (told.fields or ())[:4]:
        again = kept[one.field]
        assert (again.type, again.name, again.version, again.doc) == (one.type, one.name, one.version, one.doc)
        assert again.default == one.default


def test_a_default_value_that_is_none_of_its_schema_is_left_out() -> None:
    schema = ConnectSchema("bytes", default=msgspec.Raw(b'"a"'))
    assert noted("bytes", schema) == "bytes"


def test_changed_values_tell_names_and_versions() -> None:
    inner = Struct((Field("day", Scalar("date", origin=f"{CONNECT}Date")),), origin="In", version=2)
    type_ = Struct(
        (
            Field("l", List(inner)),
            Field("m", Map(Scalar("string"), Scalar("decimal", 38, 2))),
            Field("t", Scalar("long", origin="timestamp-micros")),
        ),
        origin="Out",
    )
    assert json.loads(schema_of(type_).to_json()) == {
        "type": "struct",
        "name": "Out",
        "fields": [
            {
                "type": "array",
                "field": "l",
                "items": {
                    "type": "struct",
                    "name": "In",
                    "version": 2,
                    "fields": [{"type": "date", "field": "day", "name": f"{CONNECT}Date", "version": 1}],
                },
            },
            {"type": "map", "field": "m", "keys": {"type": "string"}, "values": DECIMAL},
            {"type": "long", "field": "t"},
        ],
    }
