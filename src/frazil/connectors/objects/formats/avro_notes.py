"""Notes in the schema of an Avro file about the Connect schema of its records, as Confluent's converter writes them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from frazil.pipeline.schemas.connect import (
    FIELD_DEFAULT,
    FIELD_DOC,
    RECORD_DOC,
    ConnectSchema,
    bytes_changed,
    from_base64,
)

_LEFT_OUT = (FIELD_DEFAULT, "logicalType")
"""Parameters that are no business of Connect's."""


def noted(written: Any, schema: ConnectSchema, *, properties: bool) -> Any:
    """Give Avro's schema the documentation and the default values of a Connect schema, and of those inside of it.

    With `properties` also those named `connect.*`.
    """
    if isinstance(written, list):  # null, and a type
        return [*written[:-1], noted(written[-1], schema, properties=properties)]
    made = dict(written) if isinstance(written, dict) else {"type": written}
    match made:
        case {"fields": fields}:
            known = {field.field: field for field in schema.fields or ()}
            made["fields"] = [
                _noted_field(
                    field, known.get(field.get("originalName", field["name"])), schema.parameters, properties=properties
                )
                for field in fields
            ]
            made |= _doc(schema.parameters, RECORD_DOC)
        case {"type": "array", "items": {"fields": [key, value]} as entry} if schema.type == "map":
            parts = (key, schema.keys), (value, schema.values)
            made["items"] = entry | {
                "fields": [_noted_field(field, inner, properties=properties) for field, inner in parts]
            }
        case {"type": "array", "items": items} if schema.items is not None:
            made["items"] = noted(items, schema.items, properties=properties)
        case {"type": "map", "values": values} if schema.values is not None:
            made["values"] = noted(values, schema.values, properties=properties)
    told = _properties(schema) if properties else {}
    return made | told if told or isinstance(written, dict) else written


def _noted_field(
    field: dict[str, Any],
    schema: ConnectSchema | None,
    parameters: Mapping[str, str] | None = None,
    *,
    properties: bool,
) -> dict[str, Any]:
    """Note a field; the type of its default value comes first in a union."""
    if schema is None:
        return field
    type_ = noted(field["type"], schema, properties=properties)
    made = field | {"type": type_} | _doc(parameters, f"{FIELD_DOC}{schema.field}")
    value = _default(schema)
    if value is None or not _fits(value, type_[-1] if isinstance(type_, list) else type_):
        return made
    return made | {"type": type_[::-1] if isinstance(type_, list) else type_, "default": value}


def _doc(parameters: Mapping[str, str] | None, name: str) -> dict[str, str]:
    return {"doc": parameters[name]} if parameters and name in parameters else {}


def _properties(schema: ConnectSchema) -> dict[str, Any]:
    parameters = {name: value for name, value in (schema.parameters or {}).items() if name not in _LEFT_OUT}
    found = {
        "connect.doc": schema.doc if isinstance(schema.doc, str) else None,
        "connect.version": schema.version,
        "connect.parameters": parameters or None,
        "connect.default": None if FIELD_DEFAULT in (schema.parameters or {}) else _default(schema),
        "connect.name": schema.name,
        "connect.type": schema.type if schema.type in ("int8", "int16") else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _default(schema: ConnectSchema) -> Any:
    """The default value as Avro writes values; None where there is none."""
    if isinstance(schema.default, msgspec.UnsetType):
        return None
    try:
        return bytes_changed(schema, msgspec.json.decode(schema.default), from_base64)
    except ValueError:  # no Base64, and so no value of the schema
        return None


def _fits(value: Any, type_: Any) -> bool:
    """Whether a value can be a default value of a type of Avro: in a union, of the first one."""
    match type_:
        case [first, *_]:
            return _fits(value, first)
        case {"fields": fields}:
            names = {field["name"]: field["type"] for field in fields}
            own = isinstance(value, dict) and value.keys() == names.keys()
            return own and all(_fits(value[name], inner) for name, inner in names.items())
        case {"type": "array", "items": items}:
            return isinstance(value, list) and all(_fits(one, items) for one in value)
        case {"type": "map", "values": values}:
            return isinstance(value, dict) and all(_fits(one, values) for one in value.values())
        case {"type": inner}:
            return _fits(value, inner)
        case "int" | "long":
            return type(value) is int and -(bound := 1 << (31 if type_ == "int" else 63)) <= value < bound
        case "float" | "double":
            return type(value) in (int, float)
        case "boolean":
            return type(value) is bool
        case "null":
            return value is None
        case _:
            return isinstance(value, str)
