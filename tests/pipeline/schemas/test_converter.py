from __future__ import annotations

import base64
import io
import json
import math
import pickle
import struct
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pytest

from frazil.clients.kafka.headers import Headers
from frazil.clients.registry.access import RegistryAccess
from frazil.errors import ServiceUnavailable
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.connect import DECIMAL, ProtobufOptions
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_class, message_of
from frazil.pipeline.schemas.wire import Framing
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import TableSpec, TaskSpec
from frazil.pipeline.types import STRING, Field, Scalar, Struct
from tests.clients.registry.server import Registry, served
from tests.pipeline.kafka_rows import Row, chunk, chunks
from tests.pipeline.test_task import Memory

CLASS = "io.confluent.connect.avro.AvroConverter"
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Sale",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 45, "scale": 3}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"]},
    ],
}
UNSCALED = 1234567890123456789012345678901125
PRICE = Decimal("1234567890123456789012345678901.125")
SALE: dict[str, Any] = {
    "id": 2**60 + 1,
    "price": UNSCALED.to_bytes(14, "big"),
    "at": 1_700_000_000_123,
    "note": None,
}
GUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")


def body(value: dict[str, Any] | None = None) -> bytes:
    out = io.BytesIO()
    plain = json.loads(json.dumps(SCHEMA).replace("logicalType", "comment"))
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain), SALE | (value or {}))
    return out.getvalue()


def with_id(number: int, data: bytes) -> bytes:
    return b"\0" + struct.pack(">i", number) + data


@pytest.fixture
def registry() -> Iterator[Registry]:
    schema = {"schema": json.dumps(SCHEMA)}
    answers = {
        "/schemas/ids/7": schema,
        "/schemas/ids/7/versions": [{"subject": "other", "version": 9}, {"subject": "t-value", "version": 4}],
        f"/schemas/guids/{GUID}": schema,
        "/schemas/ids/8": {"schema": "syntax", "schemaType": "PROTOBUF"},
        "/schemas/ids/9": {"schema": '"nonsense"'},
    }
    with served(answers) as running:
        yield running


def converter(registry: Registry, **changes: Any) -> RegistryConverter:
    return RegistryConverter(CLASS, "AVRO", RegistryAccess((registry.url,)), **changes)


def split(found: RegistryConverter, value: bytes, headers: Headers = ()) -> tuple[Any, Any]:
    schema, payload = found.split(value, headers, "t")
    return json.loads(schema), json.loads(payload)


def test_a_record_is_split_as_json_converter_writes_it(registry: Registry) -> None:
    found = pickle.loads(pickle.dumps(converter(registry)))  # noqa: S301 - as it travels to the tasks
    schema, payload = split(found, with_id(7, body()))
    assert (schema["type"], schema["name"], schema["version"]) == ("struct", "Sale", 4)
    price = base64.b64encode(SALE["price"]).decode()
    assert payload == {"id": 2**60 + 1, "price": price, "at": 1_700_000_000_123, "note": None}
    split(found, with_id(7, body()))
    assert registry.asked == ["/schemas/ids/7", "/schemas/ids/7/versions"]


def test_ids_may_be_guids_and_in_headers(registry: Registry) -> None:
    found = converter(registry)
    first = split(found, with_id(7, body()))[1]
    assert split(found, b"\1" + GUID.bytes + body())[1] == first
    header = ("__value_schema_id", b"\1" + GUID.bytes)
    assert split(found, body(), (("x", None), header))[1] == first
    assert split(found, body(), (("__value_schema_id", b"\1"), header))[1] == first  # the last one counts


@pytest.mark.parametrize(
    ("framing", "value", "headers", "path"),
    [
        (Framing(kind="contentId", apicurio=True), with_id(7, body()), (), "/ids/contentIds/7"),
        (
            Framing(kind="globalId", width=8, apicurio=True),
            b"\0" + struct.pack(">q", 7) + body(),
            (),
            "/ids/globalIds/7",
        ),
        (
            Framing(kind="contentId", apicurio=True),
            body(),
            (("apicurio.value.globalId", struct.pack(">q", 7)),),
            "/ids/globalIds/7",
        ),
    ],
)  # fmt: skip
def test_ids_of_apicurio(framing: Framing, value: bytes, headers: Headers, path: str) -> None:
    with served({path: SCHEMA, f"{path}/references": []}) as own:
        access = RegistryAccess((own.url,), "apicurio")
        found = RegistryConverter(CLASS, "AVRO", access, framing)
        assert split(found, value, headers)[1]["id"] == SALE["id"]
        assert own.asked == [f"{path}/references", path]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "the value does not begin with the id of a schema"),
        (b"\0\0\0\0", "the value does not begin with the id of a schema"),
        (b'{"id":1}', "the value does not begin with the id of a schema"),
        (with_id(7, b""), r"does not fit its schema \(id 7\): it ends before"),
        (with_id(7, body() + b"x"), "1 bytes are left behind"),
        (with_id(5, body()), "the registry has no schema with id 5: .*404 Schema not found"),
        (with_id(8, body()), "the schema with id 8 is of type PROTOBUF, and the converter reads AVRO"),
        (with_id(9, body()), "the schema with id 9 cannot be used: there is no type nonsense"),
    ],
)
def test_a_record_that_cannot_be_read_says_why(registry: Registry, value: bytes, reason: str) -> None:
    found = converter(registry)
    for _ in range(2):
        with pytest.raises(ConversionError, match=reason) as raised:
            found.split(value, (), "t")
    assert getattr(raised.value, "origin", None) == ("VALUE_CONVERTER", CLASS)


def test_a_registry_that_does_not_answer_stops_the_batch_and_spares_what_is_known(registry: Registry) -> None:
    found = converter(registry)
    found.split(with_id(7, body()), (), "t")
    registry.answers["/schemas/ids/5"] = (503, b"")
    with pytest.raises(ServiceUnavailable, match="the schema registry does not answer"):
        found.split(with_id(5, body()), (), "t")
    registry.answers["/schemas/ids/5"] = (401, b"")
    with pytest.raises(ServiceUnavailable, match="it asks for a login"):
        found.split(with_id(5, body()), (), "t")
    registry.answers["/schemas/ids/5"] = {"schema": json.dumps(SCHEMA)}
    assert split(found, with_id(5, body()))[1]["id"] == SALE["id"]


def test_records_become_rows_with_the_types_of_their_schemas(registry: Registry) -> None:
    columns = Struct(
        (
            Field("id", Scalar("long")),
            Field("price", Scalar("decimal", 38, 3)),
            Field("at", Scalar("timestamptz")),
            Field("note", STRING),
        )
    )
    values = [with_id(7, body()), None, with_id(7, body({"note": "ä"})), b"bad", with_id(5, body())]
    writer = Memory()
    spec = TaskSpec((TableSpec("db.t", DecodeSpec(columns, True), writer),), envelope=converter(registry))
    result = run(chunks(Row(offset, value) for offset, value in enumerate(values)), spec).tables["db.t"]
    rows = [row for table in writer.tables for row in table.to_pylist()]
    assert [(row["id"], row["price"], row["note"]) for row in rows] == [
        (2**60 + 1, PRICE, None),
        (2**60 + 1, PRICE, "ä"),
    ]
    assert {row["at"].isoformat() for row in rows} == {"2023-11-14T22:13:20.123000+00:00"}
    assert {letter.offset: letter.value for letter in result.dead} == {3: b"bad", 4: values[4]}
    assert result.skipped == {"tombstone": 1}


def with_newest(registry: Registry, schema: Any, **more: Any) -> RegistryConverter:
    registry.answers["/subjects/t-value/versions/latest"] = {"schema": schema, "version": 5, **more}
    return converter(registry, latest=True)


def test_records_may_be_read_with_the_newest_schema_of_their_subject(registry: Registry) -> None:
    kept = [field for field in SCHEMA["fields"] if field["name"] != "note"]
    newer = {**SCHEMA, "fields": [*kept, {"name": "shop", "type": "string", "default": "x"}]}
    found = with_newest(registry, json.dumps(newer))
    schema, payload = split(found, with_id(7, body()))
    assert ([field["field"] for field in schema["fields"]], schema["version"]) == (["id", "price", "at", "shop"], 4)
    assert (list(payload), payload["id"], payload["shop"]) == (["id", "price", "at", "shop"], SALE["id"], "x")
    split(found, with_id(7, body()))
    assert registry.asked.count("/subjects/t-value/versions/latest") == 1


def test_records_that_the_newest_schema_wrote_are_read_at_once(registry: Registry) -> None:
    found = with_newest(registry, json.dumps(SCHEMA))
    assert len(found.runs(chunk([Row(offset, with_id(7, body())) for offset in range(40)]))) == 1


@pytest.mark.parametrize(
    ("newest", "reason"),
    [
        (None, "the registry has no subject t-value with a newest schema"),
        ({"schema": "x", "schemaType": "JSON"}, "cannot be used: the newest one of t-value is of type JSON"),
        ({"schema": '"string"'}, "does not fit its schema .*record Sale is not string"),
    ],
)
def test_a_newest_schema_that_cannot_read_a_record_makes_it_bad(registry: Registry, newest: Any, reason: str) -> None:
    if newest is not None:
        registry.answers["/subjects/t-value/versions/latest"] = newest
    for _ in range(2):
        with pytest.raises(ConversionError, match=reason):
            converter(registry, latest=True).split(with_id(7, body()), (), "t")
    assert registry.asked.count("/subjects/t-value/versions/latest") == 1


PRICED = {
    "type": "struct",
    "name": "Sale",
    "fields": [
        {"field": "id", "type": "int64"},
        {"field": "price", "type": "bytes", "name": DECIMAL, "parameters": {"scale": "2"}},
    ],
}


def test_json_of_apicurio_has_its_id_beside_the_payload() -> None:
    answers = {"/ids/contentIds/7/references": [], "/ids/contentIds/7": PRICED}
    answers |= {"/ids/contentIds/8/references": [], "/ids/contentIds/8": {"title": "no schema of Connect"}}
    with served(answers) as own:
        access = RegistryAccess((own.url,), "apicurio")
        found = RegistryConverter("C", "KCONNECT", access, Framing(kind="contentId", json=True))
        schema, payload = split(found, b'{"schemaId": 7, "payload": {"id": 1.0, "price": "MDk="}}')
        assert (schema["name"], payload) == ("Sale", {"id": 1.0, "price": "MDk="})
        assert found.split(b'{"payload": null, "schemaId": 7}', (), "t")[1] == b"null"
        for value, reason in (
            (b'{"id": 1}', "the value is not an object of schemaId and payload: "),
            (b"\0\0\0\0\7{}", "the value is not an object of schemaId and payload: "),
            (b'{"schemaId": 8, "payload": {}}', "the schema with contentId 8 cannot be used: it is no schema of Kafka"),
            (b'{"schemaId": 9, "payload": {}}', "the registry has no schema with contentId 9"),
        ):
            with pytest.raises(ConversionError, match=reason):
                found.split(value, (), "t")
        columns = Struct((Field("id", Scalar("long")), Field("price", Scalar("decimal", 10, 2))))
        writer = Memory()
        spec = TaskSpec((TableSpec("db.t", DecodeSpec(columns, True), writer),), envelope=found)
        run(chunks([Row(0, b'{"schemaId": 7, "payload": {"id": 1, "price": "MDk="}}')]), spec)
        (table,) = writer.tables
        assert table.to_pylist() == [{"id": 1, "price": Decimal("123.45")}]


def test_json_with_a_schema_of_a_registry(registry: Registry) -> None:
    properties = {"n": {"type": "number"}, "at": {"type": "integer"}}
    schema = json.dumps({"type": "object", "title": "R", "properties": properties})
    registry.answers["/schemas/ids/3"] = {"schema": schema, "schemaType": "JSON"}
    registry.answers["/schemas/ids/3/versions"] = [{"subject": "t-value", "version": 2}]
    found = RegistryConverter("JsonSchemaConverter", "JSON", RegistryAccess((registry.url,)))
    text, payload = found.split(with_id(3, b'{"n":0.12345678901234567890,"more":1}'), (), "t")
    assert payload == b'{"n":0.12345678901234567890}'
    assert json.loads(text)["version"] == 2
    with pytest.raises(ConversionError, match="does not fit its schema .*not JSON"):
        found.split(with_id(3, b"{"), (), "t")
    with pytest.raises(ConversionError, match="is of type AVRO, and the converter reads JSON"):
        found.split(with_id(7, body()), (), "t")


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e0"])
@pytest.mark.parametrize("legacy", [False, True], ids=["strict", "legacy"])
def test_a_minus_zero_of_json_is_the_same_with_a_schema_and_without(
    registry: Registry, text: str, legacy: bool
) -> None:
    numbers = {"d": {"type": "number"}, "f": {"type": "number", "connect.type": "float32"}}
    schema = json.dumps({"type": "object", "properties": numbers})
    registry.answers["/schemas/ids/3"] = {"schema": schema, "schemaType": "JSON"}
    columns = Struct((Field("d", Scalar("double")), Field("f", Scalar("float"))))
    payload = f'{{"d":{text},"f":{text}}}'.encode()
    signs = []
    for envelope, value in (
        (RegistryConverter("C", "JSON", RegistryAccess((registry.url,))), with_id(3, payload)),
        (None, payload),
    ):
        writer = Memory()
        spec = TaskSpec((TableSpec("db.t", DecodeSpec(columns, False, legacy=legacy), writer),), envelope=envelope)
        run(chunks([Row(0, value)]), spec)
        (row,) = [row for table in writer.tables for row in table.to_pylist()]
        signs.append([math.copysign(1, row[name]) for name in ("d", "f")])
    assert signs == [[1 if legacy else -1] * 2] * 2


def test_json_takes_the_defaults_of_its_schema(registry: Registry) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 7}, "b": {"type": "string"}}}
    registry.answers["/schemas/ids/3"] = {"schema": json.dumps(schema), "schemaType": "JSON"}
    found = RegistryConverter("C", "JSON", RegistryAccess((registry.url,)))
    assert split(found, with_id(3, b'{"b":"x"}'))[1] == {"a": 7, "b": "x"}
    assert split(found, with_id(3, b'{"a":1}'))[1]["a"] == 1


def test_connect_json_of_apicurio_takes_the_defaults_of_its_schema_unless_told_otherwise() -> None:
    schema = {"type": "struct", "fields": [{"field": "id", "type": "int64", "optional": True, "default": 7}]}
    with served({"/ids/contentIds/7/references": [], "/ids/contentIds/7": schema}) as own:
        access, framing = RegistryAccess((own.url,), "apicurio"), Framing(kind="contentId", json=True)
        for defaults, expected in ((True, 7), (False, None)):
            found = RegistryConverter("C", "KCONNECT", access, framing, defaults=defaults)
            assert split(found, b'{"schemaId": 7, "payload": {"id": null}}')[1] == {"id": expected}


def test_json_is_read_with_the_newest_schema_too(registry: Registry) -> None:
    old, new = (
        json.dumps({"type": "object", "properties": {name: {"type": "integer"} for name in names}})
        for names in (("a", "b"), ("b", "c"))
    )
    registry.answers["/schemas/ids/3"] = {"schema": old, "schemaType": "JSON"}
    registry.answers["/subjects/t-value/versions/latest"] = {"schema": new, "schemaType": "JSON"}
    found = RegistryConverter("C", "JSON", RegistryAccess((registry.url,)), latest=True)
    assert split(found, with_id(3, b'{"a":1,"b":2}'))[1]["b"] == 2
    assert [field["field"] for field in split(found, with_id(3, b"{}"))[0]["fields"]] == ["b", "c"]


@pytest.mark.parametrize(
    ("logical", "number", "moment"),
    [
        ("timestamp-micros", 86_400_000_000 + 1, "1970-01-02T00:00:00.000001+00:00"),
        ("timestamp-millis", 86_400_000, "1970-01-02T00:00:00+00:00"),
        ("timestamp-nanos", 1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456+00:00"),
    ],
)
def test_units_of_times_are_those_of_the_schema(registry: Registry, logical: str, number: int, moment: str) -> None:
    field = {"name": "at", "type": {"type": "long", "logicalType": logical}}
    registry.answers["/schemas/ids/6"] = {"schema": json.dumps({"type": "record", "name": "A", "fields": [field]})}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", number)
    writer = Memory()
    columns = Struct((Field("at", Scalar("timestamptz")),))
    spec = TaskSpec((TableSpec("db.t", DecodeSpec(columns, False), writer),), envelope=converter(registry))
    run(chunks([Row(0, with_id(6, out.getvalue()))]), spec)
    assert [row["at"].isoformat() for table in writer.tables for row in table.to_pylist()] == [moment]


def test_a_table_gets_the_columns_of_the_schema(registry: Registry) -> None:
    spec = TaskSpec(
        (TableSpec("db.t", DecodeSpec(Struct((Field("id", Scalar("long")),)), True), Memory()),),
        envelope=converter(registry),
    )
    found = run(chunks([Row(0, with_id(7, body()))]), spec).tables["db.t"].unknown
    assert {path: str(type_) for path, type_ in found.items()} == {
        ("price",): "decimal(38,3)",
        ("at",): "timestamptz",
        ("note",): "string",
    }


ITEM = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "parts.proto";
message Other {}
message Item { int64 id = 1; google.protobuf.Timestamp at = 2; Part part = 3; map<int32, string> names = 4; }
"""
PART = 'syntax = "proto3";\nmessage Part { float weight = 1; }'


def test_protobuf_is_read_with_the_newest_schema_too(registry: Registry) -> None:
    file = 'syntax = "proto3"; message A {} message B '
    old, new = file + "{ int32 x = 1; }", file + "{ int64 y = 1; }"
    registry.answers["/schemas/ids/3"] = {"schema": old, "schemaType": "PROTOBUF"}
    registry.answers["/subjects/t-value/versions/latest"] = {"schema": new, "schemaType": "PROTOBUF"}
    access, framing = RegistryAccess((registry.url,)), Framing(messages=True)
    found = RegistryConverter("C", "PROTOBUF", access, framing, options=ProtobufOptions(), latest=True)
    assert split(found, with_id(3, b"\x02\x02\x08\x05"))[1] == {"y": 5}


def test_protobuf_records_become_rows_with_the_types_of_their_schemas(registry: Registry) -> None:
    parts = {"name": "parts.proto", "subject": "parts", "version": 3}
    registry.answers["/schemas/ids/3"] = {"schema": ITEM, "schemaType": "PROTOBUF", "references": [parts]}
    registry.answers["/schemas/ids/3/versions"] = [{"subject": "t-value", "version": 2}]
    registry.answers["/subjects/parts/versions/3"] = {"schema": PART}
    item = message_class(message_of(compile_protobuf(ITEM, [("parts.proto", PART)]), (1,)))
    one: Any = item(id=2**60 + 1, part={"weight": 0.1}, names={7: "x"})
    one.at.seconds = 1_700_000_000
    data = b"\x02\x02" + one.SerializeToString()
    found = RegistryConverter(
        "C", "PROTOBUF", RegistryAccess((registry.url,)), Framing(messages=True), options=ProtobufOptions()
    )
    writer = Memory()
    start = DecodeSpec(Struct((Field("id", Scalar("long")),)), True)
    values = [with_id(3, data), with_id(3, b"\x02\x08" + data[2:]), with_id(3, b"\x02\x02\xff"), with_id(3, b"")]
    rows = [Row(offset, value) for offset, value in enumerate(values)]
    result = run(chunks(rows), TaskSpec((TableSpec("db.t", start, writer),), envelope=found)).tables["db.t"]
    assert {letter.offset: letter.reason[:44] for letter in result.dead} == {
        1: "the schema with id 3 cannot be used: it has ",
        2: "the record does not fit its schema (id 3): i",
        3: "the value ends before it has said which mess",
    }
    assert {path: str(type_) for path, type_ in result.unknown.items()} == {
        ("at",): "timestamptz",
        ("part",): "struct<weight: float>",
        ("names",): "map<int, string>",
    }
    columns = Struct((Field("id", Scalar("long")), *(Field(path[0], type_) for path, type_ in result.unknown.items())))
    run(chunks(rows), TaskSpec((TableSpec("db.t", DecodeSpec(columns, True), writer),), envelope=found))
    (row,) = [row for table in writer.tables for row in table.to_pylist()]
    assert (row["id"], row["at"].isoformat(), row["names"]) == (2**60 + 1, "2023-11-14T22:13:20+00:00", [(7, "x")])
    assert np.float32(row["part"]["weight"]) == np.float32(0.1)
