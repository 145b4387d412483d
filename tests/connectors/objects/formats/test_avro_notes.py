"""What the schemas of Avro files say of the Connect schemas of their records."""

from __future__ import annotations

import base64
import json
from typing import Any

import avro.schema
import fastavro
import msgspec
import pytest

from frazil.connectors.objects.formats.avro import avro_schema
from frazil.connectors.objects.formats.avro_notes import noted
from frazil.connectors.objects.told import with_required
from frazil.pipeline.envelope import columns_of
from frazil.pipeline.schemas.avro import avro_to_connect, parse_avro
from frazil.pipeline.schemas.connect import ConnectSchema, read_schema

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


def written(told: Any, *, properties: bool = True) -> dict[str, Any]:
    text = json.dumps(told).encode()
    columns, parsed = columns_of(text), read_schema(text)
    assert columns is not None
    made, _ = avro_schema(with_required(columns, parsed), told["name"])
    schema: dict[str, Any] = noted(made, parsed, properties=properties)
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
    assert {name: field["type"] for name, field in fields.items()} == {
        "n": {"type": "int", "connect.type": "int16", "connect.doc": "how many", "connect.default": 7},
        "b": [{"type": "bytes", "connect.default": "\xff\x00"}, "null"],
        "d": decimal | {"connect.default": "\x7b"},
        "at": {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "connect.version": 1},
        "micros": "long",
        "a_x2d_b": "string",
        "l": {
            "type": "array",
            "items": {"type": "int", "logicalType": "date", "connect.name": f"{CONNECT}Date", "connect.version": 1},
        },
        "m": {"type": "map", "values": decimal},
        "e": {
            "type": "array",
            "items": {
                "type": "record",
                "name": "shop.Order.e.MapEntry",
                "fields": [
                    {"name": "key", "type": {"type": "int", "connect.type": "int8"}},
                    {"name": "value", "type": {"type": "string", "connect.doc": "text"}},
                ],
            },
        },
    }


def test_a_converter_that_reads_the_file_finds_them_again() -> None:
    found = avro_to_connect(parse_avro(json.dumps(written(TOLD))))
    told = read_schema(json.dumps(TOLD).encode())
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
        assert (again.default, again.optional is True) == (one.default, one.optional is True)


RECORD = {"type": "struct", "fields": [{"type": "int32", "field": "x"}]}


@pytest.mark.parametrize(
    ("field", "in_avro"),
    [
        ({"type": "int32"}, {"type": "int"}),
        ({"type": "int32", "optional": True}, {"type": ["null", "int"], "default": None}),
        ({"type": "int32", "default": 0}, {"type": "int", "default": 0}),
        ({"type": "int32", "optional": True, "default": 7}, {"type": ["int", "null"], "default": 7}),
        ({"type": "int32", "default": 1 << 40}, {"type": "int"}),
        ({"type": "int32", "default": True}, {"type": "int"}),
        ({"type": "double", "default": "NaN"}, {"type": "double"}),
        ({"type": "bytes", "default": "/wA="}, {"type": "bytes", "default": "\xff\0"}),
        (
            {"type": "array", "items": {"type": "string"}, "default": ["x"]},
            {"type": {"type": "array", "items": "string"}, "default": ["x"]},
        ),
        (
            {"type": "array", "items": {"type": "string", "optional": True}, "default": ["x"]},
            {"type": {"type": "array", "items": ["null", "string"]}},
        ),
        (
            {"type": "map", "keys": {"type": "string"}, "values": {"type": "boolean"}, "default": {"a": True}},
            {"type": {"type": "map", "values": "boolean"}, "default": {"a": True}},
        ),
        (
            RECORD | {"default": {"x": 1}, "optional": True},
            {
                "type": [{"type": "record", "name": "R.f", "fields": [{"name": "x", "type": "int"}]}, "null"],
                "default": {"x": 1},
            },
        ),
        (
            RECORD | {"default": {}},
            {"type": {"type": "record", "name": "R.f", "fields": [{"name": "x", "type": "int"}]}},
        ),
    ],
)
def test_what_is_optional_is_a_union_whose_first_type_is_that_of_the_default_value(
    field: dict[str, Any], in_avro: dict[str, Any]
) -> None:
    told = {"type": "struct", "name": "R", "fields": [field | {"field": "f"}]}
    schema = written(told, properties=False)
    assert schema["fields"] == [{"name": "f"} | in_avro]
    avro.schema.parse(json.dumps(schema))


def test_a_default_value_that_is_none_of_its_schema_is_left_out() -> None:
    schema = ConnectSchema("bytes", default=msgspec.Raw(b'"a"'))
    assert noted("bytes", schema, properties=True) == "bytes"
