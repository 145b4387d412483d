"""Connect schemas of records, as far as they are known, and the columns that they require."""

from dataclasses import replace
from typing import TypeVar

from msgspec.structs import replace as changed

from frazil.pipeline.schemas.connect import DECIMAL, PREFIX, ConnectSchema, read_schema
from frazil.pipeline.types import List, Map, Scalar, Struct, Type

_T = TypeVar("_T", bound=Type)
_VERSIONED = (PREFIX, "io.debezium.time.", "io.debezium.data.")
"""Beginnings of the names of schemas whose version is 1."""


def schema_of(type_: Type) -> ConnectSchema:
    """Make the Connect schema of values that transformations may have changed.

    A value that kept its type has the schema that was told of it; another one may be null.
    """
    told = read_schema(type_.told) if type_.told else None
    match type_:
        case Struct(fields, origin=origin, version=version):
            members = [changed(schema_of(field.type), field=field.name) for field in fields]
            known = told or ConnectSchema("struct", optional=True)
            return changed(known, name=origin or None, version=version, fields=members)
        case List(element):
            return changed(told or ConnectSchema("array", optional=True), items=schema_of(element))
        case Map(key, value):
            known = told or ConnectSchema("map", optional=True)
            return changed(known, keys=schema_of(key), values=schema_of(value))
        case _:
            return told or _schema_of_scalar(type_)


def _schema_of_scalar(type_: Scalar) -> ConnectSchema:
    if type_.kind == "decimal":
        scale = {"scale": str(type_.scale)}
        return ConnectSchema("bytes", optional=True, name=DECIMAL, version=1, parameters=scale)
    named = type_.origin if "." in type_.origin else None
    version = 1 if type_.origin.startswith(_VERSIONED) else None
    return ConnectSchema(type_.kind, optional=True, name=named, version=version)


def with_required(columns: _T, told: ConnectSchema) -> _T:
    """Note in columns which of them, and of what is inside of them, cannot be null by their Connect schema."""
    match columns:
        case Struct(fields):
            known = {one.field: one for one in told.fields or ()}
            noted = tuple(
                replace(field, type=with_required(field.type, inner), required=inner.optional is not True)
                if (inner := known.get(field.name)) is not None
                else field
                for field in fields
            )
            return replace(columns, fields=noted)
        case List(element) if told.items is not None:
            required = told.items.optional is not True
            return replace(columns, element=with_required(element, told.items), element_required=required)
        case Map(key, value) if told.keys is not None and told.values is not None:
            required = told.values.optional is not True
            keys, values = with_required(key, told.keys), with_required(value, told.values)
            return replace(columns, key=keys, value=values, value_required=required)
        case _:
            return columns
