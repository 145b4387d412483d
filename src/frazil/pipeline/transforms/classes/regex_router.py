"""RegexRouter: the topic renamed by a regular expression.

The new topic is what later predicates and transformations see; positions and counters stay with the topic read.
"""

from __future__ import annotations

import re

from frazil.declare.definition import Key, invalid_value
from frazil.declare.validators import java_regular_expression
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import Apply, Part, Record
from frazil.text.java_regex import compile_java, replacement


def _build(options: Options, part: Part) -> Apply:
    """Replace as Java's `replaceFirst`, where the expression matches the whole name."""
    pattern = compile_java(text(options, "regex"))
    replace = replacement(text(options, "replacement"), pattern)

    def apply(record: Record) -> None:
        if pattern.matches(record.topic):
            record.topic = pattern.replaced_first(record.topic, replace)

    return apply


def _columns(options: Options) -> ApplyToBlock:
    pattern = compile_java(text(options, "regex"))
    replace = replacement(text(options, "replacement"), pattern)

    def apply(block: Block) -> Block:
        names = {name: name for name in set(block.topics)}
        names |= {name: pattern.replaced_first(name, replace) for name in names if pattern.matches(name)}
        return block.sent_to([names[topic] for topic in block.topics])

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """A replacement that names groups of the expression only; the expression has a validator of its own."""
    try:
        replacement(text(options, "replacement"), compile_java(text(options, "regex")))
    except re.error:
        return
    except ValueError as error:
        yield "replacement", invalid_value(prefix + "replacement", options.get("replacement"), str(error))


REGEX_ROUTER = Transformation(
    name="RegexRouter",
    documentation="Renames the topic when the expression matches the whole of it. The offsets stay those of the topic "
    "read.",
    keys=(
        Key("regex", "STRING", "Regular expression.", importance="HIGH", validator=java_regular_expression),
        Key("replacement", "STRING", "The new name; $1 and ${name} are groups.", importance="HIGH"),
    ),
    check=_check,
    build=_build,
    columns=_columns,
)
