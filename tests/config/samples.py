"""Connector configurations that the tests start from."""

from __future__ import annotations

SEED_SINK = {
    "name": "iceberg-sink-apilogs",
    "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
    "tasks.max": "2",
    "topics": "apilogs",
    "iceberg.tables": "streaming.apilogs",
    "iceberg.tables.auto-create-enabled": "false",
    "iceberg.tables.evolve-schema-enabled": "true",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://minio:9000/_iceberg",
    "iceberg.catalog.warehouse": "kafkawarehouse",
    "iceberg.catalog.rest.sigv4-enabled": "true",
    "iceberg.catalog.rest.signing-name": "s3tables",
    "iceberg.catalog.rest.signing-region": "us-east-1",
    "iceberg.catalog.s3.endpoint": "http://minio:9000",
    "iceberg.catalog.s3.path-style-access": "true",
    "iceberg.catalog.s3.secret-access-key": "topsecret-4711",
    "iceberg.control.topic": "control-iceberg",
    "iceberg.control.commit.interval-ms": "10000",
    "iceberg.control.commit.timeout-ms": "60000",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
"""Seed 000 section 6, with the secret that section 7.1 speaks of."""

MINIMAL_SINK = {
    "name": "c",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "t",
    "iceberg.tables": "db.landing",
    "iceberg.catalog.type": "rest",
}
