from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.pipeline.schemas.connect import DATE, DECIMAL, ConnectOptions, SchemaError, UnfitRecord
from frazil.pipeline.schemas.json_schemas import json_to_connect

CONNECT = "io.confluent.connect.json"


def connect(schema: Any, **options: bool) -> Any:
    return json.loads(json_to_connect(json.dumps(schema), (), ConnectOptions(**options))[0].to_json())


def payload(schema: Any, data: bytes, **options: bool) -> bytes:
    return bytes(json_to_connect(json.dumps(schema), (), ConnectOptions(**options))[1](b"\0" + data, 1))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"type": "boolean"}, {"type": "boolean"}),
        ({"type": "integer"}, {"type": "int64"}),
        ({"type": "integer", "connect.type": "int16"}, {"type": "int16"}),
        ({"type": "number"}, {"type": "double"}),
        ({"type": "number", "connect.type": "float32"}, {"type": "float"}),
        ({"type": "string", "connect.type": "bytes"}, {"type": "bytes"}),
        (
            {
                "type": "number",
                "connect.type": "bytes",
                "title": DECIMAL,
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
            },
            {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}},
        ),
        (
            {"type": "integer", "connect.type": "int32", "title": DATE, "connect.version": 1},
            {"type": "int32", "name": DATE, "version": 1},
        ),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, {"type": "int64", "optional": True}),
        ({"type": ["string", "null"], "description": "d"}, {"type": "string", "optional": True, "doc": "d"}),
        (
            {"enum": ["a", 1]},
            {
                "type": "string",
                "parameters": {f"{CONNECT}.Enum": "", f"{CONNECT}.Enum.a": "a", f"{CONNECT}.Enum.1": "1"},
            },
        ),
        ({"type": "integer", "enum": [1, 2]}, {"type": "int64"}),
        ({"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "int64"}}),
        (
            {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
            {"type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}},
        ),
        (
            {"type": "object", "title": "R", "properties": {"b": {"type": "integer", "connect.index": 1}, "a": {}}},
            {
                "type": "struct",
                "name": "R",
                "fields": [{"type": "int64", "field": "b"}, {"type": "string", "field": "a"}],
            },
        ),
        (
            {
                "allOf": [
                    {"$ref": "#/definitions/x"},
                    {"type": "object", "properties": {"b": {"type": "string", "default": "d"}}},
                ],
                "definitions": {"x": {"type": "object", "properties": {"a": {"type": "integer"}}}},
            },
            {
                "type": "struct",
                "fields": [{"type": "int64", "field": "a"}, {"type": "string", "field": "b", "default": "d"}],
            },
        ),
        (
            {"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            {
                "type": "struct",
                "optional": True,
                "name": f"{CONNECT}.OneOf",
                "fields": [
                    {"type": "int64", "optional": True, "field": f"{CONNECT}.OneOf.field.0"},
                    {"type": "string", "optional": True, "field": f"{CONNECT}.OneOf.field.1"},
                ],
            },
        ),
    ],
)
def test_types_are_those_of_the_converter_of_connect(schema: Any, expected: Any) -> None:
    assert connect(schema) == expected


def test_references_are_found_by_name_and_inside() -> None:
    address = json.dumps({"definitions": {"city": {"type": "string"}}, "type": "object", "properties": {"n": {}}})
    schema = {
        "type": "object",
        "properties": {
            "home": {"$ref": "address.json"},
            "city": {"$ref": "address.json#/definitions/city"},
            "own": {"$ref": "#/properties/city"},
        },
    }
    made, _ = json_to_connect(json.dumps(schema), [("address.json", address)])
    assert [(field.field, field.type) for field in made.fields or ()] == [
        ("home", "struct"),
        ("city", "string"),
        ("own", "string"),
    ]


RECORD = {
    "type": "object",
    "properties": {
        "n": {"type": "number"},
        "inner": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "pairs": {
            "type": "array",
            "connect.type": "map",
            "items": {"type": "object", "properties": {"key": {"type": "integer"}, "value": {"type": "string"}}},
        },
        "texts": {
            "type": "array",
            "connect.type": "map",
            "items": {"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "string"}}},
        },
        "any": {
            "oneOf": [
                {"type": "integer"},
                {"type": "string"},
                {"type": "object", "properties": {"x": {}}},
                {"type": "object", "properties": {"x": {}, "y": {}}},
            ]
        },
    },
}


def one_of(index: int, value: str) -> bytes:
    members = ",".join(f'"{CONNECT}.OneOf.field.{i}":{value if i == index else "null"}' for i in range(4))
    return f'{{"any":{{{members}}}}}'.encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"n": 1.10}', b'{"n":1.10}'),
        (b'{"n":12345678901234567890.123456789,"more":1}', b'{"n":12345678901234567890.123456789}'),
        (b'{"inner":{"a":1,"b":2},"n":null}', b'{"inner":{"a":1},"n":null}'),
        (b'{"pairs":[{"key":1,"value":"x"},{"value":"y","key":2}]}', b'{"pairs":[[1,"x"],[2,"y"]]}'),
        (b'{"texts":[{"key":"1","value":"x"},{"key":"2","value":null}]}', b'{"texts":{"1":"x","2":null}}'),
        (b'{"any":7}', one_of(0, "7")),
        (b'{"any":"7"}', one_of(1, '"7"')),
        (b'{"any":{"x":1}}', one_of(2, '{"x":1}')),
        (b'{"any":{"x":1,"y":2}}', one_of(3, '{"x":1,"y":2}')),
        (b"null", b"null"),
    ],
)
def test_values_are_written_as_json_converter_does(data: bytes, expected: bytes) -> None:
    assert payload(RECORD, data) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"{}x", "it is not JSON"),
        (b"[]", "it is not JSON of that form"),
        (b'"\xff"', "not UTF-8"),
        (b'{"inner":[1]}', "it is not JSON of that form"),
        (b'{"pairs":[{"key":1}]}', "other members than key and value"),
        (b'{"texts":[{"key":"k","value":"x"},{"key":"k","value":"y"}]}', "a map has a key twice"),
        (b'{"texts":[{"key":null,"value":"x"}]}', "it is not JSON of that form"),
        (b'{"any":true}', "none of the types that a oneOf has"),
    ],
)
def test_records_that_do_not_fit(data: bytes, reason: str) -> None:
    with pytest.raises(UnfitRecord, match=reason):
        payload(RECORD, data)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"type": "strin"}', "JSON Schema has no type strin; there are null, string, boolean, integer, number, array"),
        ("nonsense", "it is not JSON"),
        ("[]", "it is no object"),
        ('{"type": "null"}', "null alone is nothing"),
        ('{"type": "array"}', "does not say the type of its items"),
        ('{"$ref": "#"}', "nested too deeply"),
        ('{"$ref": "other.json"}', "no schema other.json among its references"),
        ('{"type": "object", "properties": {"a": {"$ref": "#"}}}', "inside of itself"),
        ('{"$ref": "#/none"}', "no JSON Schema: KeyError"),
    ],
)
def test_schemas_that_cannot_be_used(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        json_to_connect(text)
