from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.registry import checked, completed, config_infos, connector_of, find_connector
from frazil.environment.settings import Settings
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


def test_a_class_with_a_slip_is_told_with_the_right_one() -> None:
    with pytest.raises(ConfigError, match=r"\. Did you mean org\.apache\.iceberg\.connect\.IcebergSinkConnector\?$"):
        find_connector("IcebergSinkConector")
    with pytest.raises(ConfigError, match=r"\. Did you mean io\.tabular\.iceberg\.connect\.IcebergSinkConnector\?$"):
        find_connector("io.tabular.iceberg.connect.IcebergSinkConnectr")
    for other in ("io.aiven.connect.jdbc.JdbcSinkConnector", "io.aiven.kafka.connect.gcs.GcsSinkConnector"):
        with pytest.raises(ConfigError) as raised:
            find_connector(other)
        assert "Did you mean" not in str(raised.value)


def test_a_missing_class_shows_keys_and_no_values() -> None:
    config = {key: value for key, value in SEED_SINK.items() if key != "connector.class"}
    with pytest.raises(ConfigError, match=r"^Connector config \{.*name.*\} contains no connector type$") as raised:
        connector_of(config)
    assert "topsecret" not in str(raised.value)


def test_warnings_of_a_good_configuration() -> None:
    assert checked(MINIMAL_SINK, Settings({})).warnings == []
    assert checked(SEED_SINK, Settings({})).warnings != []


def test_config_infos_count_errors_and_name_the_class() -> None:
    infos = config_infos({"connector.class": "IcebergSink", "topics": "t"}, Settings({}))
    assert infos["name"] == "IcebergSink"
    configs = infos["configs"]
    assert isinstance(configs, list)
    with_errors = {entry["value"]["name"]: entry["value"]["errors"] for entry in configs if entry["value"]["errors"]}
    assert set(with_errors) == {"name", "iceberg.tables", "iceberg.catalog"}
    assert infos["error_count"] == 3


def with_store(home: Path, **env: str) -> Settings:
    """Settings of a home that has a store of its own."""
    (home / "data" / "seaweedfs").mkdir(parents=True)
    return Settings({"FRAZIL_HOME": str(home), "ICEBERG_CATALOG_PORT": "4711", **env})


SHORT = {"name": "c", "connector.class": "IcebergSink", "topics": "t", "iceberg.tables": "a.b"}


def test_the_catalog_of_the_worker_counts_where_a_connector_names_none(tmp_path: Path) -> None:
    settings = with_store(tmp_path, WAREHOUSE_NAME="mine")
    config = iceberg_sink_config(dict(completed(SHORT, settings)))
    assert config.catalog_properties == settings.catalog_properties()
    assert config.catalog_properties["uri"] == "http://127.0.0.1:4711"
    other = iceberg_sink_config(dict(completed(SHORT | {"iceberg.catalog.warehouse": "other"}, settings)))
    assert other.catalog_properties == settings.catalog_properties() | {"warehouse": "other"}


@pytest.mark.parametrize(
    "own", [{"uri": "http://other:8181"}, {"type": "hive"}, {"catalog-impl": "org.apache.iceberg.rest.RESTCatalog"}]
)
def test_nothing_of_the_workers_catalog_goes_to_one_that_a_connector_names(tmp_path: Path, own: dict[str, str]) -> None:
    config = SHORT | {f"iceberg.catalog.{key}": text for key, text in own.items()}
    assert completed(config, with_store(tmp_path)) == config


def test_without_a_catalog_of_the_worker_the_keys_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Must specify Iceberg catalog properties: iceberg.catalog.type, iceberg.c"):
        checked(SHORT, Settings({"FRAZIL_HOME": str(tmp_path)}))
    named = Settings({"FRAZIL_HOME": str(tmp_path), "ICEBERG_CATALOG_URI": "http://catalog:8181"})
    assert checked(SHORT, named).warnings == []


def test_a_validation_counts_what_the_worker_has_and_shows_none_of_it(tmp_path: Path) -> None:
    settings = with_store(tmp_path, MINIO_SECRET_KEY="topsecret")
    infos = config_infos(SHORT, settings)
    assert infos["error_count"] == 0
    assert "topsecret" not in repr(infos)


def test_groups_are_in_connects_order() -> None:
    infos = config_infos(SEED_SINK, Settings({}))
    assert infos["groups"] == ["Common", "Transforms", "Predicates", "Error Handling", "Schemas", "Serialization"]


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
