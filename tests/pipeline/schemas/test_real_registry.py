"""Records whose schemas are in a real registry, by both of its APIs."""

from __future__ import annotations

import json
import struct

import httpx
import pytest

from frazil.clients.registry.access import apicurio_access, confluent_access
from frazil.clients.registry.client import RegistryClient
from frazil.clients.registry.schema import SchemaType
from frazil.environment.settings import LOOPBACK, Settings
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.wire import Framing

pytestmark = pytest.mark.stack

PLACE = json.dumps({"type": "record", "name": "x.Place", "fields": [{"name": "city", "type": "string"}]})
PERSON = json.dumps({"type": "record", "name": "Person", "fields": [{"name": "home", "type": "x.Place"}]})
POINT = json.dumps({"title": "Point", "type": "object", "properties": {"x": {"type": "integer"}}})


@pytest.mark.parametrize(
    ("kind", "text", "body", "name", "payload"),
    [
        ("AVRO", PERSON, b"\x08Rome", "Person", b'{"home":{"city":"Rome"}}'),
        ("JSON", POINT, b'{"x":1}', "Point", b'{"x":1}'),
    ],
)
def test_both_apis_give_the_schema(
    registry: Settings, kind: SchemaType, text: str, body: bytes, name: str, payload: bytes
) -> None:
    access = confluent_access({"schema.registry.url": registry.registry_url}, "value.converter.")
    client = RegistryClient(access)
    client.register("places", PLACE)
    references = [{"name": "x.Place", "subject": "places", "version": 1}] if kind == "AVRO" else []
    topic = f"both-{kind.lower()}"
    number = client.register(f"{topic}-value", text, kind, references)

    record = b"\0" + struct.pack(">i", number) + body
    schema, found = RegistryConverter("C", kind, access).split(record, (), topic)
    assert (json.loads(schema)["name"], json.loads(schema)["version"], found) == (name, 1, payload)

    own = apicurio_access({"apicurio.registry.url": f"http://{LOOPBACK}:{registry.registry_port}"}, "value.converter.")
    converter = RegistryConverter("C", kind, own, Framing(kind="contentId", apicurio=True))
    assert converter.split(record, (), "t")[1] == payload
    header = ("apicurio.value.contentId", struct.pack(">q", number))
    assert converter.split(body, (header,), "t")[1] == payload


def test_a_schema_of_connect_in_the_registry(registry: Settings) -> None:
    """As Apicurio's converter of JSON keeps it."""
    schema = {"type": "struct", "name": "Point", "fields": [{"field": "x", "type": "int64", "optional": True}]}
    content = {"content": json.dumps(schema), "contentType": "application/json"}
    own = apicurio_access({"apicurio.registry.url": f"http://{LOOPBACK}:{registry.registry_port}"}, "value.converter.")
    body = {"artifactId": "point-value", "artifactType": "KCONNECT", "firstVersion": {"content": content}}
    answer = httpx.post(f"{own.urls[0]}/groups/default/artifacts", json=body)
    assert answer.is_success, answer.text
    for kind in ("contentId", "globalId"):
        converter = RegistryConverter("C", "KCONNECT", own, Framing(kind=kind, json=True))
        value = {"schemaId": answer.json()["version"][kind], "payload": {"x": 1}}
        found, payload = converter.split(json.dumps(value).encode(), (), "point")
        assert (json.loads(found), json.loads(payload)) == (schema, {"x": 1})


def test_the_newest_schema_of_a_subject_reads_what_an_older_one_wrote(registry: Settings) -> None:
    access = confluent_access({"schema.registry.url": registry.registry_url}, "value.converter.")
    client = RegistryClient(access)
    client.register("places", PLACE)
    references = [{"name": "x.Place", "subject": "places", "version": 1}]
    number = client.register("newest-value", PERSON, "AVRO", references)
    newer = json.loads(PERSON)
    newer["fields"].append({"name": "age", "type": ["null", "int"], "default": None})
    client.register("newest-value", json.dumps(newer), "AVRO", references)
    record = b"\0" + struct.pack(">i", number) + b"\x08Rome"
    schema, found = RegistryConverter("C", "AVRO", access, latest=True).split(record, (), "newest")
    assert [field["field"] for field in json.loads(schema)["fields"]] == ["home", "age"]
    assert json.loads(found) == {"home": {"city": "Rome"}, "age": None}
