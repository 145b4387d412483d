"""Marks in dead-letter topics: below them are no letters of records that are still to be stored."""

from collections.abc import Iterable

from frazil.pipeline.offsets import TopicPartition

Marks = dict[TopicPartition, int]
"""Offsets by dead-letter topic and partition."""


def lowest(several: Iterable[Marks]) -> Marks:
    """Marks that count for several positions: where all of them have one, the lowest."""
    known = list(several)
    common = set.intersection(*map(set, known)) if known else set()
    return {key: min(marks[key] for marks in known) for key in common}
