"""Predicates: which records a transformation is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from frazil.declare.definition import Value
from frazil.pipeline.transforms.record import Record
from frazil.pipeline.transforms.rules import text
from frazil.text.java_regex import compile_java

Test = Callable[[Record], bool]
_BLANKS = b" \t\r\n"


def has_header_key(options: Mapping[str, Value]) -> Test:
    """At least one header of the name."""
    name = text(options, "name")
    return lambda record: name in record.headers


def record_is_tombstone(options: Mapping[str, Value]) -> Test:
    """The value is null, or the JSON text `null`."""

    def test(record: Record) -> bool:
        value = record.value
        return value is None or (isinstance(value, bytes) and len(value) < 64 and value.strip(_BLANKS) == b"null")

    return test


def topic_name_matches(options: Mapping[str, Value]) -> Test:
    """The whole name of the topic, as routers before it have made it."""
    pattern = compile_java(text(options, "pattern"))
    return lambda record: pattern.fullmatch(record.topic) is not None
