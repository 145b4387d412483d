"""RegexRouter: the topic renamed by a regular expression.

The new topic is what later predicates and transformations see; positions and counters stay with the topic read.
"""

import re
from collections.abc import Callable

from frazil.declare.definition import Key, invalid_value
from frazil.declare.validators import java_regular_expression
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import Check, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import Apply, Record
from frazil.text.java_regex import compile_java, replacement


def renamer(regex: str, with_: str) -> Callable[[str], str]:
    """Replace as Java's `replaceFirst`, where the expression matches the whole name."""
    pattern = compile_java(regex)
    replace = replacement(with_, pattern)
    return lambda topic: pattern.replaced_first(topic, replace) if pattern.matches(topic) else topic


def renames(rename: Callable[[str], str]) -> tuple[Apply, ApplyToBlock]:
    """Give topics new names, for one record and for many."""

    def apply(record: Record) -> None:
        record.topic = rename(record.topic)

    def columns(block: Block) -> Block:
        names = {name: rename(name) for name in set(block.topics)}
        return block.sent_to([names[topic] for topic in block.topics])

    return apply, columns


def check_replacement(regex: str, name: str) -> Check:
    """Make the rule that a replacement names groups of the expression only, which has a validator of its own."""

    def check(prefix: str, options: Options) -> Problems:
        try:
            replacement(text(options, name), compile_java(text(options, regex)))
        except re.error:
            return
        except ValueError as error:
            yield name, invalid_value(prefix + name, options.get(name), str(error))

    return check


def _renames(options: Options) -> tuple[Apply, ApplyToBlock]:
    return renames(renamer(text(options, "regex"), text(options, "replacement")))


REGEX_ROUTER = Transformation(
    name="RegexRouter",
    documentation="Renames the topic when the expression matches the whole of it. The offsets stay those of the topic "
    "read.",
    keys=(
        Key("regex", "STRING", "Regular expression.", importance="HIGH", validator=java_regular_expression),
        Key("replacement", "STRING", "The new name; $1 and ${name} are groups.", importance="HIGH"),
    ),
    check=check_replacement("regex", "replacement"),
    build=lambda options, part: _renames(options)[0],
    columns=lambda options: _renames(options)[1],
    of_json=True,
)
