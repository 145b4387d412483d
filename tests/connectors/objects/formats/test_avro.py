"""Avro files: records of the columns of Parquet files, the same bytes in a replay, read by another library."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from io import BytesIO
from typing import Any

import avro.datafile
import avro.io
import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.objects.formats.avro import avro_schema, write_avro, write_avro_values
from frazil.connectors.objects.formats.json_tables import Refused
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct


def read(data: bytes) -> tuple[Any, list[Any]]:
    """Schema and values, by Apache's own reader."""
    with avro.datafile.DataFileReader(BytesIO(data), avro.io.DatumReader()) as reader:
        return json.loads(reader.schema), list(reader)


def written(
    *lines: bytes, schema: Struct | None = None, name: str | None = None, codec: str = "null"
) -> tuple[bytes, Refused]:
    out = BytesIO()
    refused = write_avro(lambda: lines, schema, name, codec, out)
    return out.getvalue(), refused


def test_columns_without_a_schema() -> None:
    data, refused = written(b'{"z":1,"s":"x","o":{"q":true},"l":[1,2.5],"n":null}', b'{"a":9,"z":2,"o":{"b":7}}')
    schema, rows = read(data)
    assert refused == []
    assert schema == {
        "type": "record",
        "name": "io.confluent.connect.avro.ConnectDefault",
        "fields": [
            {"name": "z", "type": ["null", "long"], "default": None},
            {"name": "s", "type": ["null", "string"], "default": None},
            {
                "name": "o",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "io.confluent.connect.avro.ConnectDefault.o",
                        "fields": [
                            {"name": "q", "type": ["null", "boolean"], "default": None},
                            {"name": "b", "type": ["null", "long"], "default": None},
                        ],
                    },
                ],
                "default": None,
            },
            {"name": "l", "type": ["null", {"type": "array", "items": ["null", "double"]}], "default": None},
            {"name": "a", "type": ["null", "long"], "default": None},
        ],
    }
    assert rows == [
        {"z": 1, "s": "x", "o": {"q": True, "b": None}, "l": [1.0, 2.5], "a": None},
        {"z": 2, "s": None, "o": {"q": None, "b": 7}, "l": None, "a": 9},
    ]


WITH_SCHEMA = Struct(
    (
        Field("i", Scalar("int")),
        Field("d", Scalar("decimal", precision=38, scale=2)),
        Field("day", Scalar("date")),
        Field("time", Scalar("time")),
        Field("at", Scalar("timestamptz")),
        Field("m", Map(STRING, Scalar("long"))),
        Field("e", Map(Scalar("int"), STRING)),
        Field("r", List(Struct((Field("x", Map(STRING, STRING)),)))),
        Field("b", Scalar("binary")),
    )
)


def test_columns_of_a_schema() -> None:
    line = (
        b'{"i":7,"d":1.56,"day":10000,"time":14400000,"at":4000000000,"m":{"a":1},"e":{"12":"x"},'
        b'"r":[{"x":{"k":"v"}},null],"b":"AAE="}'
    )
    data, refused = written(line, schema=WITH_SCHEMA, name="server.inventory.my-table.Value")
    schema, rows = read(data)
    assert refused == []
    assert schema["name"] == "server.inventory.my_table.Value"
    assert rows == [
        {
            "i": 7,
            "d": Decimal("1.56"),
            "day": dt.date(1970, 1, 1) + dt.timedelta(10000),
            "time": dt.time(4),
            "at": dt.datetime(1970, 2, 16, 7, 6, 40, tzinfo=dt.UTC),
            "m": {"a": 1},
            "e": [{"key": 12, "value": "x"}],
            "r": [{"x": {"k": "v"}}, None],
            "b": b"\x00\x01",
        }
    ]


def test_records_that_their_schema_does_not_fit_are_named() -> None:
    _, refused = written(b'{"i":1}', b'{"i":3000000000}', schema=Struct((Field("i", Scalar("int")),)))
    assert [index for index, _ in refused] == [1]


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("a_b", "a_b"),
        ("_1", "_1"),
        ("-1", "_x2d_1"),
        ("+1", "_x2b_1"),
        ("a b", "a_x20_b"),
        ("1a", "_x31_a"),
        ("größe", "gr_xf6__xdf_e"),
        ("_x2d_1", "_x5f_x2d_1"),
        ("a_x_", "a_x5f_x_"),
        ("\u0661", "_x661_"),
    ],
)
def test_a_name_that_avro_cannot_have_is_the_same_in_each_file(name: str, clean: str) -> None:
    for others in ((), ("-1", "+1", "_1")):
        names = tuple(dict.fromkeys((*others, name)))
        schema, row = avro_schema(Struct(tuple(Field(each, STRING) for each in names)))
        field = schema["fields"][names.index(name)]
        assert field["name"] == clean
        assert field.get("originalName", clean) == name
        assert row(dict.fromkeys(names, "x") | {name: "own"})[clean] == "own"
        fastavro.parse_schema(schema)


@given(st.lists(st.text(st.sampled_from("-+_x2d1é "), max_size=8), unique=True))
def test_no_two_names_become_the_same(names: list[str]) -> None:
    schema, _ = avro_schema(Struct(tuple(Field(name, STRING) for name in names)))
    assert len({field["name"] for field in schema["fields"]}) == len(names)
    fastavro.parse_schema(schema)


@pytest.mark.parametrize("name", ["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
def test_a_schema_may_have_the_name_of_a_primitive(name: str) -> None:
    columns = Struct((Field("n", Scalar("long")), Field("s", Struct((Field(name, STRING),)))))
    data, refused = written(b'{"n":1,"s":{"%b":"x"}}' % name.encode(), schema=columns, name=name)
    assert not refused
    schema, rows = read(data)
    assert (schema["name"], rows) == (f"_{name}", [{"n": 1, "s": {name: "x"}}])


def test_structs_without_members_are_records_without_fields() -> None:
    columns = Struct((Field("meta", Struct(())), Field("l", List(Struct(())))))
    data, refused = written(b'{"meta":{},"l":[{},null]}', schema=columns)
    assert not refused
    assert read(data)[1] == [{"meta": {}, "l": [{}, None]}]


def test_records_inside_have_names_of_their_own() -> None:
    lines = (b'{"cpu":{"cpus":[{"id":0}]},"cpu_cpus":[{"name":"x"}]}', b'{"a-b":{"c":1},"a":{"b":{"c":1}}}')
    data, refused = written(*lines)
    assert not refused
    assert read(data)[1][0] == {
        "cpu": {"cpus": [{"id": 0}]},
        "cpu_cpus": [{"name": "x"}],
        "a_x2d_b": None,
        "a": None,
    }


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2"])
def test_codecs(codec: str) -> None:
    data, _ = written(b'{"a":"' + b"x" * 500 + b'"}', codec=codec)
    assert list(fastavro.reader(BytesIO(data))) == [{"a": "x" * 500}]
    assert (len(data) > 600) == (codec == "null")


@pytest.mark.parametrize(
    ("lines", "type_", "values"),
    [
        ([b'"a"', b'"b"'], "string", ["a", "b"]),
        ([b"1", b"-2"], "long", [1, -2]),
        ([b"1", b"2.5"], "double", [1.0, 2.5]),
        ([b"true"], "boolean", [True]),
        ([b'"a"', b"1", b'{"b":2.50}'], "string", ["a", "1", '{"b":2.50}']),
        ([b"[1]"], "string", ["[1]"]),
    ],
)
def test_values_that_are_no_records(lines: list[bytes], type_: str, values: list[object]) -> None:
    out = BytesIO()
    assert write_avro_values(lambda: lines, "null", out) == []
    assert read(out.getvalue()) == (type_, values)


def test_values_that_are_all_objects() -> None:
    out = BytesIO()
    assert write_avro_values(lambda: [b'{"a":1}', b'{"a":2}'], "null", out) == []
    assert read(out.getvalue())[1] == [{"a": 1}, {"a": 2}]


MEMBER = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.recursive(
    MEMBER | st.text(st.characters(codec="utf-8")),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("abc"), v),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), VALUE), min_size=1, max_size=6))
def test_every_record_is_in_the_file_or_named_and_a_replay_writes_the_same_bytes(records: list[object]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    first, refused = written(*lines)
    second, again = written(*lines)
    assert [index for index, _ in refused] == [index for index, _ in again]
    if not refused:
        assert first == second
        assert len(read(first)[1]) == len(records)
