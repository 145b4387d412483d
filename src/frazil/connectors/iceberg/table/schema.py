"""Iceberg types to the pipeline's and back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import MappedField, NameMapping, parse_mapping_from_json
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from frazil.errors import ConfigError
from frazil.pipeline.types import Field, List, Map, Scalar, ScalarKind, Struct, Type

_SCALARS: dict[type[IcebergType], ScalarKind] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    UUIDType: "uuid",
    BinaryType: "binary",
    DateType: "date",
    TimeType: "time",
    TimestampType: "timestamp",
    TimestamptzType: "timestamptz",
    TimestampNanoType: "timestamp_ns",
    TimestamptzNanoType: "timestamptz_ns",
}
_ICEBERG: dict[ScalarKind, type[IcebergType]] = {kind: type_ for type_, kind in _SCALARS.items()}


_NAME_MAPPING = "schema.name-mapping.default"


def mapping_of(table: Table) -> NameMapping | None:
    """The name mapping of a table, if it has one. Raises ConfigError for one that cannot be read."""
    text = table.properties.get(_NAME_MAPPING)
    try:
        return None if text is None else parse_mapping_from_json(text)
    except ValueError as error:
        raise ConfigError(
            f"the name mapping of table {'.'.join(table.name())} ({_NAME_MAPPING}) cannot be read: {error}. Nothing "
            "was written. Correct or remove the table's property, then restart the connector"
        ) from error


def struct_of(schema: Schema, name_mapping: NameMapping | None = None) -> Struct:
    """The columns of a table. Raises ConfigError for a column type that cannot be written.

    With a name mapping records have its names for the columns; one that it does not know keeps its own name.
    """
    names = None if name_mapping is None else dict(_names(name_mapping.root))
    return _Reader(names, _identifiers(schema)).struct(schema.fields)


def _names(fields: Iterable[MappedField]) -> Iterator[tuple[int, tuple[str, ...]]]:
    for field in fields:
        if field.field_id is not None:
            yield field.field_id, tuple(field.names)
        yield from _names(field.fields)


def _identifiers(schema: Schema) -> frozenset[int]:
    """The columns that identify rows, with the structs that they are in: they can never become optional."""
    parents = {
        name.rsplit(".", depth)[0] for name in schema.identifier_field_names() for depth in range(name.count(".") + 1)
    }
    return frozenset(schema.find_field(name).field_id for name in parents)


def check_any_case(schema: Schema) -> None:
    """Raises ConfigError for columns whose names differ only in case: records cannot say which one they mean."""
    seen: dict[str, str] = {}
    for name in schema.column_names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise ConfigError(
                f"columns {other} and {name} cannot be told apart in any case. Nothing was written. Set "
                "iceberg.tables.schema-case-insensitive=false, or rename one of them, then restart the connector"
            )


@dataclass(frozen=True)
class _Reader:
    """Reads types; `names` are those of a name mapping by field id, if there is one."""

    names: Mapping[int, tuple[str, ...]] | None
    identifiers: frozenset[int]

    def struct(self, fields: Iterable[NestedField]) -> Struct:
        return Struct(tuple(self._field(field) for field in fields))

    def _field(self, field: NestedField) -> Field:
        aliases = None if self.names is None else self.names.get(field.field_id)
        return Field(
            field.name,
            self._type(field.field_type, field.name),
            field.required,
            field.field_id,
            None if aliases == (field.name,) else aliases,
            field.field_id in self.identifiers,
        )

    def _type(self, type_: IcebergType, name: str) -> Type:
        match type_:
            case StructType():
                return self.struct(type_.fields)
            case ListType():
                return List(self._type(type_.element_type, name), type_.element_required, type_.element_id)
            case MapType():
                key, value = self._type(type_.key_type, name), self._type(type_.value_type, name)
                return Map(key, value, type_.value_required, type_.key_id, type_.value_id)
            case _:
                return _scalar(type_, name)


def _scalar(type_: IcebergType, name: str) -> Scalar:
    match type_:
        case DecimalType():
            return Scalar("decimal", precision=type_.precision, scale=type_.scale)
        case FixedType():
            return Scalar("fixed", length=len(type_))
    kind = _SCALARS.get(type(type_))
    if kind is None:
        raise ConfigError(f"column {name} has type {type_}, which cannot be written")
    return Scalar(kind)


def type_text(type_: IcebergType) -> str:
    """A type without the numbers that the table has for what is in it: `struct<sku: string, n: int>`."""
    match type_:
        case StructType():
            return f"struct<{', '.join(f'{field.name}: {type_text(field.field_type)}' for field in type_.fields)}>"
        case ListType():
            return f"list<{type_text(type_.element_type)}>"
        case MapType():
            return f"map<{type_text(type_.key_type)}, {type_text(type_.value_type)}>"
    return str(type_)


def iceberg_type(type_: Type) -> IcebergType:
    """The Iceberg type of a new column; ids are provisional, the catalog assigns the real ones."""
    match type_:
        case Struct(fields):
            return StructType(
                *(NestedField(i, f.name, iceberg_type(f.type), f.required) for i, f in enumerate(fields, 1))
            )
        case List(element, required):
            return ListType(1, iceberg_type(element), required)
        case Map(key, value, required):
            return MapType(1, iceberg_type(key), 2, iceberg_type(value), required)
        case Scalar(kind="decimal", precision=precision, scale=scale):
            return DecimalType(precision, scale)
        case Scalar(kind="fixed", length=length):
            return FixedType(length)
        case Scalar(kind=kind):
            return _ICEBERG[kind]()
