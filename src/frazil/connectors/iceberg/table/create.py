"""Creation of tables with the columns that the records of a batch need."""

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import NestedField

from frazil.clients.catalog import catalog_errors
from frazil.connectors.iceberg.config.creation import Creation, PartitionTerm
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.config.row_changes import no_keys
from frazil.connectors.iceberg.table.schema import iceberg_type
from frazil.errors import ConfigError
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.transforms.plugin import CHANGE_POSITION
from frazil.pipeline.types import Type
from frazil.pipeline.versions import MODE_COLUMNS

EMPTY = "Unable to create table from empty object"
"""Legacy's words for records that show no column."""

_FIRST_PARTITION_ID = 1000
_SUFFIXES = {"identity": "", "truncate": "_trunc"}


def creation_of(config: IcebergSinkConfig, name: str, key_fields: Set[tuple[str, ...]]) -> Creation:
    """Settings for a new table: the fields of the records' keys identify its rows where nothing else does.

    Raises ConfigError for one whose rows nothing would identify.
    """
    changes = config.row_changes
    if changes is None:
        return config.creation
    mode, ids = changes.mode_of(name), tuple(map(".".join, changes.id_columns_of(name)))
    if not ids and changes.events and len(key_fields) == 1:
        ids = next(iter(key_fields))
    if not ids and mode != "append":
        raise ConfigError(no_keys(name))
    columns = MODE_COLUMNS[mode]
    own = (*ids, CHANGE_POSITION) if ids and columns else ids
    return replace(config.creation, id_columns_of={name: own}, columns=columns)


def create_table(catalog: Catalog, name: str, columns: Mapping[Path, Type], creation: Creation) -> None:
    """Make a table and the levels of its namespace; one that others have made meanwhile is as good.

    `columns` are in the order in which the table gets them. Raises ConfigError for settings that do not fit the
    columns, and when the catalog refuses; ServiceUnavailable when it does not answer.
    """
    schema, spec = new_table(name, columns, creation)
    levels = name.split(".")[:-1]
    try:
        with catalog_errors(catalog.properties, f"a new table {name}"), suppress(TableAlreadyExistsError):
            for depth in range(1, len(levels) + 1):
                _create_namespace(catalog, tuple(levels[:depth]))
            catalog.create_table(name, schema, partition_spec=spec, properties=dict(creation.properties))
    except (ValueError, ValidationError) as error:
        raise ConfigError(f"table {name} cannot be created: {error}. Nothing was read past") from error


def new_table(name: str, columns: Mapping[Path, Type], creation: Creation) -> tuple[Schema, PartitionSpec]:
    """Columns and partition fields that a new table would have; raises ConfigError for settings that do not fit."""
    schema = _schema(name, {**columns, **creation.columns}, creation.id_columns_of.get(name, creation.id_columns))
    return schema, _partition_spec(name, schema, creation.partitions_of.get(name, creation.partitions))


def _create_namespace(catalog: Catalog, levels: tuple[str, ...]) -> None:
    """Create the namespace; a user who may not can still create tables in one that exists."""
    try:
        catalog.create_namespace(levels)
    except (NamespaceAlreadyExistsError, ForbiddenError):
        return


def _schema(name: str, columns: Mapping[Path, Type], id_columns: Sequence[str]) -> Schema:
    fields = [
        NestedField(number, path[0], iceberg_type(type_), required=path[0] in id_columns)
        for number, (path, type_) in enumerate(columns.items(), 1)
    ]
    schema = assign_fresh_schema_ids(Schema(*fields))
    ids = {field.name: field for field in schema.fields}
    for column in id_columns:
        if column not in ids:
            raise ConfigError(
                f"table {name} cannot be created with the id column {column}: the records have {', '.join(ids)}. "
                f"Correct iceberg.tables.default-id-columns or iceberg.table.{name}.id-columns"
            )
    try:
        return Schema(*schema.fields, identifier_field_ids=[ids[column].field_id for column in id_columns])
    except ValueError as error:
        raise ConfigError(f"table {name} cannot be created with the id columns {id_columns}: {error}") from error


def _partition_spec(name: str, schema: Schema, terms: Sequence[PartitionTerm]) -> PartitionSpec:
    fields: list[PartitionField] = []
    for number, term in enumerate(terms, _FIRST_PARTITION_ID):
        what = f"table {name} cannot be partitioned by {term.transform}({term.column})"
        keys = f"Correct iceberg.tables.default-partition-by or iceberg.table.{name}.partition-by; nothing was created"
        try:
            source = schema.find_field(term.column)
        except ValueError:
            have = ", ".join(schema.column_names)
            raise ConfigError(f"{what}: the records have no field {term.column}, but {have}. {keys}") from None
        transform = transform_of(term)
        if not transform.can_transform(source.field_type):
            raise ConfigError(f"{what}: the column is of type {source.field_type}. {keys}")
        title = title_of(term)
        if title in {field.name for field in fields}:
            raise ConfigError(f"{what} twice. {keys}")
        fields.append(PartitionField(source.field_id, number, transform, title))
    return PartitionSpec(*fields)


def title_of(term: PartitionTerm) -> str:
    """Name of a partition field, as engines name it."""
    return term.column + _SUFFIXES.get(term.transform, f"_{term.transform}")


def transform_of(term: PartitionTerm) -> Transform:  # type: ignore[type-arg]
    """Iceberg's transform of a partition field."""
    match term.transform:
        case "identity":
            return IdentityTransform()
        case "year":
            return YearTransform()
        case "month":
            return MonthTransform()
        case "day":
            return DayTransform()
        case "hour":
            return HourTransform()
        case "bucket":
            return BucketTransform(term.number)
        case "truncate":
            return TruncateTransform(term.number)
