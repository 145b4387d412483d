from __future__ import annotations

from frazil.environment.settings import Settings
from frazil.logs.connectors import connectors, dead_letter_topic

# What all three have in common, without the addresses.
COMMON = {
    "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
    "tasks.max": "2",
    "iceberg.tables.auto-create-enabled": "false",
    "iceberg.tables.evolve-schema-enabled": "true",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.warehouse": "kafkawarehouse",
    "iceberg.catalog.rest.sigv4-enabled": "true",
    "iceberg.catalog.rest.signing-name": "s3tables",
    "iceberg.catalog.rest.signing-region": "us-east-1",
    "iceberg.catalog.s3.path-style-access": "true",
    "iceberg.control.topic": "control-iceberg",
    "iceberg.control.commit.interval-ms": "10000",
    "iceberg.control.commit.timeout-ms": "60000",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def test_names_and_keys_of_the_connectors() -> None:
    configs = connectors(Settings({}))
    assert {name: (c["topics"], c["iceberg.tables"]) for name, c in configs.items()} == {
        "iceberg-sink-apilogs": ("apilogs", "streaming.apilogs"),
        "iceberg-sink-errorlogs": ("errorlogs", "streaming.errorlogs"),
        "iceberg-sink-auditlogs": ("auditlogs", "streaming.auditlogs"),
    }
    for config in configs.values():
        assert COMMON.items() <= config.items()


def test_dead_letters() -> None:
    for config in connectors(Settings({})).values():
        assert config["errors.tolerance"] == "all"
        assert (
            config["errors.deadletterqueue.topic.name"]
            == dead_letter_topic(config["topics"])
            == f"{config['topics']}-dlq"
        )
        assert config["errors.deadletterqueue.context.headers.enable"] == "true"
        assert config["errors.deadletterqueue.topic.replication.factor"] == "1"


def test_settings_are_effective() -> None:
    env = {
        "API_LOGS_TOPIC": "my-api",
        "NAMESPACE_NAME": "logs",
        "WAREHOUSE_NAME": "lake",
        "MINIO_ENDPOINT": "http://minio:9000",
        "MINIO_ACCESS_KEY": "key",
        "AWS_REGION": "eu-1",
    }
    config = connectors(Settings(env))["iceberg-sink-apilogs"]
    assert config["topics"] == "my-api"
    assert config["iceberg.tables"] == "logs.apilogs"
    assert config["errors.deadletterqueue.topic.name"] == "my-api-dlq"
    assert config["iceberg.catalog.warehouse"] == "lake"
    assert config["iceberg.catalog.uri"] == "http://minio:9000/_iceberg"
    assert config["iceberg.catalog.s3.endpoint"] == "http://minio:9000"
    assert config["iceberg.catalog.rest.access-key-id"] == "key"
    assert config["iceberg.catalog.rest.signing-region"] == "eu-1"
