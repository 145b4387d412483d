"""The connectors that entries of a topics file stand for."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from frazil.connectors.objects.config.delta_keys import DELTA_FORMAT
from frazil.connectors.objects.config.partitioner_keys import COLUMNS, TIME_COLUMNS
from frazil.connectors.registry import checked
from frazil.connectors.topics.topics_file import DeltaOptions, TopicEntry, read_topics_file
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from frazil.pipeline.letters.queues import DLQ

ENTRY_KEY = "frazil.topics.entry"
"""Marks a connector as one of a topics file."""

_SINK = {
    "connector.class": "frazil.ObjectSinkConnector",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "frazil.topic.folder": "false",
    "timezone": "UTC",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "errors.tolerance": "all",
    f"{DLQ}context.headers.enable": "true",
    "behavior.on.null.values": "ignore",
}
"""Keys of all the connectors: dead letters in `<topic>-dlq`, and times in UTC."""


def topic_connectors(path: Path, settings: Settings) -> dict[str, dict[str, str]]:
    """Name and configuration of each connector of a topics file.

    Raises ConfigError that names line and key of everything that is wrong; a key of the connector that is refused
    stands at the line of its entry.
    """
    found: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    places: dict[tuple[str, ...], str] = {}
    for entry in read_topics_file(path, settings.env):
        config = connector_config(entry, settings)
        try:
            checked(config, settings)
        except ConfigError as error:
            problems.append(f"{entry.where}: {error}")
        found[entry.id] = config
        place = config["topics"], config["s3.bucket.name"], config["topics.dir"]
        if place in places:
            problems.append(
                f"{entry.where}: topic, bucket and prefix are those of {places[place]}, so both would store the same "
                "objects; give one of them another prefix"
            )
        places.setdefault(place, entry.where)
    if problems:
        raise ConfigError(f"{'; '.join(problems)}. No connector was changed.")
    return found


def connector_config(entry: TopicEntry, settings: Settings) -> dict[str, str]:
    """The configuration that an entry stands for, completed with the worker's variables."""
    default = settings.topic_defaults
    flush_s = entry.flush_interval_s or default.flush_interval_s
    config = {
        **_SINK,
        "name": entry.id,
        ENTRY_KEY: entry.id,
        "topics": entry.topic,
        "s3.bucket.name": entry.bucket or default.bucket,
        "s3.region": default.region,
        "store.url": default.endpoint,
        "topics.dir": entry.prefix,
        "flush.size": str(entry.batch_size or default.batch_size),
        "rotate.schedule.interval.ms": str(flush_s * 1000),
        "s3.part.retries": str(entry.max_retries),
        **_partitioner(entry.partition_columns),
    }
    if entry.delta is not None:
        config |= _delta(entry.delta, entry.table_name)
    if entry.schema_file is not None:
        config["frazil.schema.file"] = str(entry.schema_file)
    return {**config, **entry.config}


def _delta(options: DeltaOptions, table_name: str | None) -> Mapping[str, str]:
    return {
        "format.class": DELTA_FORMAT,
        "frazil.delta.table.name": table_name or "",
        "frazil.delta.evolve.enable": str(options.schema_evolution).lower(),
        "frazil.delta.optimize.interval": str(options.optimize_interval if options.optimize else 0),
        "frazil.delta.vacuum.hours": str(options.vacuum_retention_hours if options.vacuum else -1),
        "frazil.delta.checkpoint.interval": str(options.checkpoint_interval),
    }


def _partitioner(columns: Sequence[str]) -> Mapping[str, str]:
    if not columns:
        return {}
    timed = not TIME_COLUMNS.keys().isdisjoint(columns)
    return {
        "partitioner.class": COLUMNS,
        "partition.field.name": ",".join(columns),
        **({"timestamp.extractor": "Record"} if timed else {}),
    }
