"""Transformations that rename the topic, and the ones that touch headers and whole records.

A new topic is what later predicates and transformations see; positions and counters stay with the topic that was read
(iceberg-sink.md R13).
"""

from __future__ import annotations

from collections.abc import Mapping

from frazil.declare.definition import Value
from frazil.pipeline.transforms.record import Apply, DataError, Part, Record, members
from frazil.pipeline.transforms.rules import items, text
from frazil.text.java_dates import JavaDateFormat
from frazil.text.java_regex import compile_java, replacement

Options = Mapping[str, Value]


def regex_router(options: Options, part: Part) -> Apply:
    """As Java's `replaceFirst` where the expression matches the whole name."""
    pattern = compile_java(text(options, "regex"))
    replace = replacement(text(options, "replacement"), pattern)

    def apply(record: Record) -> None:
        if pattern.fullmatch(record.topic):
            record.topic = pattern.sub(replace, record.topic, count=1)

    return apply


def timestamp_router(options: Options, part: Part) -> Apply:
    """Topic and timestamp in the new name."""
    template = text(options, "topic.format")
    form = JavaDateFormat(text(options, "timestamp.format"))

    def apply(record: Record) -> None:
        try:
            stamp = form.format(record.timestamp * 1_000_000)
        except ValueError as error:
            raise DataError(f"the record's timestamp {record.timestamp}: {error}") from None
        record.topic = template.replace("${topic}", record.topic).replace("${timestamp}", stamp)

    return apply


def drop_all(options: Options, part: Part) -> Apply:
    """Filter."""
    return lambda record: False


def insert_header(options: Options, part: Part) -> Apply:
    """One more header."""
    name = text(options, "header")
    return lambda record: record.headers.append(name)


def drop_headers(options: Options, part: Part) -> Apply:
    """All headers of these names go."""
    names = frozenset(items(options, "headers"))

    def apply(record: Record) -> None:
        record.headers = [name for name in record.headers if name not in names]

    return apply


def header_from(options: Options, part: Part) -> Apply:
    """Headers from fields; moved fields go."""
    fields, headers = items(options, "fields"), items(options, "headers")
    move = text(options, "operation") == "move"

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        record.headers = [*record.headers, *headers]
        if move:
            for name in fields:
                found.pop(name, None)

    return apply
