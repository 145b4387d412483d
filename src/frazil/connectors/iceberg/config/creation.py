"""Settings of tables that the connector creates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from frazil.declare.definition import Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.types import Type
from frazil.text.lists import listed

_DEFAULT_PARTITIONS = "iceberg.tables.default-partition-by"
_PARTITIONS = "iceberg.table.*.partition-by"
_DEFAULT_IDS = "iceberg.tables.default-id-columns"
_IDS = "iceberg.table.*.id-columns"
TABLE_PROPERTIES = "iceberg.tables.auto-create-props.*"


@dataclass(frozen=True)
class Creation:
    """Settings of new tables: their own, by name of the table, or the default.

    Identifier columns become required identifier fields of the table. `columns` are beside those of the records.
    """

    partitions: tuple[PartitionTerm, ...] = ()
    partitions_of: Mapping[str, tuple[PartitionTerm, ...]] = field(default_factory=dict)
    id_columns: tuple[str, ...] = ()
    id_columns_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[Path, Type] = field(default_factory=dict)


def check_creation(parsed: Parsed) -> None:
    """Errors in the keys of creation; warnings for those that count only when tables are created."""
    _check_terms(parsed, _DEFAULT_PARTITIONS, parsed.text(_DEFAULT_PARTITIONS))
    for table, text in parsed.members(_PARTITIONS).items():
        _check_terms(parsed, _PARTITIONS.replace("*", table), text)
    if parsed.flag("iceberg.tables.auto-create-enabled"):
        return
    why = "it is for tables that are created, and iceberg.tables.auto-create-enabled is false"
    names = [_DEFAULT_PARTITIONS] if parsed.text(_DEFAULT_PARTITIONS) else []
    for family in (_PARTITIONS, TABLE_PROPERTIES):
        names += [family.replace("*", member) for member in parsed.members(family)]
    for name in names:
        parsed.warn(f"{name} has no effect here: {why}")


def _check_terms(parsed: Parsed, name: str, text: str) -> None:
    try:
        if not has_placeholder(text):
            partition_terms(text)
    except ValueError as error:
        parsed.fail(name, invalid_value(name, text, str(error)))


def creation(parsed: Parsed) -> Creation:
    """The settings of a checked configuration."""
    return Creation(
        partition_terms(parsed.text(_DEFAULT_PARTITIONS)),
        {table: partition_terms(text) for table, text in parsed.members(_PARTITIONS).items()},
        listed(parsed.text(_DEFAULT_IDS)),
        {table: listed(text) for table, text in parsed.members(_IDS).items()},
        {name: text.strip() for name, text in parsed.members(TABLE_PROPERTIES).items()},
    )


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
