"""Placeholders of configuration providers in values, in Kafka's form."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_PLACEHOLDER = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


@dataclass(frozen=True)
class Placeholder:
    """`${provider:key}` or `${provider:path:key}`; `text` is how it was written."""

    text: str
    provider: str
    path: str
    key: str


def has_placeholder(text: str) -> bool:
    """Whether the value, or a part of it, is known only when the connector starts. A bare `${NAME}` is plain text."""
    return _PLACEHOLDER.search(text) is not None


def placeholders(text: str) -> Iterator[Placeholder]:
    """The placeholders of a value, from left to right."""
    for found in _PLACEHOLDER.finditer(text):
        yield _placeholder(found)


def replace(text: str, value: Callable[[Placeholder], str]) -> str:
    """`text` with each placeholder replaced by its value, in one pass: a value is not looked at again."""
    return _PLACEHOLDER.sub(lambda found: value(_placeholder(found)), text)


def _placeholder(found: re.Match[str]) -> Placeholder:
    return Placeholder(found[0], found[1], found[2] or "", found[3])
