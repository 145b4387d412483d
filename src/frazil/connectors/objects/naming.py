"""Names of objects: a function of topic, folder, Kafka partition and first offset."""

from collections.abc import Mapping
from typing import Literal

from frazil.connectors.objects.config.object_sink import FormatConfig, FormatKind, Layout

Kind = Literal["data", "keys", "headers"]

MAX_NAME_BYTES = 1024
"""Longest name that S3 takes, in UTF-8."""
_PARQUET = {
    "none": ".parquet",
    "snappy": ".snappy.parquet",
    "gzip": ".gz.parquet",
    "zstd": ".zstd.parquet",
    "lz4_raw": ".lz4raw.parquet",
    "brotli": ".br.parquet",
}

ENDINGS: Mapping[str, FormatKind] = {
    ".json": "json",
    ".json.gz": "json",
    ".avro": "avro",
    **dict.fromkeys(_PARQUET.values(), "parquet"),
}
"""Kind of the objects with data that end so; those of bytes end as a connector says."""


def extension(format_: FormatConfig) -> str:
    """The extension that tells format and compression."""
    if format_.kind == "parquet":
        return _PARQUET[format_.codec]
    if format_.kind == "avro":
        return ".avro"
    plain = ".json" if format_.kind == "json" else format_.extension
    return plain if format_.gzip_level is None else plain + ".gz"


def folder(layout: Layout, topic: str, encoded: str) -> str:
    """The folder of an encoded partition, with the delimiter at its end."""
    parts = [*filter(None, (layout.topics_dir, topic if layout.topic_folder else "")), encoded]
    return "".join(part + layout.directory_delimiter for part in parts)


def object_name(
    layout: Layout, folder_: str, topic: str, partition: int, offset: int, kind: Kind, extension_: str
) -> str:
    """The name of an object; `topic`, `partition` and `offset` are those of its first record as it was read."""
    number = f"{offset:0{layout.pad}d}{layout.mark}"
    view = "" if kind == "data" else f".{kind}"
    return f"{folder_}{layout.file_delimiter.join((topic, str(partition), number))}{view}{extension_}"
