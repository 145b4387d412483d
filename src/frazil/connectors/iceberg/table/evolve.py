"""Schema evolution: one update on the driver for all that its records need."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import BadRequestError, CommitFailedException, ValidationError
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    PrimitiveType,
    StructType,
)

from frazil.connectors.iceberg.table.attempts import NOT_CONFIRMED
from frazil.connectors.iceberg.table.schema import iceberg_type, type_text
from frazil.connectors.iceberg.table.transaction import transaction_on
from frazil.errors import CommitConflict, ConfigError, ServiceUnavailable
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.types import List, Scalar, Struct, Type

_ATTEMPTS = 3


def evolve(catalog: Catalog, table: Table, unknown: Mapping[Path, Type], absent: Set[Path] = frozenset()) -> Table:
    """Give the table what records need of it in one update; returns the table as it is now.

    Every unknown field that it does not have yet becomes an optional column, a column that is too narrow gets the type
    that would do (int to long, float to double, a decimal of more digits), and the required columns of `absent` become
    optional, but for those that identify a row. Of fields whose full names would be the same (`a.b`, and `b` in `a`)
    the first in the order of paths becomes a column; records with the other ones are dead letters when the batch is
    read again.

    Raises CommitConflict when other writers win three times in a row, ServiceUnavailable when the catalog does not
    answer (the update may have been applied; the same call may be repeated), and ConfigError when Iceberg cannot have
    such a column (the table is as it was).
    """
    try:
        for _ in range(_ATTEMPTS):
            plan = _plan(table.schema(), unknown, absent)
            if not plan:
                return table
            try:
                with transaction_on(table) as transaction, transaction.update_schema() as update:
                    plan.apply(update)
            except (CommitFailedException, *NOT_CONFIRMED):
                pass  # what the catalog has now says whether it was applied
            except (ValueError, ValidationError, BadRequestError) as error:
                raise _impossible(table, unknown, error) from error
            table = catalog.load_table(table.name())
        if not _plan(table.schema(), unknown, absent):
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


def evolved(table: Table, unknown: Mapping[Path, Type], absent: Set[Path] = frozenset()) -> Schema:
    """The schema that `evolve` would give the table; changes nothing. Raises ConfigError as it does."""
    transaction = transaction_on(table)
    try:
        with transaction.update_schema() as update:
            _plan(table.schema(), unknown, absent).apply(update)
    except (ValueError, ValidationError) as error:
        raise _impossible(table, unknown, error) from error
    return transaction.table_metadata.schema()


def told_changes(before: Schema, now: Schema) -> str:
    """Tell what has changed from one schema of a table to a later one; empty for nothing."""
    old, new = index_by_id(before), index_by_id(now)
    told = []
    for number, column in new.items():
        name = now.find_column_name(number)
        if number not in old:
            told.append(f"new column {name} {type_text(column.field_type)}")
        elif column.field_type.is_primitive and column.field_type != old[number].field_type:
            told.append(f"column {name} is {column.field_type} now, not {old[number].field_type}")
        elif old[number].required and column.optional:
            told.append(f"column {name} is optional now")
    return ", ".join(told)


@dataclass(frozen=True)
class _Plan:
    """Changes of one schema update."""

    new: Mapping[Path, Type]
    wider: Mapping[Path, PrimitiveType]
    optional: Sequence[Path]

    def __bool__(self) -> bool:
        return bool(self.new or self.wider or self.optional)

    def apply(self, update: UpdateSchema) -> None:
        for path, type_ in sorted(self.new.items()):
            update.add_column(path, iceberg_type(type_))
        for path, wider in sorted(self.wider.items()):
            update.update_column(path, wider)
        for path in self.optional:
            update.make_column_optional(path)


def _plan(schema: Schema, unknown: Mapping[Path, Type], absent: Set[Path]) -> _Plan:
    wider: dict[Path, PrimitiveType] = {}
    for path, type_ in unknown.items():
        found = _find(schema, path)
        wanted = None if found is None else _wider(found[0], type_)
        if wanted is not None:
            wider[path] = wanted
    identifiers = schema.identifier_field_names()
    kept = {tuple(name.split(".")[: depth + 1]) for name in identifiers for depth in range(name.count(".") + 1)}
    optional = [path for path in sorted(absent - kept) if (found := _find(schema, path)) is not None and found[1]]
    return _Plan(possible_columns(schema, unknown), wider, optional)


def _wider(column: IcebergType, wanted: Type) -> PrimitiveType | None:
    """The type that holds the values of a column and those of another type; None when the column does, or none can."""
    match column, wanted:
        case IntegerType(), Scalar(kind="long"):
            return LongType()
        case FloatType(), Scalar(kind="double"):
            return DoubleType()
        case DecimalType() as have, Scalar(kind="decimal", precision=precision, scale=scale):
            return DecimalType(precision, scale) if scale == have.scale and precision > have.precision else None
        case _:
            return None


def _impossible(table: Table, missing: Mapping[Path, Type], error: Exception) -> ConfigError:
    return ConfigError(
        f"{'.'.join(table.name())} cannot have a column for one of the unknown fields "
        f"{', '.join(repr('.'.join(path)) for path in sorted(missing))}: {error}. Nothing was written. "
        "Correct the producer, or set iceberg.tables.evolve-schema-enabled=false"
    )


def possible_columns(
    schema: Schema, unknown: Mapping[Path, Type], order: Iterable[Path] | None = None
) -> dict[Path, Type]:
    """The unknown fields that the table does not have and can have, in the order of their paths.

    Of fields whose full names would be the same the first one of `order` counts, which is that of the paths without it.
    """
    taken = {name.lower() for name in schema.column_names}
    result: dict[Path, Type] = {}
    for path in sorted(unknown) if order is None else order:
        if not has_column(schema, path):
            possible = _without_taken(unknown[path], ".".join(path), taken)
            if possible is not None:
                result[path] = possible
    return dict(sorted(result.items()))


def has_column(schema: Schema, path: Path) -> bool:
    """Whether the schema has a column at the path."""
    return _find(schema, path) is not None


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


def _find(schema: Schema, path: Path) -> tuple[IcebergType, bool] | None:
    """Type of a column and whether it is required; names are compared one by one, for they may hold dots."""
    type_: IcebergType = schema.as_struct()
    required = True
    for name in path:
        match type_:
            case StructType():
                field = next((f for f in type_.fields if f.name == name), None)
                if field is None:
                    return None
                type_, required = field.field_type, field.required
            case ListType() as found:
                type_, required = found.element_type, found.element_required
            case MapType() as found:
                type_, required = found.value_type, found.value_required
            case _:
                return None
    return type_, required
