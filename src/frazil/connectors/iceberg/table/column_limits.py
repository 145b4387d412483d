"""Limits of new columns: a record that asks for too many does not cost the others theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.schema import Schema

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.evolve import has_column, possible_columns
from frazil.pipeline.convert.infer import Path, column_count
from frazil.pipeline.types import Type

MOST_NEW = "frazil.schema.max.new.columns"
MOST = "frazil.schema.max.columns"


@dataclass(frozen=True)
class Admitted:
    """The unknown fields that a table may get columns for, and why the others may not; empty when all may."""

    fields: Mapping[Path, Type]
    refusal: str = ""


def admit(
    config: IcebergSinkConfig, schema: Schema, unknown: Mapping[Path, Type], seen: Mapping[Path, int]
) -> Admitted:
    """Choose among the unknown fields of a batch when there are too many, or when their names differ in case only.

    Nested ones count too. The fields that most records have come first, `seen` says how many do: so those of a few odd
    records do not take the place of one that the producer has added. Columns that only get wider are always among the
    chosen.
    """
    possible = possible_columns(schema, unknown, by_count(sorted(unknown), seen))
    unknown = {path: type_ for path, type_ in unknown.items() if path in possible or has_column(schema, path)}
    new = {path: column_count(type_) for path, type_ in possible.items()}
    wanted, columns = sum(new.values()), len(schema.column_names)
    left = min(config.max_new_columns_per_batch, config.max_columns - columns)
    if wanted <= left or not new:
        return Admitted(unknown)
    in_turn = sorted(new, key=lambda path: (-seen.get(path, 0), new[path], path))
    chosen = {path: type_ for path, type_ in unknown.items() if path not in new}
    chosen |= _fitting({path: unknown[path] for path in in_turn}, left)
    most_new = config.max_new_columns_per_batch
    if wanted > most_new:
        return Admitted(chosen, f"the batch would bring {wanted:,} new columns; {MOST_NEW} allows {most_new:,}")
    return Admitted(chosen, f"the table would have {columns + wanted:,} columns; {MOST} allows {config.max_columns:,}")


def by_count(paths: Iterable[Path], seen: Mapping[Path, int]) -> list[Path]:
    """The paths that most records have first; of equal ones as they were."""
    return sorted(paths, key=lambda path: -seen.get(path, 0))


def first_columns(config: IcebergSinkConfig, columns: Mapping[Path, Type]) -> Mapping[Path, Type]:
    """Columns that a table can be made with, in their order; records that ask for others are refused."""
    return _fitting(columns, config.max_columns)


def _fitting(columns: Mapping[Path, Type], left: int) -> dict[Path, Type]:
    chosen: dict[Path, Type] = {}
    for path, type_ in columns.items():
        count = column_count(type_)
        if count <= left:
            chosen[path] = type_
            left -= count
    return chosen
