"""Notes in the schema of an Avro file about the Connect schema of its records, as Confluent's converter writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from frazil.pipeline.schemas.connect import (
    DECIMAL,
    FIELD_DEFAULT,
    FIELD_DOC,
    PREFIX,
    RECORD_DOC,
    ConnectSchema,
    bytes_changed,
    from_base64,
)
from frazil.pipeline.types import List, Map, Scalar, Struct, Type

_LEFT_OUT = (FIELD_DEFAULT, "logicalType")
"""Parameters that are no business of Connect's."""
_VERSIONED = (PREFIX, "io.debezium.time.", "io.debezium.data.")
"""Beginnings of the names of schemas whose version is 1."""


def noted(written: Any, schema: ConnectSchema) -> Any:
    """Give Avro's schema the properties `connect.*` of a Connect schema, and those inside of it."""
    if isinstance(written, list):  # null, and a type
        return [*written[:-1], noted(written[-1], schema)]
    made = dict(written) if isinstance(written, dict) else {"type": written}
    match made:
        case {"fields": fields}:
            known = {field.field: field for field in schema.fields or ()}
            made["fields"] = [
                _noted_field(field, known.get(field.get("originalName", field["name"])), schema.parameters)
                for field in fields
            ]
            made |= _doc(schema.parameters, RECORD_DOC)
        case {"type": "array", "items": {"fields": [key, value]} as entry} if schema.type == "map":
            made["items"] = entry | {"fields": [_noted_field(key, schema.keys), _noted_field(value, schema.values)]}
        case {"type": "array", "items": items} if schema.items is not None:
            made["items"] = noted(items, schema.items)
        case {"type": "map", "values": values} if schema.values is not None:
            made["values"] = noted(values, schema.values)
    told = _properties(schema)
    return made | told if told or isinstance(written, dict) else written


def _noted_field(
    field: dict[str, Any], schema: ConnectSchema | None, parameters: Mapping[str, str] | None = None
) -> dict[str, Any]:
    if schema is None:
        return field
    return field | {"type": noted(field["type"], schema)} | _doc(parameters, f"{FIELD_DOC}{schema.field}")


def _doc(parameters: Mapping[str, str] | None, name: str) -> dict[str, str]:
    return {"doc": parameters[name]} if parameters and name in parameters else {}


def _properties(schema: ConnectSchema) -> dict[str, Any]:
    parameters = {name: value for name, value in (schema.parameters or {}).items() if name not in _LEFT_OUT}
    found = {
        "connect.doc": schema.doc if isinstance(schema.doc, str) else None,
        "connect.version": schema.version,
        "connect.parameters": parameters or None,
        "connect.default": _default(schema),
        "connect.name": schema.name,
        "connect.type": schema.type if schema.type in ("int8", "int16") else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _default(schema: ConnectSchema) -> Any:
    """The default value as Avro writes values; None where there is none, or it is that of a field in Avro."""
    if isinstance(schema.default, msgspec.UnsetType) or FIELD_DEFAULT in (schema.parameters or {}):
        return None
    try:
        return bytes_changed(schema, msgspec.json.decode(schema.default), from_base64)
    except ValueError:  # no Base64, and so no value of the schema
        return None


def schema_of(type_: Type) -> ConnectSchema:
    """Make the Connect schema that is known of values which transformations have changed: names and versions."""
    match type_:
        case Struct(fields, origin=origin, version=version):
            members = [msgspec.structs.replace(schema_of(field.type), field=field.name) for field in fields]
            return ConnectSchema("struct", name=origin or None, version=version, fields=members)
        case List(element):
            return ConnectSchema("array", items=schema_of(element))
        case Map(key, value):
            return ConnectSchema("map", keys=schema_of(key), values=schema_of(value))
        case Scalar(kind="decimal", scale=scale):
            return ConnectSchema("bytes", name=DECIMAL, version=1, parameters={"scale": str(scale)})
        case Scalar(kind=kind, origin=origin):
            named = origin if "." in origin else None
            return ConnectSchema(kind, name=named, version=1 if origin.startswith(_VERSIONED) else None)
