"""Schema evolution: one update on the driver for all unknown fields of a batch (iceberg-sink.md 3.3, X14)."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import BadRequestError, CommitFailedException, ValidationError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from frazil.errors import CommitConflict, ConfigError, ServiceUnavailable
from frazil.pipeline.infer import Path
from frazil.pipeline.types import Type
from frazil.sinks.iceberg.commit import NOT_CONFIRMED
from frazil.sinks.iceberg.schema import iceberg_type

_ATTEMPTS = 3


def add_columns(catalog: Catalog, table: Table, unknown: Mapping[Path, Type]) -> Table:
    """Add every unknown field that the table does not have yet, as an optional column; returns the table as it is now.

    Raises CommitConflict when other writers win three times in a row, ServiceUnavailable when the catalog does not
    answer (the update may have been applied; the same call may be repeated), and ConfigError when Iceberg cannot have
    such a column (the table is as it was).
    """
    try:
        for _ in range(_ATTEMPTS):
            missing = {path: type_ for path, type_ in unknown.items() if not _has(table.schema(), path)}
            if not missing:
                return table
            try:
                with table.update_schema() as update:
                    for path, type_ in sorted(missing.items()):
                        update.add_column(path, iceberg_type(type_))
            except (CommitFailedException, *NOT_CONFIRMED):
                pass  # what the catalog has now says whether it was applied
            except (ValueError, ValidationError, BadRequestError) as error:
                raise ConfigError(
                    f"{'.'.join(table.name())} cannot have a column for one of the unknown fields "
                    f"{', '.join(repr('.'.join(path)) for path in sorted(missing))}: {error}. Nothing was written. "
                    "Correct the producer, or set iceberg.tables.evolve-schema-enabled=false"
                ) from error
            table = catalog.load_table(table.name())
        if all(_has(table.schema(), path) for path in unknown):
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
