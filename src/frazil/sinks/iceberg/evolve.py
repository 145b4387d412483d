"""Schema evolution: one update on the driver for all unknown fields of a batch (iceberg-sink.md 3.3, X14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import BadRequestError, CommitFailedException, ValidationError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from frazil.errors import CommitConflict, ConfigError, ServiceUnavailable
from frazil.pipeline.infer import Path
from frazil.pipeline.types import List, Struct, Type
from frazil.sinks.iceberg.commit import NOT_CONFIRMED
from frazil.sinks.iceberg.schema import iceberg_type

_ATTEMPTS = 3


def add_columns(catalog: Catalog, table: Table, unknown: Mapping[Path, Type]) -> Table:
    """Add every unknown field that the table does not have yet, as an optional column; returns the table as it is now.

    Of fields whose full names would be the same (`a.b`, and `b` in `a`) the first in the order of paths becomes a
    column; records with the other ones are dead letters when the batch is read again.

    Raises CommitConflict when other writers win three times in a row, ServiceUnavailable when the catalog does not
    answer (the update may have been applied; the same call may be repeated), and ConfigError when Iceberg cannot have
    such a column (the table is as it was).
    """
    try:
        for _ in range(_ATTEMPTS):
            missing = possible_columns(table.schema(), unknown)
            if not missing:
                return table
            try:
                with table.update_schema() as update:
                    for path, type_ in sorted(missing.items()):
                        update.add_column(path, iceberg_type(type_))
            except (CommitFailedException, *NOT_CONFIRMED):
                pass  # what the catalog has now says whether it was applied
            except (ValueError, ValidationError, BadRequestError) as error:
                raise _impossible(table, missing, error) from error
            table = catalog.load_table(table.name())
        if not possible_columns(table.schema(), unknown):
            return table
    except NOT_CONFIRMED as error:
        raise ServiceUnavailable(
            f"the catalog did not confirm new columns of {'.'.join(table.name())} ({type(error).__name__}: {error}); "
            "nothing was written, the batch will be read again"
        ) from error
    raise CommitConflict(
        f"columns could not be added to {'.'.join(table.name())}: other writers changed it {_ATTEMPTS} times; "
        "nothing was written, the batch will be read again"
    )


def too_many(schema: Schema, unknown: Mapping[Path, Type], per_batch: int, per_table: int) -> str:
    """Why a batch may not bring these fields as new columns, nested ones counted too; empty when it may."""
    new = sum(_count(type_) for type_ in possible_columns(schema, unknown).values())
    if new > per_batch:
        return f"the batch would bring {new:,} new columns; frazil.schema.max.new.columns allows {per_batch:,}"
    columns = len(schema.column_names)
    if new and columns + new > per_table:
        return f"the table would have {columns + new:,} columns; frazil.schema.max.columns allows {per_table:,}"
    return ""


def _count(type_: Type) -> int:
    match type_:
        case Struct(fields):
            return 1 + sum(_count(field.type) for field in fields)
        case List(element):
            return 1 + _count(element)
        case _:
            return 1


def with_columns(table: Table, unknown: Mapping[Path, Type]) -> Schema:
    """The schema that `add_columns` would give the table; changes nothing. Raises ConfigError as it does."""
    missing = possible_columns(table.schema(), unknown)
    transaction = table.transaction()
    try:
        with transaction.update_schema() as update:
            for path, type_ in sorted(missing.items()):
                update.add_column(path, iceberg_type(type_))
    except (ValueError, ValidationError) as error:
        raise _impossible(table, missing, error) from error
    return transaction.table_metadata.schema()


def _impossible(table: Table, missing: Mapping[Path, Type], error: Exception) -> ConfigError:
    return ConfigError(
        f"{'.'.join(table.name())} cannot have a column for one of the unknown fields "
        f"{', '.join(repr('.'.join(path)) for path in sorted(missing))}: {error}. Nothing was written. "
        "Correct the producer, or set iceberg.tables.evolve-schema-enabled=false"
    )


def possible_columns(schema: Schema, unknown: Mapping[Path, Type]) -> dict[Path, Type]:
    """The unknown fields that the table does not have and can have, in the order of their paths."""
    taken = {name.lower() for name in schema.column_names}
    result: dict[Path, Type] = {}
    for path, type_ in sorted(unknown.items()):
        if not _has(schema, path):
            possible = _without_taken(type_, ".".join(path), taken)
            if possible is not None:
                result[path] = possible
    return result


def _without_taken(type_: Type, name: str, taken: set[str]) -> Type | None:
    """The type without the members whose full names are taken already; all that are left are taken from now on.

    Names that differ only in case count as equal: most engines cannot tell such columns apart.
    """
    if name.lower() in taken:
        return None
    taken.add(name.lower())
    match type_:
        case Struct(fields):
            kept = []
            for field in fields:
                member = _without_taken(field.type, f"{name}.{field.name}", taken)
                if member is not None:
                    kept.append(replace(field, type=member))
            return replace(type_, fields=tuple(kept)) if kept else None
        case List(element):
            inner = _without_taken(element, f"{name}.element", taken)
            return None if inner is None else replace(type_, element=inner)
        case _:
            return type_


def _has(schema: Schema, path: Path) -> bool:
    """Whether the table has the column; names are compared one by one, since they may hold dots (T#324)."""
    type_: IcebergType = schema.as_struct()
    for name in path:
        match type_:
            case StructType():
                field = next((f for f in type_.fields if f.name == name), None)
                if field is None:
                    return False
                type_ = field.field_type
            case ListType():
                type_ = type_.element_type
            case MapType():
                type_ = type_.value_type
            case _:
                return False
    return True
