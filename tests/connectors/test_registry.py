from __future__ import annotations

import pytest

from frazil.connectors.registry import check_config, config_infos, connector_of, find_connector
from frazil.errors import ConfigError
from tests.connectors.samples import MINIMAL_SINK, SEED_SINK


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("io.tabular.iceberg.connect.IcebergSinkConnector", "io.tabular.iceberg.connect"),
        ("org.apache.iceberg.connect.IcebergSinkConnector", "org.apache.iceberg.connect"),
        ("IcebergSinkConnector", "org.apache.iceberg.connect"),
        ("IcebergSink", "org.apache.iceberg.connect"),
    ],
)
def test_names_and_aliases(name: str, package: str) -> None:
    assert find_connector(name).task_class == f"{package}.IcebergSinkTask"


@pytest.mark.parametrize("name", ["", " IcebergSink", "icebergsink", "a.b.IcebergSinkConnector"])
def test_unknown_classes(name: str) -> None:
    with pytest.raises(ConfigError, match="^Failed to find any class that implements Connector and which name matches"):
        find_connector(name)


def test_a_missing_class_shows_keys_and_no_values() -> None:
    config = {key: value for key, value in SEED_SINK.items() if key != "connector.class"}
    with pytest.raises(ConfigError, match=r"^Connector config \{.*name.*\} contains no connector type$") as raised:
        connector_of(config)
    assert "topsecret" not in str(raised.value)


def test_warnings_of_a_good_configuration() -> None:
    assert check_config(MINIMAL_SINK) == []
    assert check_config(SEED_SINK) != []


def test_config_infos_count_errors_and_name_the_class() -> None:
    infos = config_infos({"connector.class": "IcebergSink", "topics": "t"})
    assert infos["name"] == "IcebergSink"
    configs = infos["configs"]
    assert isinstance(configs, list)
    with_errors = {entry["value"]["name"]: entry["value"]["errors"] for entry in configs if entry["value"]["errors"]}
    assert set(with_errors) == {"name", "iceberg.tables", "iceberg.catalog"}
    assert infos["error_count"] == 3


def test_groups_are_in_connects_order() -> None:
    infos = config_infos(SEED_SINK)
    assert infos["groups"] == ["Common", "Transforms", "Predicates", "Error Handling", "Serialization", "Schemas"]


@pytest.mark.parametrize(
    ("name", "class_name"),
    [
        ("io.confluent.connect.s3.S3SinkConnector", "io.confluent.connect.s3.S3SinkConnector"),
        ("S3SinkConnector", "io.confluent.connect.s3.S3SinkConnector"),
        ("S3Sink", "io.confluent.connect.s3.S3SinkConnector"),
        ("ObjectSink", "frazil.ObjectSinkConnector"),
    ],
)
def test_object_sinks(name: str, class_name: str) -> None:
    found = find_connector(name)
    assert (found.class_name, found.type) == (class_name, "sink")
