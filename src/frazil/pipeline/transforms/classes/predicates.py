"""Predicates: which records a transformation is for."""

from frazil.declare.definition import Key
from frazil.declare.validators import all_of, java_regular_expression, non_empty
from frazil.pipeline.convert.strict import is_nothing
from frazil.pipeline.transforms.columns import Block, TestBlock
from frazil.pipeline.transforms.plugin import Options, Predicate, Test, text
from frazil.pipeline.transforms.record import Record
from frazil.text.java_regex import compile_java


def _has_header_key(options: Options) -> Test:
    name = text(options, "name")
    return lambda record: any(found == name for found, _ in record.headers)


def _have_header_key(options: Options) -> TestBlock:
    name = text(options, "name")

    def test(block: Block) -> bool | None:
        found = {any(known == name for known, _ in headers) for headers in block.headers}
        return found.pop() if len(found) == 1 else None

    return test


HAS_HEADER_KEY = Predicate(
    name="HasHeaderKey",
    documentation="True for a record with at least one header of the name.",
    keys=(Key("name", "STRING", "Name of the header.", validator=non_empty),),
    build=_has_header_key,
    columns=_have_header_key,
    reads_headers=True,
)


RECORD_IS_TOMBSTONE = Predicate(
    name="RecordIsTombstone",
    documentation="True for a record whose value is null.",
    build=lambda options: _is_tombstone,
    columns=lambda options: lambda block: False,
)


def _is_tombstone(record: Record) -> bool:
    """The value is null, or the JSON text `null`."""
    value = record.value
    return value is None or (isinstance(value, bytes) and len(value) < 64 and is_nothing(value))


def _topic_name_matches(options: Options) -> Test:
    """The name is the one that routers before the predicate have made."""
    pattern = compile_java(text(options, "pattern"))
    return lambda record: pattern.matches(record.topic)


def _topic_names_match(options: Options) -> TestBlock:
    pattern = compile_java(text(options, "pattern"))

    def test(block: Block) -> bool | None:
        found = {pattern.matches(topic) for topic in set(block.topics)}
        return found.pop() if len(found) == 1 else None

    return test


TOPIC_NAME_MATCHES = Predicate(
    name="TopicNameMatches",
    documentation="True when the expression matches the whole name of the topic.",
    keys=(Key("pattern", "STRING", "Regular expression.", validator=all_of(non_empty, java_regular_expression)),),
    build=_topic_name_matches,
    columns=_topic_names_match,
)
