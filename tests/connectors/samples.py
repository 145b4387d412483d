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
"""The connector of the API log, with a secret."""

MINIMAL_SINK = {
    "name": "c",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "t",
    "iceberg.tables": "db.landing",
    "iceberg.catalog.type": "rest",
}

SEED_S3_SINK = {
    "name": "s3-sink",
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "topics": "dbz.${POSTGRES_SCHEMA_TO_TRACK}.${POSTGRES_TABLE_TO_TRACK}",
    "topics.dir": "topics",
    "s3.region": "${AWS_REGION}",
    "s3.bucket.name": "${S3_BUCKET_NAME}",
    "s3.part.size": "5242880",
    "flush.size": "1",
    "rotate.interval.ms": "10000",
    "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
    "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
    "path.format": "yyyy-MM-dd",
    "partition.duration.ms": "3600000",
    "locale": "en-US",
    "timezone": "UTC",
    "timestamp.extractor": "Record",
    "timestamp.field": "ts_ms",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "true",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
    "errors.retry.timeout": "30000",
    "errors.retry.delay.max.ms": "1000",
    "errors.tolerance": "all",
    "errors.log.enable": "true",
    "errors.log.include.messages": "true",
    "behavior.on.null.values": "ignore",
    "behavior.on.malformed.documents": "warn",
    "compression.type": "gzip",
    "parquet.codec": "snappy",
}
"""Kafka to S3 as Confluent's sink is usually configured."""

MINIMAL_S3_SINK = {
    "name": "s",
    "connector.class": "S3SinkConnector",
    "topics": "t",
    "s3.bucket.name": "b",
    "flush.size": "3",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
}
