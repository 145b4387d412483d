"""Configuration of the object sink: all its keys, and the typed result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from frazil.clients.object_store import ObjectStoreConfig, object_store_config
from frazil.connectors.keys.framework import check_sink
from frazil.connectors.keys.sink_config import SinkConfig, sink_fields
from frazil.connectors.keys.sink_definition import BATCH_RECORDS, sink_definition
from frazil.connectors.objects.config.delta_keys import DELTA_FORMAT, DeltaConfig, delta_config
from frazil.connectors.objects.config.keys import FORMATS, OBJECT_KEYS
from frazil.connectors.objects.config.partitioner_keys import (
    Partitioning,
    check_partitioner,
    class_of,
    is_timed,
    partitioning,
)
from frazil.connectors.objects.config.rules import check_objects, flag_text
from frazil.declare.definition import ConfigDef, Key, Parsed
from frazil.pipeline.transforms.declaration import check_transforms

FormatKind = Literal["json", "bytes", "parquet", "avro"]
Compatibility = Literal["NONE", "BACKWARD", "FORWARD", "FULL"]
_KINDS: Mapping[str, FormatKind] = {
    "JsonFormat": "json",
    "ByteArrayFormat": "bytes",
    "ParquetFormat": "parquet",
    "AvroFormat": "avro",
    "DeltaFormat": "parquet",
}


@dataclass(frozen=True)
class Layout:
    """Names of objects. `pad` is the number of digits of the offset, `mark` stands behind it.

    With `topic_folder` the topic is a folder below `topics_dir`.
    """

    topics_dir: str = "topics"
    directory_delimiter: str = "/"
    file_delimiter: str = "+"
    pad: int = 10
    mark: str = ""
    topic_folder: bool = True


@dataclass(frozen=True)
class RotationConfig:
    """Triggers that store the objects of a Kafka partition; None for a trigger that is not used.

    `schedule_ms` counts from midnight in `zone`. `max_bytes` are those of record values before compression.
    """

    flush_size: int
    interval_ms: int | None = None
    schedule_ms: int | None = None
    zone: str = "UTC"
    on_partition_change: bool = True
    max_open_files: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True)
class FormatConfig:
    """Format of a kind of objects. `gzip_level` is None without compression; `codec` is that of Parquet or Avro.

    `extension` and `separator` are those of bytes; `numeric_decimals` and `meta_data` are for JSON and Avro of records
    with a schema.
    """

    kind: FormatKind
    gzip_level: int | None = None
    codec: str = "snappy"
    extension: str = ".bin"
    separator: bytes = b"\n"
    numeric_decimals: bool = False
    meta_data: bool = True


@dataclass(frozen=True)
class NullValues:
    """Treatment of records without a value; `folder` is where they are stored with `write`."""

    behavior: Literal["ignore", "fail", "write"] = "fail"
    report: bool = True
    folder: str = "tombstone"


@dataclass(frozen=True)
class JsonSchemaConfig:
    """Schema that records are checked by. `text` is the schema once it has been read from the file.

    `compatibility` is the rule for a schema that takes the place of another one.
    """

    file: Path
    formats: bool = False
    compatibility: Compatibility = "BACKWARD"
    text: bytes = b""


@dataclass(frozen=True, kw_only=True)
class ObjectSinkConfig(SinkConfig):
    """A checked configuration of an object sink; see `SinkConfig`.

    `keys` and `headers` are None when they are not stored.
    With `metadata` records tell where they came from. With `delta` the objects are files of a Delta table. `computed`:
    what is stored are rows that were computed, none, one or several of a record.
    """

    store: ObjectStoreConfig
    layout: Layout
    partitioning: Partitioning
    rotation: RotationConfig
    format: FormatConfig
    keys: FormatConfig | None
    headers: FormatConfig | None
    null_values: NullValues
    compatibility: Compatibility
    schema_affix: Literal["NONE", "PREFIX", "SUFFIX"]
    max_records_per_batch: int
    json_schema: JsonSchemaConfig | None = None
    metadata: bool = False
    delta: DeltaConfig | None = None
    computed: bool = False

    @property
    def reads_headers(self) -> bool:
        return self.headers is not None or super().reads_headers


def object_sink_definition(config: Mapping[str, str | None], more: Sequence[Key] = ()) -> ConfigDef:
    """All keys that count for `config`: the framework's, the sink's, those of its transformations and converters."""
    return sink_definition(
        config,
        (*more, *OBJECT_KEYS),
        keys=flag_text(config.get("store.kafka.keys")),
        headers=flag_text(config.get("store.kafka.headers")),
    )


def parse_object_sink(config: Mapping[str, str | None]) -> Parsed:
    """Parse and check a configuration; errors and warnings are in the result, nothing is raised."""
    parsed = object_sink_definition(config).parse(config)
    check_object_sink(parsed)
    return parsed


def check_object_sink(parsed: Parsed) -> None:
    """Check all rules between the keys."""
    check_sink(parsed)
    check_transforms(parsed)
    check_partitioner(parsed)
    check_objects(parsed)


def object_sink_config(config: Mapping[str, str]) -> ObjectSinkConfig:
    """The typed configuration; raises ConfigError with all errors in Connect's text when there are any."""
    return typed_config(parse_object_sink(config))


def typed_config(parsed: Parsed) -> ObjectSinkConfig:
    """The typed configuration; raises ConfigError with all errors in Connect's text when there are any."""
    common = sink_fields(parsed, keys=parsed.flag("store.kafka.keys"))
    is_delta = class_of(parsed.text("format.class"), (DELTA_FORMAT,)) is not None
    division = partitioning(parsed)
    return ObjectSinkConfig(
        **common,
        store=object_store_config(parsed),
        layout=Layout(
            parsed.text("topics.dir"),
            parsed.text("directory.delim"),
            parsed.text("file.delim"),
            parsed.number("filename.offset.zero.pad.width"),
            topic_folder=parsed.flag("frazil.topic.folder") and not is_delta,
        ),
        partitioning=replace(division, absent="") if is_delta else division,
        rotation=_rotation(parsed),
        format=_format(parsed, "format.class"),
        keys=_format(parsed, "keys.format.class") if parsed.flag("store.kafka.keys") else None,
        headers=_format(parsed, "headers.format.class") if parsed.flag("store.kafka.headers") else None,
        null_values=NullValues(
            cast(Literal["ignore", "fail", "write"], parsed.text("behavior.on.null.values").lower()),
            parsed.flag("report.null.values.to.dlq"),
            parsed.text("tombstone.encoded.partition"),
        ),
        compatibility=_compatibility(parsed.text("schema.compatibility")),
        schema_affix=cast(Literal["NONE", "PREFIX", "SUFFIX"], parsed.text("s3.schema.partition.affix.type").upper()),
        max_records_per_batch=parsed.number(BATCH_RECORDS.name),
        json_schema=_json_schema(parsed),
        metadata=parsed.flag("frazil.metadata.enable"),
        delta=delta_config(parsed) if is_delta else None,
    )


def _rotation(parsed: Parsed) -> RotationConfig:
    def positive(name: str) -> int | None:
        value = parsed.number(name)
        return value if value > 0 else None

    return RotationConfig(
        flush_size=max(parsed.number("flush.size"), 1),
        interval_ms=positive("rotate.interval.ms") if is_timed(parsed) else None,
        schedule_ms=positive("rotate.schedule.interval.ms"),
        zone=parsed.text("timezone") or "UTC",
        on_partition_change=parsed.flag("rotate.file.on.partition.change"),
        max_open_files=positive("partitioner.max.open.files"),
        max_bytes=positive("frazil.rotate.bytes"),
    )


def _format(parsed: Parsed, key: str) -> FormatConfig:
    class_name = class_of(parsed.text(key), (*FORMATS, DELTA_FORMAT)) or ""
    separator = parsed.config.get("format.bytearray.separator")
    kind = _KINDS[class_name.rpartition(".")[2]]
    return FormatConfig(
        kind,
        parsed.number("s3.compression.level") if parsed.text("s3.compression.type") == "gzip" else None,
        parsed.text("avro.codec" if kind == "avro" else "parquet.codec"),
        parsed.text("format.bytearray.extension"),
        b"\n" if separator is None else separator.encode(),
        parsed.text("json.decimal.format").upper() == "NUMERIC",
        parsed.flag("connect.meta.data"),
    )


def _json_schema(parsed: Parsed) -> JsonSchemaConfig | None:
    file = parsed.text("frazil.schema.file")
    if not file:
        return None
    rule = _compatibility(parsed.text("frazil.schema.compatibility").upper())
    return JsonSchemaConfig(Path(file), parsed.flag("frazil.schema.formats"), rule)


def _compatibility(text: str) -> Compatibility:
    """An unknown value is NONE."""
    return cast(Compatibility, text) if text in ("BACKWARD", "FORWARD", "FULL") else "NONE"
