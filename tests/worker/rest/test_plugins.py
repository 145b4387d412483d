from __future__ import annotations

import httpx

from frazil.connectors.keys.versions import VERSION
from tests.connectors.samples import SEED_SINK
from tests.worker.rest.requests import assert_error

APACHE = "org.apache.iceberg.connect.IcebergSinkConnector"


def test_plugins(client: httpx.Client) -> None:
    connectors = client.get("/connector-plugins").json()
    assert {"class": APACHE, "type": "sink", "version": VERSION} in connectors
    assert {plugin["type"] for plugin in connectors} == {"sink"}
    everything = client.get("/connector-plugins?connectorsOnly=false").json()
    assert {plugin["type"] for plugin in everything} == {"sink", "converter", "header_converter"}
    json_converters = [p["type"] for p in everything if p["class"].endswith(".JsonConverter")]
    assert json_converters == ["converter", "header_converter"]


def test_keys_of_a_plugin_own_keys_first(client: httpx.Client) -> None:
    keys = client.get("/connector-plugins/IcebergSink/config").json()
    names = [key["name"] for key in keys]
    assert names[0] == "iceberg.tables"
    assert names.index("name") > names.index("iceberg.control.commit.interval-ms")
    assert keys[0] == {
        "name": "iceberg.tables",
        "type": "LIST",
        "required": False,
        "default_value": None,
        "importance": "HIGH",
        "documentation": keys[0]["documentation"],
        "group": None,
        "order_in_group": -1,
        "width": "NONE",
        "display_name": "iceberg.tables",
        "dependents": [],
    }
    assert_error(client.get("/connector-plugins/Nope/config"), 404, "Unknown plugin Nope.")
    assert_error(client.get("/connector-plugins/Nope"), 404, "HTTP 404 Not Found")


def test_every_key_uses_the_closed_sets_that_clients_know(client: httpx.Client) -> None:
    for key in client.get("/connector-plugins/IcebergSink/config").json():
        assert key["type"] in {"BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
        assert key["importance"] in {"HIGH", "MEDIUM", "LOW"}
        assert key["width"] in {"NONE", "SHORT", "MEDIUM", "LONG"}
        assert key["documentation"].endswith(".")


def test_validate_of_a_whole_configuration_has_no_errors(client: httpx.Client) -> None:
    response = client.put("/connector-plugins/IcebergSinkConnector/config/validate", json=SEED_SINK)
    assert response.status_code == 200
    body = response.json()
    assert (body["name"], body["error_count"]) == (SEED_SINK["connector.class"], 0)
    values = {entry["value"]["name"]: entry["value"] for entry in body["configs"]}
    assert values["iceberg.control.commit.interval-ms"]["value"] == "10000"
    assert values["value.converter.schemas.enable"]["value"] == "false"
    assert "iceberg.catalog.s3.secret-access-key" not in values
    assert "topsecret" not in response.text


def test_converters_have_the_keys_and_versions_of_kafka_connect(client: httpx.Client) -> None:
    config = {
        **SEED_SINK,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "header.converter": "org.apache.kafka.connect.converters.LongConverter",
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.a.static.field": "f",
        "transforms.a.static.value": "v",
    }
    body = client.put("/connector-plugins/IcebergSink/config/validate", json=config).json()
    found = {entry["value"]["name"]: entry for entry in body["configs"]}
    versions = {name: entry for name, entry in found.items() if name.endswith("plugin.version")}
    assert {name: entry["definition"]["default_value"] for name, entry in versions.items()} == {
        "connector.plugin.version": VERSION,
        **dict.fromkeys((f"{role}.converter.plugin.version" for role in ("key", "value", "header")), "4.3.1"),
        "transforms.a.plugin.version": "4.3.1",
    }
    assert [entry["value"]["recommended_values"] for entry in versions.values()] == [[VERSION], *[["4.3.1"]] * 4]
    options = [
        name for name in found if name.startswith(("key.converter.", "header.converter.", "value.converter.sche"))
    ]
    assert options == [
        "key.converter.plugin.version",
        "header.converter.plugin.version",
        "key.converter.converter.type",
        "key.converter.converter.encoding",
        "value.converter.schemas.enable",
        "value.converter.schemas.cache.size",
        "value.converter.schema.content",
        "header.converter.converter.type",
    ]
    assert found["key.converter.converter.encoding"]["value"]["value"] == "UTF-8"


def test_an_incomplete_configuration_is_answered_with_its_errors(client: httpx.Client) -> None:
    body = client.put(f"/connector-plugins/{APACHE}/config/validate", json={"connector.class": APACHE, "tasks.max": 0})
    assert body.status_code == 200
    errors = {entry["value"]["name"]: entry["value"]["errors"] for entry in body.json()["configs"]}
    assert errors["name"] == ['Missing required configuration "name" which has no default value.']
    assert errors["tasks.max"] == ["Invalid value 0 for configuration tasks.max: Value must be at least 1"]
    assert errors["topics"] == errors["topics.regex"] == ["Must configure one of topics or topics.regex"]
    assert errors["iceberg.tables"] == ["Must specify table name(s)"]
    assert body.json()["error_count"] == sum(map(len, errors.values())) == 6


def test_class_and_path_must_match(client: httpx.Client) -> None:
    path = "/connector-plugins/S3Sink/config/validate"
    message = f"Included connector type {APACHE} does not match request type S3Sink"
    assert_error(client.put(path, json={"connector.class": APACHE}), 400, message)
    for suffix in ("Sink", "IcebergSinkConnector", APACHE):
        path = f"/connector-plugins/{suffix}/config/validate"
        assert client.put(path, json={"connector.class": APACHE}).status_code == 200
    assert_error(client.put(path, json={"a": "b"}), 400, "Connector config {a} contains no connector type")


def test_keys_of_a_converter_have_no_prefix(client: httpx.Client) -> None:
    for name in ("JsonConverter", "org.apache.kafka.connect.json.JsonConverter"):
        keys = {key["name"]: key for key in client.get(f"/connector-plugins/{name}/config").json()}
        assert keys["schemas.enable"]["default_value"] == "true"
        content = keys["schema.content"]
        assert (content["default_value"], content["importance"], content["order_in_group"]) == (None, "HIGH", 3)
        assert not [key for key in keys if key.startswith("value.")]
    assert client.get("/connector-plugins/SimpleHeaderConverter/config").json() == []
    keys = client.get("/connector-plugins/io.confluent.connect.avro.AvroConverter/config").json()
    assert {key["name"]: key["required"] for key in keys}["schema.registry.url"] is True


def test_versions_of_a_plugin(client: httpx.Client) -> None:
    path = "/connector-plugins/IcebergSink/config"
    assert client.get(path, params={"version": "latest"}).json() == client.get(path).json()
    assert client.get(path, params={"version": VERSION}).status_code == 200
    missing = f"Plugin {APACHE} not found that matches the version range [99,99], available versions: [{VERSION}]"
    assert_error(client.get(path, params={"version": "99"}), 400, missing)
    assert_error(client.get(path, params={"version": "[x"}), 400, "Invalid version specification: [x")


def test_placeholders_are_shown_as_they_are_and_not_looked_up(client: httpx.Client) -> None:
    config = {**SEED_SINK, "tasks.max": "${env:N}", "errors.log.enable": "${file:/none:x}"}
    body = client.put("/connector-plugins/IcebergSink/config/validate", json=config).json()
    values = {entry["value"]["name"]: entry["value"] for entry in body["configs"]}
    assert body["error_count"] == 0
    assert values["tasks.max"]["value"] == "${env:N}"
    assert values["errors.log.enable"]["value"] == "${file:/none:x}"
