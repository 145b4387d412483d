"""The transformation and predicate classes of Kafka Connect and of the Iceberg sink, with their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from frazil.declare.definition import Key, Value
from frazil.declare.validators import all_of, java_regular_expression, non_empty, one_of, one_of_any_case
from frazil.pipeline.transforms import rules as checks

Kind = Literal["transformation", "predicate"]
Options = Mapping[str, Value]
Problems = Iterator[tuple[str, str]]

KAFKA = "org.apache.kafka.connect.transforms"
ICEBERG = ("org.apache.iceberg.connect.transforms", "io.tabular.iceberg.connect.transforms")

_NO_DEFAULTS = "records have no schema, so fields have no default value"
_REPLACE_NULL = Key(
    "replace.null.with.default",
    "BOOLEAN",
    "Whether a null takes the default value of its field.",
    default=True,
    no_effect=_NO_DEFAULTS,
)


@dataclass(frozen=True)
class PluginClass:
    """A transformation or predicate: its simple name, its keys without prefix, and what it does.

    `parts` are the nested classes that a configuration names, `Key` and `Value`; without them the class itself is
    named. `check` yields (key, error text) for values that do not go together. `refused` says why the class cannot be
    used.
    """

    kind: Kind
    name: str
    documentation: str
    keys: tuple[Key, ...] = ()
    packages: tuple[str, ...] = (KAFKA,)
    parts: tuple[str, ...] = ()
    check: Callable[[str, Options], Problems] = checks.nothing
    refused: str | None = None

    @property
    def class_names(self) -> tuple[str, ...]:
        names = [f"{package}.{self.name}" for package in self.packages]
        return tuple(f"{name}${part}" for name in names for part in self.parts) if self.parts else tuple(names)


def _kafka(name: str, documentation: str, *keys: Key, check: Callable[[str, Options], Problems]) -> PluginClass:
    return PluginClass("transformation", name, documentation, keys, parts=("Key", "Value"), check=check)


def _whole(name: str, documentation: str, *keys: Key, check: Callable[[str, Options], Problems]) -> PluginClass:
    return PluginClass("transformation", name, documentation, keys, check=check)


def _iceberg(
    name: str,
    documentation: str,
    *keys: Key,
    check: Callable[[str, Options], Problems] = checks.nothing,
    refused: str | None = None,
) -> PluginClass:
    return PluginClass("transformation", name, documentation, keys, ICEBERG, check=check, refused=refused)


def _predicate(name: str, documentation: str, *keys: Key) -> PluginClass:
    return PluginClass("predicate", name, documentation, keys, (f"{KAFKA}.predicates",))


def _metadata(name: str, what: str) -> Key:
    documentation = f"Name of the field for {what}. A `!` or `?` at its end is dropped: fields are always optional."
    return Key(name, "STRING", documentation, default=None)


_FIELD_SYNTAX = Key(
    "field.syntax.version",
    "STRING",
    "V1: the whole text is the name of a field of the record. V2: dots lead into objects, backticks enclose names "
    "that contain dots.",
    default="V1",
    importance="HIGH",
    validator=one_of_any_case("V1", "V2"),
)
_DATE_FORMAT = (
    "Pattern as for Java's SimpleDateFormat, in UTC. Digits of `S` are a fraction of the second; a value out of "
    "range is refused."
)

TRANSFORMATIONS: tuple[PluginClass, ...] = (
    _kafka(
        "Cast",
        "Casts fields, or the whole key or value, to a type.",
        Key(
            "spec",
            "LIST",
            "Pairs field:type, or one type for all; int8, int16, int32, int64, float32, float64, boolean, string.",
            importance="HIGH",
        ),
        _REPLACE_NULL,
        check=checks.cast,
    ),
    _whole(
        "DropHeaders",
        "Removes headers. Headers are not stored, so this matters to HasHeaderKey alone.",
        Key("headers", "LIST", "Names of the headers.", importance="HIGH"),
        check=checks.not_empty("headers"),
    ),
    _kafka(
        "ExtractField",
        "Replaces the key or value by one of its fields; null when there is no such field.",
        Key("field", "STRING", "Name or path of the field."),
        _REPLACE_NULL,
        _FIELD_SYNTAX,
        check=checks.extract_field,
    ),
    _whole("Filter", "Drops every record; meant for use with a predicate.", check=checks.nothing),
    _kafka(
        "Flatten",
        "Lifts the fields of objects inside objects to the top; arrays stay as they are, empty objects vanish.",
        Key("delimiter", "STRING", "Text between the names of the levels.", default="."),
        check=checks.nothing,
    ),
    _kafka(
        "HeaderFrom",
        "Moves or copies fields into headers. Headers are not stored, so a moved field is gone.",
        Key("fields", "LIST", "Names of the fields.", importance="HIGH"),
        Key("headers", "LIST", "Names of the headers, one for each field.", importance="HIGH"),
        Key("operation", "STRING", "move or copy.", importance="HIGH", validator=one_of("move", "copy")),
        _REPLACE_NULL,
        check=checks.header_from,
    ),
    _kafka(
        "HoistField",
        "Wraps the key or value in an object with one field. A tombstone becomes an object with a null.",
        Key("field", "STRING", "Name of the field."),
        check=checks.nothing,
    ),
    _kafka(
        "InsertField",
        "Adds where the record comes from, its time, or a constant.",
        _metadata("topic.field", "the topic"),
        _metadata("partition.field", "the partition"),
        _metadata("offset.field", "the offset"),
        _metadata("timestamp.field", "the record's timestamp in epoch milliseconds"),
        _metadata("static.field", "static.value"),
        Key("static.value", "STRING", "Text of the static field.", default=None),
        _REPLACE_NULL,
        check=checks.insert_field,
    ),
    _whole(
        "InsertHeader",
        "Adds a header. Headers are not stored, so this matters to HasHeaderKey alone.",
        Key("header", "STRING", "Name of the header.", importance="HIGH"),
        Key("value.literal", "STRING", "Value of the header.", importance="HIGH"),
        check=checks.nothing,
    ),
    _kafka(
        "MaskField",
        "Replaces values by 0, false, an empty text, array or object, or by a replacement; null stays null.",
        Key("fields", "LIST", "Names of the fields.", importance="HIGH"),
        Key(
            "replacement",
            "STRING",
            "What numbers and texts become; a number where numbers are masked.",
            default=None,
            importance="LOW",
            validator=non_empty,
        ),
        _REPLACE_NULL,
        check=checks.not_empty("fields"),
    ),
    _whole(
        "RegexRouter",
        "Renames the topic when the expression matches the whole of it. The offsets stay those of the topic read.",
        Key("regex", "STRING", "Regular expression.", importance="HIGH", validator=java_regular_expression),
        Key("replacement", "STRING", "The new name; $1 and ${name} are groups.", importance="HIGH"),
        check=checks.regex_router,
    ),
    _kafka(
        "ReplaceField",
        "Leaves out, keeps or renames fields.",
        Key("exclude", "LIST", "Fields to leave out; wins over include.", default=()),
        Key("include", "LIST", "The only fields to keep.", default=()),
        Key("renames", "LIST", "Pairs old:new, applied to the fields that are kept.", default=()),
        _REPLACE_NULL,
        check=checks.replace_field,
    ),
    _kafka(
        "SetSchemaMetadata",
        "Names a schema. Records have no schema, so nothing changes.",
        Key(
            "schema.name",
            "STRING",
            "Name of the schema.",
            default=None,
            importance="HIGH",
            no_effect="records have no schema",
        ),
        Key(
            "schema.version",
            "INT",
            "Version of the schema.",
            default=None,
            importance="HIGH",
            no_effect="records have no schema",
        ),
        _REPLACE_NULL,
        check=checks.schema_metadata,
    ),
    _kafka(
        "TimestampConverter",
        "Converts a time between text, epoch and Date, Time or Timestamp.",
        Key("field", "STRING", "Name of the field; blank for the whole key or value.", default="", importance="HIGH"),
        Key(
            "target.type",
            "STRING",
            "string, unix (a number), Date (for a date column), Time (time) or Timestamp (timestamp).",
            importance="HIGH",
            validator=one_of("string", "unix", "Date", "Time", "Timestamp"),
        ),
        Key("format", "STRING", f"How texts look, on both sides. {_DATE_FORMAT}", default=""),
        Key(
            "unix.precision",
            "STRING",
            "What an epoch number counts, on both sides: seconds, milliseconds, microseconds or nanoseconds.",
            default="milliseconds",
            importance="LOW",
            validator=one_of("nanoseconds", "microseconds", "milliseconds", "seconds"),
        ),
        _REPLACE_NULL,
        check=checks.timestamp_converter,
    ),
    _whole(
        "TimestampRouter",
        "Renames the topic by the record's timestamp. The offsets stay those of the topic read.",
        Key(
            "topic.format",
            "STRING",
            "The new name; ${topic} and ${timestamp} are replaced.",
            default="${topic}-${timestamp}",
            importance="HIGH",
        ),
        Key("timestamp.format", "STRING", _DATE_FORMAT, default="yyyyMMdd", importance="HIGH"),
        check=checks.timestamp_router,
    ),
    _whole(
        "ValueToKey",
        "Makes the key from fields of the value.",
        Key("fields", "LIST", "Names of the fields.", importance="HIGH"),
        _REPLACE_NULL,
        check=checks.not_empty("fields"),
    ),
    _iceberg(
        "CopyValue",
        "Copies a field of the value to another name.",
        Key("source.field", "STRING", "Name of the field.", importance="HIGH"),
        Key("target.field", "STRING", "Name of the copy.", importance="HIGH"),
    ),
    _iceberg(
        "DmsTransform",
        "AWS DMS: puts the fields of data at the top, and op, ts and source into _cdc. Drops records without data and "
        "metadata.",
    ),
    _iceberg(
        "DebeziumTransform",
        "Debezium: puts the fields of after (before, for a delete) at the top, and op, ts, offset, source, target and "
        "key into _cdc. Drops records without them.",
        Key(
            "cdc.target.pattern",
            "STRING",
            "What _cdc.target is; {db} and {table} are replaced.",
            default=None,
        ),
    ),
    _iceberg(
        "JsonToMapTransform",
        "Makes maps of text from objects, so that changing names make no columns. Reads the texts of StringConverter, "
        "and objects too.",
        Key(
            "json.root",
            "BOOLEAN",
            "Whether the whole record becomes one map, payload; else each object in it becomes a map.",
            default=False,
        ),
    ),
    _iceberg(
        "KafkaMetadataTransform",
        "Adds topic, partition, offset and timestamp.",
        Key(
            "field_name",
            "STRING",
            "Name of the object, or what the names begin with.",
            default="_kafka_metadata",
            importance="LOW",
        ),
        Key("nested", "BOOLEAN", "Whether the fields are in one object.", default=False, importance="LOW"),
        Key("external_field", "STRING", "One more field, as name,value.", default=None, importance="LOW"),
        check=checks.external_field,
    ),
    _iceberg(
        "MongoDebeziumTransform",
        "Debezium for MongoDB: makes fields from BSON text.",
        Key("array_handling_mode", "STRING", "array or document.", default=None),
        refused="Not supported yet. It works on records with a schema, and records are read without: have Debezium's "
        "ExtractNewDocumentState make plain documents on the source side",
    ),
)

PREDICATES: tuple[PluginClass, ...] = (
    _predicate(
        "HasHeaderKey",
        "True for a record with at least one header of the name.",
        Key("name", "STRING", "Name of the header.", validator=non_empty),
    ),
    _predicate("RecordIsTombstone", "True for a record whose value is null."),
    _predicate(
        "TopicNameMatches",
        "True when the expression matches the whole name of the topic.",
        Key(
            "pattern",
            "STRING",
            "Regular expression.",
            validator=all_of(non_empty, java_regular_expression),
        ),
    ),
)
