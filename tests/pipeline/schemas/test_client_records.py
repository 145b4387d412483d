"""Records and keys as the serializers of Confluent's client for Python write them, with their schemas in a registry."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from frazil.clients.kafka.headers import Headers
from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.schema import SchemaType
from frazil.environment.settings import Settings
from frazil.pipeline.schemas.connect import PLAIN, ProtobufOptions
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_class, message_of
from frazil.pipeline.schemas.wire import Framing, Part

pytestmark = pytest.mark.stack

NESTED = """
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
message Other { string a = 1; }
message Sale {
  message Line { string article = 1; int64 cents = 2; }
  repeated Line lines = 1;
  google.protobuf.Timestamp at = 2;
}
"""
AVRO = {
    "type": "record",
    "name": "shop.Sale",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
JSON = {"title": "Sale", "type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}}
# Without a strategy the serializers ask for associations, which Apicurio does not have and at times never answers.
BY_TOPIC = {"subject.name.strategy": topic_subject_name_strategy}
AT = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def read(
    settings: Settings, kind: SchemaType, part: Part, data: bytes, headers: Headers, topic: str
) -> tuple[Any, Any]:
    converter = RegistryConverter(
        "C",
        kind,
        RegistryAccess((settings.registry_url,)),
        Framing(part, messages=kind == "PROTOBUF"),
        options=ProtobufOptions() if kind == "PROTOBUF" else PLAIN,
    )
    schema, payload = converter.split(data, headers, topic)
    return json.loads(schema), json.loads(payload)


def written(serializer: Any, value: Any, part: Part, topic: str) -> tuple[bytes, Headers]:
    headers: Any = []
    field = MessageField.KEY if part == "key" else MessageField.VALUE
    data: bytes = serializer(value, SerializationContext(topic, field, headers))
    return data, tuple(headers)


@pytest.fixture
def client(registry: Settings) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.registry_url, "timeout": 60}) as made:
        yield made


@pytest.mark.parametrize("part", ["key", "value"])
def test_protobuf(registry: Settings, client: SchemaRegistryClient, part: Part) -> None:
    file = compile_protobuf(NESTED)
    sale = message_class(message_of(file, (1,)))
    one: Any = sale(lines=[{"article": "x", "cents": 2**60}])
    one.at.FromDatetime(AT.replace(tzinfo=None))
    data, headers = written(ProtobufSerializer(sale, client, BY_TOPIC), one, part, "proto")
    schema, payload = read(registry, "PROTOBUF", part, data, headers, "proto")
    assert (schema["name"], schema["version"]) == ("Sale", 1)
    assert payload == {"lines": [{"article": "x", "cents": 2**60}], "at": int(AT.timestamp() * 1000)}
    line = message_class(message_of(file, (1, 0)))
    data, headers = written(ProtobufSerializer(line, client, BY_TOPIC), line(article="y"), part, "lines")
    assert read(registry, "PROTOBUF", part, data, headers, "lines")[1] == {"article": "y", "cents": 0}


@pytest.mark.parametrize(
    ("kind", "make", "value", "payload"),
    [
        (
            "AVRO",
            lambda client: AvroSerializer(client, json.dumps(AVRO), conf=BY_TOPIC),
            {"id": 2**60, "at": AT, "note": "ä"},
            {"id": 2**60, "at": int(AT.timestamp() * 1000), "note": "ä"},
        ),
        (
            "JSON",
            lambda client: JSONSerializer(json.dumps(JSON), client, conf=BY_TOPIC),
            {"id": 2**60, "note": "ä"},
            {"id": 2**60, "note": "ä"},
        ),
    ],
    ids=["avro", "json"],
)
def test_avro_and_json(
    registry: Settings,
    client: SchemaRegistryClient,
    kind: SchemaType,
    make: Callable[[SchemaRegistryClient], Any],
    value: Any,
    payload: Any,
) -> None:
    for part in ("key", "value"):
        data, headers = written(make(client), value, part, kind.lower())
        schema, found = read(registry, kind, part, data, headers, kind.lower())
        assert (schema["type"], found) == ("struct", payload)
