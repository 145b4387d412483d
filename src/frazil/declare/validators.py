"""Checks on single values, with the reasons that Kafka Connect gives."""

import re

from frazil.declare.definition import Validator, Value
from frazil.text.java_regex import compile_java

LONGEST_BACKOFF_MS = 3_600_000
"""Longest wait before a request is tried again."""
_LONGEST_NAME = 1024


def at_least(minimum: int) -> Validator:
    """A number that is present and not below `minimum`."""

    def check(value: Value) -> str | None:
        if value is None:
            return "Value must be non-null"
        return None if isinstance(value, int) and value >= minimum else f"Value must be at least {minimum}"

    return check


def at_most(maximum: int) -> Validator:
    """A number that is not above `maximum`."""

    def check(value: Value) -> str | None:
        return None if isinstance(value, int) and value <= maximum else f"Value must be no more than {maximum}"

    return check


def between(low: int, high: int, reason: str = "") -> Validator:
    """A number from `low` to `high`; `reason` is said of one below."""

    def check(value: Value) -> str | None:
        if isinstance(value, int) and low <= value <= high:
            return None
        if reason and isinstance(value, int) and value < low:
            return reason
        return f"Value must be in the range {low} to {high}"

    return check


def at_least_if_set(minimum: int) -> Validator:
    """A number that is not below `minimum`; null passes."""
    check = at_least(minimum)
    return lambda value: None if value is None else check(value)


def one_of(*allowed: str) -> Validator:
    """Allow one of the texts, in exactly this case."""

    def check(value: Value) -> str | None:
        return None if value in allowed else f"String must be one of: {', '.join(allowed)}"

    return check


def one_of_any_case(*allowed: str) -> Validator:
    """Allow one of the texts, in any case."""

    def check(value: Value) -> str | None:
        if str(value).upper() in (text.upper() for text in allowed):
            return None
        return f"String must be one of (case insensitive): {', '.join(allowed)}"

    return check


def non_empty(value: Value) -> str | None:
    """A text that is not empty; null passes."""
    return "String must be non-empty" if value == "" else None


def non_empty_without_control_chars(value: Value) -> str | None:
    """A connector name: not blank, no ISO control characters, short enough for an address of the REST API; null is the
    parser's error."""
    if value is None:
        return None
    text = str(value)
    if not text:
        return "String may not be empty"
    if len(text) > _LONGEST_NAME:
        return f"String may not have more than {_LONGEST_NAME:,} characters"
    controls = [ord(char) for char in text if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
    if controls:
        codes = ", ".join(map(str, controls))
        return f"String may not contain control sequences but had the following ASCII chars: {codes}"
    return None


def unique_aliases(value: Value) -> str | None:
    """Aliases of transformations or predicates: each one once."""
    if isinstance(value, tuple) and len(set(value)) < len(value):
        return "Duplicate alias provided."
    return None


def java_regular_expression(value: Value) -> str | None:
    """A regular expression of Java that compiles; blank means not set."""
    pattern = str(value or "")
    try:
        compile_java(pattern)
    except re.error as error:
        position = error.pos or 0
        return f"Invalid regex: {error.msg} near index {position}\n{pattern}\n{' ' * position}^"
    return None


def linear_java_regular_expression(value: Value) -> str | None:
    """A regular expression of Java that matches any text in a time that grows with the text alone."""
    pattern = str(value or "")
    problem = java_regular_expression(value)
    if problem is not None or compile_java(pattern).is_linear:
        return problem
    return (
        "One record could keep it busy for hours. Write it without references to groups, lookbehinds, lookaheads but "
        "at its beginning, possessive repetitions, and repetitions of more than 1,000"
    )


def table_names(value: Value) -> str | None:
    """Names in the form `namespace.table`."""
    names = value if isinstance(value, tuple) else ()
    wrong = [name for name in names if name and not all(name.rpartition(".")[::2])]
    if not wrong:
        return None
    return f"Table names are written namespace.table, as streaming.apilogs; without a namespace: {', '.join(wrong)}"


def all_of(*validators: Validator) -> Validator:
    """The first reason that any of the validators gives."""

    def check(value: Value) -> str | None:
        return next((reason for validator in validators if (reason := validator(value))), None)

    return check
