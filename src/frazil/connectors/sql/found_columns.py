"""Columns that a configuration leaves to a JSON Schema, to the registry, or to what the newest records show."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from confluent_kafka import Message

from frazil.clients.kafka.peek import newest_records
from frazil.connectors.keys.sink_config import SinkConfig
from frazil.connectors.source import topics_of
from frazil.connectors.sql.columns import parse_columns, spark_columns
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import ConfigError, NotFound
from frazil.pipeline.convert import infer
from frazil.pipeline.convert.data_keys import mixed_texts
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.envelope import type_of
from frazil.pipeline.prepare import prepare
from frazil.pipeline.results import NewColumns
from frazil.pipeline.rows import by_partition
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.json_schemas import json_to_connect
from frazil.pipeline.shaped import decoded
from frazil.pipeline.task_spec import ANY_COLUMNS
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, ScalarKind, Struct, Type
from frazil.text.events import event

logger = logging.getLogger(__name__)

REGISTRY, INFERRED = "registry", "inferred"
FOUND = (REGISTRY, INFERRED)
_SAMPLED = 1_000
_MOST_TEXT = 100_000
_SAME: Mapping[ScalarKind, ScalarKind] = {
    "uuid": "string",
    "fixed": "binary",
    "time": "long",
    "timestamp_ns": "timestamp",
    "timestamptz_ns": "timestamptz",
}
"""Kinds that Spark has no type for, and those that hold their values; a time of day is its number."""
_TEXTS = ("string", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "uuid", "binary")
"""Kinds of values that are texts in JSON."""
_FORMATS: Mapping[str, ScalarKind] = {"date-time": "timestamptz", "date": "date"}


def given_columns(text: str) -> Struct:
    """Read columns as in CREATE TABLE, or those of a JSON Schema. Raises ValueError with the reason."""
    if not text.lstrip().startswith("{"):
        return parse_columns(text)
    schema, _ = json_to_connect(text)
    found = _for_spark(type_of(schema.to_json()))
    if not isinstance(found, Struct):
        raise ValueError("the JSON Schema names no properties of an object")
    return _with_formats(found, msgspec.json.decode(text))


def _with_formats(struct: Struct, schema: Any) -> Struct:
    """Take dates and times for what the formats of texts say that they are."""
    known = schema.get("properties") if isinstance(schema, dict) else None
    own: Mapping[str, Any] = known if isinstance(known, dict) else {}

    def formatted(field: Field) -> Field:
        node = own.get(field.name)
        if isinstance(field.type, Struct):
            return replace(field, type=_with_formats(field.type, node))
        kind = _FORMATS.get(str(node.get("format"))) if isinstance(node, dict) and field.type == STRING else None
        return field if kind is None else replace(field, type=Scalar(kind))

    return replace(struct, fields=tuple(map(formatted, struct.fields)))


def find_columns(config: SinkConfig, wanted: Mapping[str, str], cluster: Bootstrap) -> dict[str, str]:
    """Find the columns of topics, as Spark's DDL; `wanted` says of each table of the statement where they are.

    Raises ConfigError where there are none, ServiceUnavailable.
    """
    found = {}
    for topic, source in wanted.items():
        try:
            struct = newest_columns(config, topic) if source == REGISTRY else _inferred(config, topic, cluster)
        except NotFound as error:
            raise ConfigError(f"frazil.sql.schema: the columns of {topic} cannot be found: {error}") from None
        found[topic] = spark_columns(struct)
        if len(found[topic]) > _MOST_TEXT:
            raise ConfigError(
                f"frazil.sql.schema: {topic} has too many columns ({len(struct.fields):,}). Name those that the "
                "statement reads"
            )
    return found


def newest_columns(config: SinkConfig, topic: str) -> Struct:
    """Read the columns of the newest schema of a topic. Raises NotFound, ConfigError or ServiceUnavailable."""
    converter = config.envelope
    if not isinstance(converter, RegistryConverter) or converter.subject != "topic" or not converter.names_subjects:
        raise ConfigError(
            f"frazil.sql.schema=registry needs a value.converter with the subjects of Confluent's API, named after the "
            f"topic (TopicNameStrategy). For {topic} set frazil.sql.schema=inferred, or the columns"
        )
    if config.transforms is not None or config.topics_regex is not None:
        raise ConfigError(
            "frazil.sql.schema=registry is for topics that are named, without transforms, which may change the "
            "columns. Set frazil.sql.schema=inferred, or the columns"
        )
    try:
        found = _for_spark(type_of(converter.newest(topic)))
    except ConversionError as error:
        raise ConfigError(f"frazil.sql.schema: the newest schema of {topic}: {error.reason}") from None
    if not isinstance(found, Struct):
        raise ConfigError(f"frazil.sql.schema: the newest schema of {topic} has no columns")
    return found


def _inferred(config: SinkConfig, table: str, cluster: Bootstrap) -> Struct:
    """Find the columns that the newest records show, as a table that is made of them would have."""
    topics = topics_of(config, cluster) if config.topics_regex is not None else [table]
    shown = _shown(config, newest_records(cluster, topics, _SAMPLED))
    found = _for_spark(infer.widened(Struct(()), shown.fields))
    if not isinstance(found, Struct):
        names = table if config.topics_regex is None else config.topics_regex
        raise ConfigError(
            f"frazil.sql.schema: no record of {names} shows columns yet. Produce some, or set the columns"
        )
    for text in _mixed(table, shown):
        logger.info("connector %s: %s", config.name, text, extra=event("columns mixed", config.name))
    return found


def mixed_columns(config: SinkConfig, table: str, records: Sequence[Message]) -> list[str]:
    """Tell of the columns that are text because records differ; those of other topics do not count."""
    own = [record for record in records if config.topics_regex is not None or record.topic() == table]
    return list(_mixed(table, _shown(config, own)))


def _shown(config: SinkConfig, records: Sequence[Message]) -> NewColumns:
    shown = NewColumns()
    for rows in by_partition(records):
        prepared = prepare(rows, config.transforms, envelope=config.envelope, columns=True)
        found = decoded(prepared.values, ANY_COLUMNS)
        shown.add(NewColumns(found.unknown, found.seen))
    return shown


def _mixed(table: str, shown: NewColumns) -> Iterator[str]:
    seen: Counter[tuple[infer.Path, str]] = Counter()
    for (path, kind), count in shown.seen.items():
        seen[path, "text" if kind in _TEXTS else kind] += count
    for path, kinds in mixed_texts(infer.typed(shown.fields), seen):
        which = ", ".join(f"{kind} in {count:,}" for kind, count in kinds.most_common())
        yield (
            f"column {'.'.join(path)} of {table} is STRING, since the newest records have values of several kinds "
            f"there: {which}. Correct the producer, or give the columns with the type that you want in "
            "frazil.sql.schema, which makes the other records bad ones"
        )


def _for_spark(type_: Type) -> Type | None:
    """Take a type as `frazil.sql.schema` can have it; None for an object without members.

    Members that begin with an underscore, as those of metadata do, are left out, and of names that differ only in case
    all but the first.
    """
    match type_:
        case Struct(fields):
            members = {field.name.lower(): field for field in reversed(fields) if field.name[:1] not in ("", "_")}
            own = tuple(_fields(field for field in fields if members.get(field.name.lower()) is field))
            return Struct(own) if own else None
        case List(element):
            inner = _for_spark(element)
            return None if inner is None else List(inner)
        case Map(value=value):
            inner = _for_spark(value)
            return None if inner is None else Map(STRING, inner)
        case Scalar(kind=kind, precision=precision, scale=scale):
            return Scalar(_SAME.get(kind, kind), precision, scale)


def _fields(fields: Iterable[Field]) -> Iterable[Field]:
    for field in fields:
        type_ = _for_spark(field.type)
        if type_ is not None:
            yield Field(field.name, type_)
