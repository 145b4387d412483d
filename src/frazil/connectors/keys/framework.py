"""Keys that every sink connector has, whatever it writes to."""

from importlib.util import find_spec
from typing import Literal, cast

from frazil.connectors.keys.overrides import OVERRIDE, check_overrides
from frazil.connectors.keys.versions import VERSION
from frazil.declare.converters import converter_class
from frazil.declare.definition import COMMON, Key, Parsed, Value, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.declare.registry_converters import PROTOBUF_CONVERTER, check_login
from frazil.declare.validators import (
    all_of,
    at_least,
    at_most,
    java_regular_expression,
    non_empty_without_control_chars,
    one_of,
    unique_aliases,
)
from frazil.environment.extras import missing
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.envelope import columns_of
from frazil.pipeline.letters.queues import DLQ
from frazil.text.java_regex import compile_java

ErrorsTolerance = Literal["none", "all"]

TRANSFORMS, PREDICATES, ERRORS = "Transforms", "Predicates", "Error Handling"
FRAMEWORK_GROUPS = (COMMON, TRANSFORMS, PREDICATES, ERRORS)

_ONE_VERSION = "there is exactly one version of each plugin"
_NOT_LOGGED = "failed records are counted and kept as dead letters whose headers name the reason"
_NOT_RETRIED = "converting a record gives the same result every time; failing services are tried again by themselves"

MOST_TASKS = 10_000
"""Tasks of a connector, at most: each of them stands in its status."""

IDENTITY_KEYS: tuple[Key, ...] = (
    Key(
        "name",
        "STRING",
        "Name of the connector, unique among the connectors of the workers that share a configuration store.",
        importance="HIGH",
        validator=non_empty_without_control_chars,
        group=COMMON,
        width="MEDIUM",
        display_name="Connector name",
    ),
    Key(
        "connector.class",
        "STRING",
        "Class name of the connector, or its alias: the simple name with or without the suffix Connector.",
        importance="HIGH",
        group=COMMON,
        width="LONG",
        display_name="Connector class",
    ),
    Key(
        "connector.plugin.version",
        "STRING",
        "Version of the connector.",
        default=VERSION,
        no_effect=_ONE_VERSION,
        group=COMMON,
        width="SHORT",
        display_name="Connector version",
        recommended=(VERSION,),
    ),
    Key(
        "tasks.max",
        "INT",
        "How many tasks the status shows, 10000 at most; a batch runs on all cores that the worker has.",
        default=1,
        importance="HIGH",
        validator=all_of(at_least(1), at_most(MOST_TASKS)),
        group=COMMON,
        width="SHORT",
        display_name="Tasks max",
    ),
    Key(
        "tasks.max.enforce",
        "BOOLEAN",
        "Whether more tasks than tasks.max are an error.",
        default=True,
        importance="LOW",
        no_effect="there are never more tasks than tasks.max",
        group=COMMON,
        width="SHORT",
        display_name="Enforce tasks max",
    ),
)

SINK_KEYS: tuple[Key, ...] = (
    Key(
        "transforms",
        "LIST",
        "Aliases of the single message transformations, in the order in which they are applied.",
        default=(),
        importance="LOW",
        validator=unique_aliases,
        group=TRANSFORMS,
        width="LONG",
        display_name="Transforms",
    ),
    Key(
        "predicates",
        "LIST",
        "Aliases of the predicates that transformations ask.",
        default=(),
        importance="LOW",
        validator=unique_aliases,
        group=PREDICATES,
        width="LONG",
        display_name="Predicates",
    ),
    Key(
        "config.action.reload",
        "STRING",
        "What to do when a value that comes from outside the configuration changes: none or restart.",
        default="restart",
        importance="LOW",
        validator=one_of("none", "restart"),
        no_effect="values are read when the connector starts",
        group=COMMON,
        width="MEDIUM",
        display_name="Reload Action",
    ),
    Key(
        "errors.retry.timeout",
        "LONG",
        "How long converting a record is tried again, in milliseconds; -1 is for ever.",
        default=0,
        no_effect=_NOT_RETRIED,
        group=ERRORS,
        width="MEDIUM",
        display_name="Retry Timeout for Errors",
    ),
    Key(
        "errors.retry.delay.max.ms",
        "LONG",
        "Longest wait between two of these attempts, in milliseconds.",
        default=60000,
        no_effect=_NOT_RETRIED,
        group=ERRORS,
        width="MEDIUM",
        display_name="Maximum Delay Between Retries for Errors",
    ),
    Key(
        "errors.tolerance",
        "STRING",
        "What a record that cannot be stored does: none stops the connector, all makes it a dead letter.",
        default="none",
        validator=one_of("none", "all"),
        group=ERRORS,
        width="SHORT",
        display_name="Error Tolerance",
    ),
    Key(
        "errors.log.enable",
        "BOOLEAN",
        "Whether each failed record is logged.",
        default=False,
        no_effect=_NOT_LOGGED,
        group=ERRORS,
        width="SHORT",
        display_name="Log Errors",
    ),
    Key(
        "errors.log.include.messages",
        "BOOLEAN",
        "Whether the log of a failed record has its topic, partition and offset.",
        default=False,
        no_effect=_NOT_LOGGED,
        group=ERRORS,
        width="SHORT",
        display_name="Log Error Details",
    ),
    Key(
        "topics",
        "LIST",
        "Topics to read, separated by commas. Exactly one of topics and topics.regex is set.",
        default=(),
        importance="HIGH",
        group=COMMON,
        width="LONG",
        display_name="Topics",
    ),
    Key(
        "topics.regex",
        "STRING",
        "Java regular expression that matches the whole name of each topic to read.",
        default="",
        importance="HIGH",
        validator=java_regular_expression,
        group=COMMON,
        width="LONG",
        display_name="Topics regex",
    ),
    Key(
        DLQ + "topic.name",
        "STRING",
        "Topic of the dead letters when errors.tolerance is all; <topic>-dlq when it is blank.",
        default="",
        group=ERRORS,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Name",
    ),
    Key(
        DLQ + "topic.replication.factor",
        "SHORT",
        "Replication factor of the dead-letter topic when it has to be created; -1 is the default of the broker.",
        default=-1,
        group=ERRORS,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Replication Factor",
    ),
    Key(
        DLQ + "context.headers.enable",
        "BOOLEAN",
        "Whether the headers of dead letters with the reason and the place of the failure are named as those of Kafka "
        "Connect, __connect.errors.*, and not frazil.errors.*.",
        default=False,
        group=ERRORS,
        width="MEDIUM",
        display_name="Enable Error Context Headers",
    ),
    Key(OVERRIDE + "*", "STRING", "Setting of the Kafka consumer of this connector.", default=None),
    Key(
        "producer.override.*",
        "STRING",
        "Setting of the Kafka producer of dead letters; of these security.*, sasl.* and ssl.* count.",
        default=None,
    ),
    Key(
        "admin.override.*",
        "STRING",
        "Setting of the Kafka admin client, which creates topics; of these security.*, sasl.* and ssl.* count.",
        default=None,
    ),
)


def check_sink(parsed: Parsed) -> None:
    """Rules between framework keys, with Connect's texts."""
    topics, regex = parsed.items("topics"), parsed.text("topics.regex")
    problem = None
    if topics and regex:
        problem = "topics and topics.regex are mutually exclusive options, but both are set."
    elif not topics and not regex:
        problem = "Must configure one of topics or topics.regex"
    if problem:
        parsed.fail("topics", problem)
        parsed.fail("topics.regex", problem)
    _check_dead_letter_topic(parsed, topics, regex)
    for part in ("key", "value"):
        _check_schema_content(parsed, part)
        check_login(parsed, part)
    _check_extras(parsed)
    check_overrides(parsed)


def _check_extras(parsed: Parsed) -> None:
    """Refuse converters whose packages are not installed."""
    for name in ("key.converter", "value.converter"):
        is_read = parsed.definition.keys[name].no_effect is None
        if is_read and converter_class(parsed.text(name)) == PROTOBUF_CONVERTER and find_spec("grpc_tools") is None:
            parsed.fail(name, invalid_value(name, parsed.text(name), missing("grpcio-tools", "protobuf")))


def _check_dead_letter_topic(parsed: Parsed, topics: tuple[str, ...], regex: str) -> None:
    name = parsed.text(DLQ + "topic.name")
    tolerant = parsed.values["errors.tolerance"] == "all"
    if name and not tolerant:
        parsed.warn(
            f"{DLQ}topic.name has no effect here: errors.tolerance is not all, so a bad record stops the connector"
        )
    if tolerant and not name and regex:
        reason = (
            "Must be set when errors.tolerance is all and topics.regex is used, so that no dead letter is read again"
        )
        parsed.fail(DLQ + "topic.name", invalid_value(DLQ + "topic.name", "", reason))
    own = {name} if name else {f"{topic}-dlq" for topic in topics} if tolerant else set()
    for topic in topics:
        if topic in own:
            parsed.fail(
                "topics",
                f"The DLQ topic '{topic}' may not be included in the list of topics "
                f"('topics=[{', '.join(topics)}]') consumed by the connector",
            )
    known = not has_placeholder(regex) and not parsed.errors.get("topics.regex")
    if name and regex and known and compile_java(regex).matches(name):
        parsed.fail(
            "topics.regex",
            f"The DLQ topic '{name}' may not be matched by the regex for the topics "
            f"('topics.regex={regex}') consumed by the connector",
        )


def _check_schema_content(parsed: Parsed, part: Literal["key", "value"]) -> None:
    name = f"{part}.converter.schema.content"
    key = parsed.definition.keys.get(name)
    if key is None or key.no_effect:
        return
    text = schema_content(parsed, part)
    if parsed.config.get(name) and parsed.values.get(f"{part}.converter.schemas.enable") is False:
        parsed.warn(f"{name} has no effect here: {part}.converter.schemas.enable is false")
    if not text or has_placeholder(text):
        return
    reason = None
    try:
        if columns_of(text.encode()) is None and part == "value":
            reason = "Not the schema of an object. Its type has to be struct"
    except ConversionError as error:
        reason = f"Not a schema as JsonConverter writes it: {error.reason}"
    if reason:
        parsed.fail(name, invalid_value(name, text, reason))


def schema_content(parsed: Parsed, part: Literal["key", "value"]) -> str:
    """The schema of all keys or values; empty when they come with theirs, or without any."""
    value = parsed.values.get(f"{part}.converter.schema.content")
    enabled = parsed.values.get(f"{part}.converter.schemas.enable") is True
    return value.strip() if enabled and isinstance(value, str) else ""


def errors_tolerance(parsed: Parsed) -> ErrorsTolerance:
    """The checked value of `errors.tolerance`."""
    value: Value = parsed.values["errors.tolerance"]
    return cast(ErrorsTolerance, value)
