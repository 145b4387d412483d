"""The file of YAML topics: what is read, where it goes, and how.

Other sections of the file, such as those of a Spring application, are not looked at.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from frazil.connectors.topics.yaml_document import Section, read_sections
from frazil.errors import ConfigError

_ENTRY = ("topic-name", "kafka-topic", "schema-file", "destination", "processing", "connector-config")
_DESTINATION = ("bucket", "prefix", "path", "table-name", "partition-columns", "delta-config")
_PROCESSING = ("batch-size", "flush-interval", "max-retries")
_DELTA = (
    "enable-optimize",
    "optimize-interval",
    "enable-vacuum",
    "vacuum-retention-hours",
    "enable-schema-evolution",
    "checkpoint-interval",
)
MAX_RETRIES = 3
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")

T = TypeVar("T")


@dataclass(frozen=True)
class DeltaOptions:
    """Upkeep of a Delta table: `optimize_interval` and `checkpoint_interval` count commits."""

    optimize: bool = True
    optimize_interval: int = 10
    vacuum: bool = False
    vacuum_retention_hours: int = 168
    schema_evolution: bool = True
    checkpoint_interval: int = 10


@dataclass(frozen=True)
class TopicEntry:
    """Entry of a topic. None is for the worker's environment to say; `flush_interval_s` is in seconds.

    `where` is file, line and name of the entry, for messages. `config` are keys of the connector that win over what
    the entry says otherwise.
    """

    id: str
    where: str
    topic: str
    schema_file: Path | None = None
    bucket: str | None = None
    prefix: str = ""
    table_name: str | None = None
    partition_columns: tuple[str, ...] = ()
    delta: DeltaOptions | None = None
    batch_size: int | None = None
    flush_interval_s: int | None = None
    max_retries: int = MAX_RETRIES
    config: Mapping[str, str] = field(default_factory=dict)


def read_topics_file(path: Path, env: Mapping[str, str]) -> list[TopicEntry]:
    """The entries of `connector.topics`, in their order; `${NAME}` and `${NAME:default}` are values of `env`.

    Raises ConfigError that names line and key of everything that is wrong.
    """
    problems: list[str] = []
    entries: list[TopicEntry] = []
    for document in read_sections(path, env, problems):
        topics = document.section("connector").section("topics")
        entries += [_entry(topics.section(name), name, path) for name in topics.names()]
    problems += _twice(entries)
    if not entries and not problems:
        problems.append(f"{path}: there is no entry below connector.topics")
    if problems:
        raise ConfigError(f"{'; '.join(problems)}. No connector was changed.")
    return entries


def _entry(section: Section, name: str, path: Path) -> TopicEntry:
    section.allow(_ENTRY)
    destination, processing = section.section("destination"), section.section("processing")
    destination.allow(_DESTINATION)
    processing.allow(_PROCESSING)
    topic = section.either("topic-name", "kafka-topic")
    if topic is None:
        section.fail(f"topic-name is missing; it is the topic to read (as kafka-topic: {name})")
    elif not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        section.fail(
            "Kafka's topics have names of up to 249 letters, digits, dots, hyphens and underscores", "topic-name"
        )
    schema = section.text("schema-file")
    file = None if schema is None else (path.parent / schema).resolve()
    if file is not None and not file.is_file():
        section.fail(f"there is no file {file}", "schema-file")
    columns = destination.items("partition-columns")
    if len(set(columns)) < len(columns):
        destination.fail("a column is named twice", "partition-columns")
    return TopicEntry(
        id=name,
        where=section.where(),
        topic=topic or "",
        schema_file=file,
        bucket=destination.text("bucket"),
        prefix=(destination.either("prefix", "path") or "").strip("/"),
        table_name=destination.text("table-name"),
        partition_columns=columns,
        delta=_delta(destination.section("delta-config")) if destination.has("delta-config") else None,
        batch_size=processing.number("batch-size", 1),
        flush_interval_s=processing.number("flush-interval", 1),
        max_retries=_or(processing.number("max-retries", 0), MAX_RETRIES),
        config=section.section("connector-config").texts(),
    )


def _delta(section: Section) -> DeltaOptions:
    section.allow(_DELTA)
    default = DeltaOptions()
    return DeltaOptions(
        _or(section.flag("enable-optimize"), default.optimize),
        _or(section.number("optimize-interval", 1), default.optimize_interval),
        _or(section.flag("enable-vacuum"), default.vacuum),
        _or(section.number("vacuum-retention-hours", 0), default.vacuum_retention_hours),
        _or(section.flag("enable-schema-evolution"), default.schema_evolution),
        _or(section.number("checkpoint-interval", 1), default.checkpoint_interval),
    )


def _or(value: T | None, default: T) -> T:
    return default if value is None else value


def _twice(entries: list[TopicEntry]) -> list[str]:
    """Entries of one name."""
    names: dict[str, TopicEntry] = {}
    return [
        f"{entry.where}: {found.where} has the same name"
        for entry in entries
        if (found := names.setdefault(entry.id, entry)) is not entry
    ]
