"""Configurations of the three log connectors."""

from frazil.connectors.keys.sink_definition import WARNINGS_LEVEL
from frazil.environment.settings import Settings
from frazil.minio.records.kinds import CONNECTOR_NAMES, TABLE_NAMES


def dead_letter_topic(topic: str) -> str:
    """Dead-letter topic of a topic."""
    return f"{topic}-dlq"


def connectors(settings: Settings) -> dict[str, dict[str, str]]:
    """Connector configuration by connector name: one connector for each log kind.

    Topic names come from the settings; connector and table names stay as they are. A record that cannot be stored is
    kept as a dead letter. Keys that only Kafka Connect needs are there too, so their warnings are one line of the log.
    """
    return {
        CONNECTOR_NAMES[kind]: log_config(settings, settings.topics[kind], table) for kind, table in TABLE_NAMES.items()
    }


def log_config(settings: Settings, topic: str, table: str) -> dict[str, str]:
    """Configuration of a connector from a topic of log records to a table."""
    return {
        "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": topic,
        "iceberg.tables": f"{settings.namespace}.{table}",
        "iceberg.tables.auto-create-enabled": "false",
        "iceberg.tables.evolve-schema-enabled": "true",
        **{f"iceberg.catalog.{key}": value for key, value in settings.catalog_properties().items()},
        "iceberg.control.topic": settings.control_topic,
        "iceberg.control.commit.interval-ms": "10000",
        "iceberg.control.commit.timeout-ms": "60000",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead_letter_topic(topic),
        "errors.deadletterqueue.context.headers.enable": "true",
        "errors.deadletterqueue.topic.replication.factor": "1",
        WARNINGS_LEVEL.name: "info",
    }
