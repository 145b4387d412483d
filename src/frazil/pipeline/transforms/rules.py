"""Rules between the keys of one transformation, with the texts that Kafka Connect gives when it starts a task.

Each check gets the prefix of the keys (`transforms.mask.`) and the parsed values under their names without it, and
yields (name without prefix, error text).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from frazil.declare.definition import Value, invalid_value
from frazil.text.field_path import field_path
from frazil.text.java_dates import JavaDateFormat
from frazil.text.java_regex import compile_java, replacement

CAST_TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_CONNECT_TYPES = (*CAST_TYPES, "bytes", "array", "map", "struct")

_Options = Mapping[str, Value]
_Problems = Iterator[tuple[str, str]]
Check = Callable[[str, _Options], _Problems]


def items(options: _Options, name: str) -> tuple[str, ...]:
    """The entries of a LIST key, without blank ones."""
    value = options.get(name)
    return tuple(item for item in value if item) if isinstance(value, tuple) else ()


def text(options: _Options, name: str) -> str:
    """The value of a STRING key; empty when it is null."""
    value = options.get(name)
    return value if isinstance(value, str) else ""


def nothing(prefix: str, options: _Options) -> _Problems:
    """No rule."""
    yield from ()


def not_empty(name: str) -> Check:
    """The list of this key has an entry."""

    def check(prefix: str, options: _Options) -> _Problems:
        if isinstance(options.get(name), tuple) and not items(options, name):
            yield name, f"Configuration '{prefix}{name}' must not be empty. Valid values include: any non-empty value"

    return check


def cast(prefix: str, options: _Options) -> _Problems:
    """Pairs field:type of known types, or one type alone."""
    spec = options.get("spec")
    if not isinstance(spec, tuple):
        return
    entries = items(options, "spec")
    if not entries:
        yield "spec", "Must specify at least one field to cast."
    for entry in entries:
        *field, type_ = (part.strip() for part in entry.split(":"))
        if len(field) > 1:
            yield "spec", invalid_value(prefix + "spec", entries, f"Invalid rename mapping: {entry}")
        elif type_.lower() not in _CONNECT_TYPES:
            reason = f"Invalid type found in casting spec: {type_}"
            yield "spec", invalid_value(prefix + "spec", entries, f"{reason}; valid types are {', '.join(CAST_TYPES)}")
        elif type_.lower() not in CAST_TYPES:
            supported = ", ".join(CAST_TYPES).upper()
            yield (
                "spec",
                f"Cast transformation does not support casting to {type_.upper()}; supported types are [{supported}]",
            )
    if len(entries) > 1 and any(":" not in entry for entry in entries):
        yield (
            "spec",
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec",
        )


def extract_field(prefix: str, options: _Options) -> _Problems:
    """With V2, a path whose backticks come in pairs."""
    try:
        field_path(text(options, "field"), text(options, "field.syntax.version"))
    except ValueError as error:
        yield "field", str(error)


def header_from(prefix: str, options: _Options) -> _Problems:
    """As many headers as fields, and at least one."""
    lists = {name: items(options, name) for name in ("fields", "headers") if isinstance(options.get(name), tuple)}
    for name, entries in lists.items():
        if not entries:
            yield name, invalid_value(prefix + name, entries, "Empty list")
    if len(lists) == 2 and len(lists["fields"]) != len(lists["headers"]):
        yield "headers", "'fields' config must have the same number of elements as 'headers' config."


def insert_field(prefix: str, options: _Options) -> _Problems:
    """At least one field, and a value for the static one."""
    fields = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")
    if not any(options.get(name) is not None for name in fields):
        yield "topic.field", "No field insertion configured"
    elif options.get("static.field") is not None and options.get("static.value") is None:
        reason = f"No value specified for static field: {options['static.field']}"
        yield "static.value", invalid_value(prefix + "static.value", None, reason)


def replace_field(prefix: str, options: _Options) -> _Problems:
    """Pairs old:new."""
    entries = items(options, "renames")
    for entry in entries:
        if len(entry.split(":")) != 2 or not all(entry.split(":")):
            yield "renames", invalid_value(prefix + "renames", entries, f"Invalid rename mapping: {entry}")


def regex_router(prefix: str, options: _Options) -> _Problems:
    """A replacement that names groups of the expression only; the expression has a check of its own."""
    try:
        replacement(text(options, "replacement"), compile_java(text(options, "regex")))
    except re.error:
        return
    except ValueError as error:
        yield "replacement", invalid_value(prefix + "replacement", options.get("replacement"), str(error))


def schema_metadata(prefix: str, options: _Options) -> _Problems:
    """A name or a version."""
    if options.get("schema.name") is None and options.get("schema.version") is None:
        yield "schema.name", "Neither schema name nor version configured"


def timestamp_converter(prefix: str, options: _Options) -> _Problems:
    """A format for texts, and one that can be used."""
    pattern = text(options, "format")
    if pattern.strip():
        yield from _pattern(
            "format",
            pattern,
            "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: ",
        )
    elif options.get("target.type") == "string":
        yield "format", "TimestampConverter requires format option to be specified when using string timestamps"


def timestamp_router(prefix: str, options: _Options) -> _Problems:
    """A format that can be used."""
    name = "timestamp.format"
    yield from _pattern(
        name, text(options, name), f"Invalid value {text(options, name)} for configuration {prefix}{name}: "
    )


def _pattern(name: str, pattern: str, frame: str) -> _Problems:
    try:
        JavaDateFormat(pattern)
    except ValueError as error:
        yield name, f"{frame}{error}" if frame.startswith("Invalid") else f"{frame}{pattern} ({error})"


def external_field(prefix: str, options: _Options) -> _Problems:
    """A name and a value (iceberg-sink.md S09)."""
    given = options.get("external_field")
    if isinstance(given, str) and len(_split(given)) != 2:
        yield "external_field", f"Could not parse {given} for external_field"


def _split(given: str) -> list[str]:
    """As Java splits: empty parts at the end do not count."""
    parts = given.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts
