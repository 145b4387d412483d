from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.pipeline.schemas.avro import avro_to_connect, parse_avro
from frazil.pipeline.schemas.connect import DATE, DECIMAL, TIME, TIMESTAMP, ConnectOptions, SchemaError

DATA = "org.apache.kafka.connect.data"
AVRO = "io.confluent.connect.avro"


def connect(schema: Any, **options: bool) -> Any:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return json.loads(avro_to_connect(parse_avro(text), ConnectOptions(**options)).to_json())


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("boolean", {"type": "boolean"}),
        ("int", {"type": "int32"}),
        ('"long"', {"type": "int64"}),
        ({"type": "float"}, {"type": "float"}),
        ("double", {"type": "double"}),
        ("bytes", {"type": "bytes"}),
        ("string", {"type": "string"}),
        ({"type": "int", "connect.type": "int8"}, {"type": "int8"}),
        ({"type": "int", "logicalType": "date"}, {"type": "int32", "name": DATE, "version": 1}),
        ({"type": "int", "logicalType": "time-millis"}, {"type": "int32", "name": TIME, "version": 1}),
        ({"type": "long", "logicalType": "timestamp-millis"}, {"type": "int64", "name": TIMESTAMP, "version": 1}),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            {"type": "int64", "parameters": {"logicalType": "timestamp-micros"}},
        ),
        (
            {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "connect.version": 1},
            {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "version": 1},
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 45, "scale": 3},
            {
                "type": "bytes",
                "name": DECIMAL,
                "version": 1,
                "parameters": {"scale": "3", "connect.decimal.precision": "45"},
            },
        ),
        (
            {"type": "fixed", "name": "a.D", "size": 4, "logicalType": "decimal", "precision": 64},
            {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": "0", "connect.fixed.size": "4"}},
        ),
        (
            {"type": "fixed", "name": "D", "namespace": "a", "size": 4},
            {"type": "bytes", "name": "a.D", "parameters": {"connect.fixed.size": "4"}},
        ),
        (
            {"type": "enum", "name": "a.E", "symbols": ["X", "Y"]},
            {
                "type": "string",
                "name": "a.E",
                "parameters": {f"{AVRO}.Enum": "a.E", f"{AVRO}.Enum.X": "X", f"{AVRO}.Enum.Y": "Y"},
            },
        ),
        ({"type": "array", "items": "int"}, {"type": "array", "items": {"type": "int32"}}),
        (
            {"type": "map", "values": ["null", "int"]},
            {"type": "map", "keys": {"type": "string"}, "values": {"type": "int32", "optional": True}},
        ),
        (["null", "string"], {"type": "string", "optional": True}),
        (["string", "null"], {"type": "string", "optional": True}),
        (["string"], {"type": "string"}),
        (
            ["null", "int", "string"],
            {
                "type": "struct",
                "optional": True,
                "name": f"{AVRO}.Union",
                "fields": [
                    {"type": "int32", "optional": True, "field": "int"},
                    {"type": "string", "optional": True, "field": "string"},
                ],
            },
        ),
        (
            {"type": "record", "name": f"{AVRO}.ConnectDefault", "fields": [{"name": "a", "type": "int"}]},
            {"type": "struct", "fields": [{"type": "int32", "field": "a"}]},
        ),
        (
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": f"{AVRO}.MapEntry",
                    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
                },
            },
            {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}},
        ),
    ],
)
def test_types_are_those_of_the_converter_of_connect(schema: Any, expected: Any) -> None:
    assert connect(schema) == expected


def test_fields_have_defaults_and_the_types_that_stand_before_them() -> None:
    schema = {
        "type": "record",
        "name": "Person",
        "namespace": "x",
        "connect.version": 3,
        "fields": [
            {"name": "home", "type": {"type": "record", "name": "Place", "fields": [{"name": "n", "type": "int"}]}},
            {"name": "work", "type": ["null", "Place"], "default": None},
            {"name": "age", "type": "int", "default": 7},
            {"name": "raw", "type": "bytes", "default": "\u00ff", "doc": "as it came"},
            {"name": "nick", "type": ["string", "null"], "default": "x"},
        ],
    }
    default = {"parameters": {f"{AVRO}.field.default": "true"}}
    place = {"type": "struct", "name": "x.Place", "fields": [{"type": "int32", "field": "n"}]}
    assert connect(schema) == {
        "type": "struct",
        "name": "x.Person",
        "version": 3,
        "fields": [
            place | {"field": "home"},
            place | {"field": "work", "optional": True},
            {"type": "int32", "field": "age", "default": 7} | default,
            {"type": "bytes", "field": "raw", "default": "/w=="} | default,
            {"type": "string", "field": "nick", "optional": True},
        ],
        "parameters": {f"{AVRO}.field.doc.raw": "as it came"},
    }


def test_references_are_types_too_and_the_version_is_that_of_the_subject() -> None:
    address = json.dumps({"type": "record", "name": "x.Address", "fields": []})
    parsed = parse_avro('{"type": "array", "items": "x.Address"}', [("x.Address", address)])
    found = avro_to_connect(parsed, version=5)
    assert (found.version, found.items and found.items.name) == (5, "x.Address")


def test_unions_and_enums_of_the_generalized_kind() -> None:
    schema = [{"type": "enum", "name": "E", "symbols": ["A"]}, "int"]
    assert connect(schema, sums=True) == {
        "type": "struct",
        "name": "connect_union_0",
        "parameters": {f"{DATA}.Union": "connect_union_0"},
        "fields": [
            {
                "type": "string",
                "optional": True,
                "name": "E",
                "field": "connect_union_field_0",
                "parameters": {f"{DATA}.Enum": "E", f"{DATA}.Enum.A": "0"},
            },
            {"type": "int32", "optional": True, "field": "connect_union_field_1"},
        ],
    }


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("nonsense", "it is not JSON"),
        ('"nonsense"', "there is no type nonsense"),
        ("[" * 10_000, "it is not JSON|nested too deeply"),
        ("{}", "no Avro schema"),
        ("3", "no Avro schema"),
        ('{"type": "record", "name": "A"}', "no Avro schema"),
        ('{"type": "fixed", "name": "A", "size": -1}', "the fixed A has -1 bytes"),
        ('{"type": "fixed", "name": "A", "size": "x"}', "the fixed A has x bytes"),
        ('{"type": "record", "name": ["A"], "fields": []}', "a name is no text"),
        ('{"type": "record", "name": "A", "fields": [{"name": 5, "type": "int"}]}', "a name is no text: 5"),
        ('{"type": "enum", "name": "A", "symbols": ["B", 5]}', "a name is no text: 5"),
        ('{"type": "record", "name": "A", "fields": [], "connect.name": 5}', "Kafka Connect is malformed"),
        ('{"type": "record", "name": "A", "fields": [], "connect.parameters": [1]}', "Kafka Connect is malformed"),
        ('"null"', "null alone"),
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": ["null", "A"]}]}', "A is inside of itself"),
        (
            '[{"type": "fixed", "name": "a.F", "size": 1}, {"type": "fixed", "name": "b.F", "size": 1}]',
            "two types of a union have the same name",
        ),
        (
            '[{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 1}]',
            "the type F stands twice",
        ),
    ],
)
def test_schemas_that_cannot_be_used(schema: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        avro_to_connect(parse_avro(schema))


def test_a_short_schema_that_stands_for_very_many_types_is_refused() -> None:
    inner: Any = {"type": "record", "name": "R0", "fields": []}
    for level in range(1, 40):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    with pytest.raises(SchemaError, match="more than 10,000 types"):
        connect(inner)
