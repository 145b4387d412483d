"""Partition fields of tables that are created, in the words of `partition-by`."""

import re
from dataclasses import dataclass
from typing import Literal

Transform = Literal["identity", "year", "month", "day", "hour", "bucket", "truncate"]

_TERM = re.compile(r"\s*(\w+)\s*\(\s*([^(),]+?)\s*(?:,\s*([^(),]+?)\s*)?\)\s*")
_BETWEEN = re.compile(r",(?![^()]*\))")
_TRANSFORMS: dict[str, Transform] = {
    "identity": "identity",
    "year": "year",
    "years": "year",
    "month": "month",
    "months": "month",
    "day": "day",
    "days": "day",
    "hour": "hour",
    "hours": "hour",
    "bucket": "bucket",
    "truncate": "truncate",
}


@dataclass(frozen=True)
class PartitionTerm:
    """Partition field: a column and its transform. `number` is the bucket count or the width of `truncate`."""

    transform: Transform
    column: str
    number: int = 0


def split_terms(text: str) -> list[str]:
    """The terms of a list, split at commas that are not inside parentheses."""
    return [term.strip() for term in _BETWEEN.split(text) if term.strip()]


def partition_terms(text: str) -> tuple[PartitionTerm, ...]:
    """The terms of a list. Raises ValueError, with the reason, for a term that means nothing."""
    return tuple(_term(term) for term in split_terms(text))


def _term(text: str) -> PartitionTerm:
    match = _TERM.fullmatch(text)
    if match is None:
        if "(" in text or ")" in text:
            raise ValueError(f"{text} is not written transform(column)")
        return PartitionTerm("identity", text)
    transform = _TRANSFORMS.get(match[1].lower())
    if transform is None:
        raise ValueError(f"{text}: there is no transform {match[1]}; there are {', '.join(sorted(_TRANSFORMS))}")
    if transform in ("bucket", "truncate"):
        if match[3] is None or not match[3].isascii() or not match[3].isdecimal() or int(match[3]) < 1:
            raise ValueError(f"{text} is not written {transform}(column, number)")
        return PartitionTerm(transform, match[2], int(match[3]))
    if match[3] is not None:
        raise ValueError(f"{text}: {match[1]} takes a column and nothing else")
    return PartitionTerm(transform, match[2])
