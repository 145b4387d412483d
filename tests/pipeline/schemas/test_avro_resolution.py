from __future__ import annotations

import copy
import io
import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import fastavro
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from frazil.pipeline.schemas.avro import parse_avro
from frazil.pipeline.schemas.avro_resolution import resolving_reader
from frazil.pipeline.schemas.connect import UnfitRecord
from frazil.stack.java import find_java
from tests.pipeline.schemas.avro_documents import Documents, written
from tests.pipeline.schemas.java_avro import JavaAvro, as_connect, as_json

WIDER = {"int": ["long", "double"], "long": ["double"], "float": ["double"], "string": ["bytes"]}
DEFAULTS: list[tuple[Any, Any]] = [
    ("long", 7),
    ("string", "é"),
    ("bytes", "\u00ff"),
    ("double", 0.5),
    (["null", "string"], None),
    (["int", "null"], 3),
    ({"type": "array", "items": "int"}, [1, 2]),
    ({"type": "map", "values": ["null", "int"]}, {}),
]


def record(*fields: Any, **more: Any) -> dict[str, Any]:
    named = [
        field if isinstance(field, dict) else dict(zip(("name", "type", "default"), field, strict=False))
        for field in fields
    ]
    return {"type": "record", "name": "R", "fields": named, **more}


def resolved(schema: Any, other: Any, value: Any) -> Any:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(copy.deepcopy(schema)), value)
    return resolving_reader(parse_avro(json.dumps(schema)), parse_avro(json.dumps(other)))(out.getvalue(), 0)


def test_a_record_has_the_fields_of_the_newer_schema() -> None:
    old = record(("gone", "string"), ("n", "int"), ("was", "string"), ("kept", ["null", "int"]))
    new = record(
        ("kept", ["null", "int"]),
        {"name": "now", "type": "string", "aliases": ["was"]},
        ("n", "long"),
        ("at", {"type": "record", "name": "S", "fields": [{"name": "x", "type": "bytes", "default": "\u00ff"}]}, {}),
        ("more", ["null", "string"], None),
    )
    found = resolved(old, new, {"gone": "x", "n": 7, "was": "w", "kept": None})
    assert list(found.items()) == [("kept", None), ("now", "w"), ("n", 7), ("at", {"x": b"\xff"}), ("more", None)]


@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        ("int", "double", 3, 3.0),
        ("float", "double", 0.1, 0.10000000149011612),
        ("long", "float", 16777217, 16777216.0),
        ("string", "bytes", "é", "é".encode()),
        ("bytes", "string", "é".encode(), "é"),
        ("int", ["null", "long"], 3, 3),
        (["null", "int"], "long", 3, 3),
        ("int", ["string", "double"], 3, {"string": None, "double": 3.0}),
        (["int", "string"], ["null", "string", "long"], "x", {"string": "x", "long": None}),
        ({"type": "array", "items": "int"}, {"type": "array", "items": ["null", "long"]}, [1], [1]),
        ({"type": "map", "values": "float"}, {"type": "map", "values": "double"}, {"a": 0.5}, {"a": 0.5}),
        (
            {"type": "enum", "name": "a.E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "b.E", "symbols": ["C", "A"], "default": "C"},
            "B",
            "C",
        ),
    ],
)
def test_a_type_is_read_as_a_wider_one(old: Any, new: Any, value: Any, expected: Any) -> None:
    found = resolved(record(("v", old)), record(("v", new)), {"v": value})["v"]
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("old", "new", "value", "reason"),
    [
        ("long", "int", 1, "long is not int"),
        ("string", ["null", "int"], "x", "a union has no type for string"),
        (["null", "int"], "int", None, "null is not int"),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "E", "symbols": ["A"]},
            "B",
            "the enum E has no symbol B any more",
        ),
        ({"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 2}, b"x", "fixed F is not"),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            {"type": "long", "logicalType": "timestamp-millis"},
            1,
            r"long \(timestamp-micros\) is not long \(timestamp-millis\)",
        ),
    ],
)
def test_a_type_that_is_no_wider_one_makes_a_bad_record(old: Any, new: Any, value: Any, reason: str) -> None:
    with pytest.raises(UnfitRecord, match=reason):
        resolved(record(("v", old)), record(("v", new)), {"v": value})


def test_decimals_of_another_scale_are_no_other_number() -> None:
    old, new = ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale} for scale in (2, 3))
    reader = resolving_reader(parse_avro(json.dumps(record(("v", old)))), parse_avro(json.dumps(record(("v", new)))))
    with pytest.raises(UnfitRecord, match=r"decimal of scale 2\) is not bytes \(decimal of scale 3\)"):
        reader(b"\x02\x01", 0)


def test_a_field_without_a_default_has_to_be_written() -> None:
    with pytest.raises(UnfitRecord, match="the field b was not written and has no default value"):
        resolved(record(("a", "int")), record(("a", "int"), ("b", "int")), {"a": 1})


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAvro]:
    with JavaAvro(find_java(os.environ)) as running:
        yield running


def evolved(chance: Random, schema: Any) -> Any:
    """A schema as a later version of it may be, and sometimes as it may not be."""
    match schema:
        case {"type": "record"}:
            fields = [
                {**field, "type": evolved(chance, field["type"])} for field in schema["fields"] if chance.random() > 0.1
            ]
            for field in fields:
                if chance.random() < 0.1:
                    field |= {"name": f"new_{field['name']}", "aliases": [field["name"]]}
            if chance.random() < 0.4:
                type_, default = chance.choice(DEFAULTS)
                fields.append({"name": "added", "type": type_, "default": default})
            chance.shuffle(fields)
            return {**schema, "fields": fields}
        case {"type": "array"}:
            return {**schema, "items": evolved(chance, schema["items"])}
        case {"type": "map"}:
            return {**schema, "values": evolved(chance, schema["values"])}
        case {"type": "enum"} if chance.random() < 0.5:
            return {**schema, "symbols": ["A", "D"], **({"default": "D"} if chance.random() < 0.5 else {})}
        case list():
            later = [evolved(chance, branch) for branch in schema]
            branches = [old if isinstance(new, list) else new for old, new in zip(schema, later, strict=True)]
            distinct = len({json.dumps(branch) for branch in branches}) == len(branches)
            return branches if distinct and chance.random() < 0.9 else schema[0 if schema[0] != "null" else 1]
        case str() if chance.random() < 0.3:
            return chance.choice(WIDER.get(schema, [["null", schema]]))
    return schema


@pytest.mark.stack
@settings(max_examples=150, phases=[Phase.generate], deadline=None)
@given(st.integers(0, 2**32))
def test_what_one_schema_wrote_is_read_as_java_reads_it_by_another(java: JavaAvro, seed: int) -> None:
    chance = Random(seed)
    schema, value = Documents(chance).record()
    text = json.dumps(schema).replace("logicalType", "comment")
    other = json.dumps(evolved(chance, json.loads(text)))
    wanted = parse_avro(other)
    reader = resolving_reader(parse_avro(text), wanted)
    for data in written(schema, [value() for _ in range(3)]):
        expected = java.resolved(text, other, data)
        if expected is None:
            with pytest.raises(UnfitRecord):
                reader(data, 0)
        else:
            assert as_json(reader(data, 0)) == as_connect(wanted, json.loads(expected or "{}", parse_constant=str))
