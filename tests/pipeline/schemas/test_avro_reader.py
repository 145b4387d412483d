from __future__ import annotations

import io
import json
import math
import os
import random
import struct
from collections.abc import Iterator
from typing import Any

import fastavro
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.schemas.avro import parse_avro
from frazil.pipeline.schemas.avro_reader import avro_reader
from frazil.pipeline.schemas.connect import ConnectOptions, UnfitRecord
from frazil.stack.java import find_java
from tests.pipeline.schemas.java_avro import JavaAvro, as_connect, as_json

NESTED = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "count", "type": "int"},
        {"name": "paid", "type": "boolean"},
        {"name": "weight", "type": "float"},
        {"name": "price", "type": "double"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "raw", "type": "bytes"},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 5}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "before", "type": ["null", "State"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "lines", "type": {"type": "array", "items": {
            "type": "record", "name": "Line", "fields": [
                {"name": "sku", "type": "string"},
                {"name": "any", "type": ["null", "int", "string", "Hash", {"type": "array", "items": "long"}]},
            ]}}},
        {"name": "attributes", "type": {"type": "map", "values": ["null", "Line"]}},
        {"name": "nothing", "type": "null"},
    ],
}  # fmt: skip
TEXT = json.dumps(NESTED)


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAvro]:
    with JavaAvro(find_java(os.environ)) as running:
        yield running


def read(schema: Any, data: bytes) -> Any:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return avro_reader(parse_avro(text))(data, 0)


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


@pytest.mark.stack
@pytest.mark.parametrize("blocks", [False, True])
def test_what_java_writes_is_read_as_java_reads_it(java: JavaAvro, blocks: bool) -> None:
    type_ = parse_avro(TEXT)
    reader = avro_reader(type_)
    for data, text in java.random(TEXT, 60, seed=7, blocks=blocks):
        assert as_json(reader(data, 0)) == as_connect(type_, json.loads(text))


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_long(number: int) -> None:
    assert read("long", written("long", number)) == number


@given(st.integers(-(2**31), 2**31 - 1))
def test_any_int(number: int) -> None:
    assert read("int", written("int", number)) == number


@given(st.floats(width=32))
def test_a_float_has_the_shortest_text_that_means_it(number: float) -> None:
    found = read("float", struct.pack("<f", number))
    assert found == {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, found)
    if math.isfinite(number):
        assert struct.pack("<f", found) == struct.pack("<f", number)
        assert len(repr(found)) <= len(repr(number))
    elif math.isnan(number):
        assert found == "NaN"


@given(st.floats())
def test_any_double(number: float) -> None:
    found = read("double", struct.pack("<d", number))
    assert struct.pack("<d", float(found)) == struct.pack("<d", number) or math.isnan(number)
    assert json.loads(msgspec.json.encode(found)) == found


def test_branches_of_a_union_have_names() -> None:
    hash_ = {"type": "fixed", "name": "x.Hash", "size": 1}
    union = ["null", "int", "string", hash_]
    nothing = {"int": None, "string": None, "Hash": None}
    expected = {
        b"\x00": None,
        b"\x02\x0c": nothing | {"int": 6},
        b"\x04\x02a": nothing | {"string": "a"},
        b"\x06z": nothing | {"Hash": b"z"},
    }
    assert {data: read(union, data) for data in expected} == expected
    full = avro_reader(parse_avro(json.dumps(union)), ConnectOptions(full_names=True))
    assert full(b"\x06z", 0) == {"int": None, "string": None, "x.Hash": b"z"}
    numbered = avro_reader(parse_avro(json.dumps(union)), ConnectOptions(sums=True))
    assert numbered(b"\x06z", 0)["connect_union_field_3"] == b"z"
    assert read(["string"], b"\x00\x02a") == "a"


def test_maps_with_other_keys_are_pairs() -> None:
    entry = {
        "type": "record",
        "name": "io.confluent.connect.avro.MapEntry",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
    }
    data = b"\x04\x02\x02a\x04\x02b\x00"
    assert read({"type": "array", "items": entry}, data) == [[1, "a"], [2, "b"]]
    entry["fields"] = [{"name": "key", "type": "string"}, {"name": "value", "type": "int"}]
    assert read({"type": "array", "items": entry}, b"\x02\x02a\x04\x00") == {"a": 2}
    with pytest.raises(UnfitRecord, match="a map has a key twice"):
        read({"type": "array", "items": entry}, b"\x04\x02a\x04\x02a\x06\x00")


@pytest.mark.parametrize(
    ("schema", "data", "reason"),
    [
        ("long", b"", "ends before"),
        ("long", b"\xff" * 5, "ends before"),
        ("long", b"\xff" * 11, "more than 64 bits"),
        ("long", b"\xff" * 9 + b"\x02", "more than 64 bits"),
        ("int", b"\x80\x80\x80\x80\x20", "more than 32 bits"),
        ("boolean", b"\x02", "a boolean is 2"),
        ("double", b"1234567", "ends before"),
        ("string", b"\x08abc", "a length is 4, and 3 bytes are left"),
        ("string", b"\x01", "a length is -1"),
        ("string", b"\x02\xff", "not UTF-8"),
        ("string", b"\x06\xed\xa0\x80", "not UTF-8"),
        ("string", b"\x02ab", "1 bytes are left behind"),
        (["null", "int"], b"\x04", "a union of 2 types has none at 2"),
        (["null", "int"], b"\x01", "a union of 2 types has none at -1"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02", "an enum of 1 symbols has none at 1"),
        ({"type": "fixed", "name": "F", "size": 3}, b"ab", "a fixed has 3 bytes, and 2 are left"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a block has 92233"),
        ({"type": "array", "items": "int"}, b"\x03\x04\x02", "a block has 2 elements, and 1 bytes are left"),
        ({"type": "array", "items": "null"}, b"\xa2\x9c\x01\x00", "a block has 10001 elements"),
        ({"type": "map", "values": "null"}, b"\x06\x00", "a block has 3 elements, and 1 bytes are left"),
        ({"type": "map", "values": "int"}, b"\x04\x02a\x02\x02b\x04\x02\x02a\x06\x00", "a map has a key twice"),
    ],
)  # fmt: skip
def test_bytes_that_do_not_fit_are_refused(schema: Any, data: bytes, reason: str) -> None:
    with pytest.raises(UnfitRecord, match=reason):
        read(schema, data)


def test_elements_that_take_next_to_no_bytes_are_counted_over_all_of_a_record() -> None:
    nothing = [{"name": f"n{number}", "type": "null"} for number in range(200)]
    wide = {"type": "record", "name": "Wide", "fields": nothing}
    small = {"type": "record", "name": "Small", "fields": [*nothing, {"name": "b", "type": "boolean"}]}
    thirty = b"\x3c" + b"\x00" * 31
    for schema, block in ((wide, b"\x3c\x00"), (small, thirty)):
        lists = {"type": "array", "items": {"type": "array", "items": schema}}
        assert [len(one) for one in read(lists, b"\x02" + block + b"\x00")] == [30]
        with pytest.raises(UnfitRecord, match="next to no bytes"):
            read(lists, b"\x04" + block * 2 + b"\x00")
    texts = [{"name": f"t{number}", "type": ["null", "string"], "default": None} for number in range(50)]
    part = {"type": "record", "name": "Part", "fields": texts}
    parts = [
        {"name": "p0", "type": ["null", part]},
        *({"name": f"p{n}", "type": ["null", "Part"]} for n in range(1, 50)),
    ]
    sparse = {"type": "record", "name": "Sparse", "fields": parts}
    assert len(read({"type": "array", "items": sparse}, b"\xd0\x0f" + b"\x00" * 50_001)) == 1000


def test_a_record_that_is_endless_by_its_schema() -> None:
    schema = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]}
    with pytest.raises(UnfitRecord, match="nested too deeply"):
        read(schema, b"")
    lists = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
    assert read(lists, b"\x02\x02\x00") == {"next": {"next": {"next": None}}}
    with pytest.raises(UnfitRecord, match="nested too deeply"):
        read(lists, b"\x02" * 100_000 + b"\x00")


def test_damaged_records_are_read_or_refused_within_their_size() -> None:
    """Each byte of a record replaced and cut: it takes no longer than a good one, and raises nothing else."""
    value = {
        "id": 1, "count": 2, "paid": True, "weight": 0.5, "price": 1.5, "note": "n", "raw": b"raw", "hash": b"12345",
        "state": "PAID", "before": None, "tags": ["a", "b"] * 20, "lines": [{"sku": "s", "any": [1, 2, 3]}] * 5,
        "attributes": {"k": None, "l": {"sku": "t", "any": "text"}}, "nothing": None,
    }  # fmt: skip
    data, reader, chance = written(NESTED, value), avro_reader(parse_avro(TEXT)), random.Random(1)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(data[: chance.randrange(1, len(data) + 1)])
        for _ in range(chance.randrange(3)):
            damaged[chance.randrange(len(damaged))] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF])
        try:
            msgspec.json.encode(reader(bytes(damaged), 0))
        except UnfitRecord:
            refused += 1
    assert refused > 1000
