"""Values that a Connect schema requires: null or nothing in their place is refused, as JsonConverter does."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from frazil.pipeline.convert.strict import UnreadableValue
from frazil.pipeline.schemas.connect import ConnectSchema, read_schema

_value = msgspec.json.Decoder().decode
_PRESENT = bool | int | float | str | list | dict  # type: ignore[type-arg]


def check_required(schema: bytes, payload: bytes) -> None:
    """Look for nulls in the members of a payload, which has its default values; both are JSON of JsonConverter.

    Raises UnreadableValue for the first null that its schema does not allow.
    """
    compiled = _compiled(schema)
    if compiled is None:
        return
    decoder, parsed = compiled
    try:
        decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        for missing in _nulls(parsed, _read(payload), ""):
            raise UnreadableValue(f"Invalid null value for required {missing}") from None


def _read(payload: bytes) -> Any:
    """Read a payload; one that is no JSON is told by what reads it next."""
    try:
        return _value(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@lru_cache(maxsize=1024)
def _compiled(schema: bytes) -> tuple[msgspec.json.Decoder[Any], ConnectSchema] | None:
    """Make the decoder that refuses nulls; None for a schema that allows all, or that cannot be read."""
    try:
        parsed = read_schema(schema)
        inside = _inside(parsed)
        return None if inside is msgspec.Raw else (msgspec.json.Decoder(inside | None), parsed)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, TypeError):
        return None


def _type(schema: ConnectSchema) -> Any:
    inside = _inside(schema)
    if schema.optional is True:
        return inside if inside is msgspec.Raw else inside | None
    return _PRESENT if inside is msgspec.Raw else inside


def _inside(schema: ConnectSchema) -> Any:
    """Make the type of a value that is not null; Raw where nothing in it is required."""
    match schema:
        case ConnectSchema(type="struct", fields=list(fields)):
            types = [_type(field) for field in fields]
            if all(type_ is msgspec.Raw for type_ in types):
                return msgspec.Raw
            names = {f"f{index}": field.field or "" for index, field in enumerate(fields)}
            members = [
                (name, type_, None) if field.optional is True else (name, type_)
                for name, type_, field in zip(names, types, fields, strict=True)
            ]
            return msgspec.defstruct("Required", members, rename=names, kw_only=True, gc=False)
        case ConnectSchema(type="array", items=ConnectSchema() as items):
            element = _type(items)
            return msgspec.Raw if element is msgspec.Raw else list.__class_getitem__(element)
        case ConnectSchema(type="map", keys=ConnectSchema(type="string"), values=ConnectSchema() as values):
            value = _type(values)
            return msgspec.Raw if value is msgspec.Raw else dict.__class_getitem__((str, value))
    return msgspec.Raw


def _nulls(schema: ConnectSchema, value: Any, path: str) -> Iterator[str]:
    match schema, value:
        case ConnectSchema(type="struct", fields=list(fields)), dict():
            parts: Iterable[tuple[str, ConnectSchema, Any]] = (
                (f".{field.field}", field, value.get(field.field)) for field in fields
            )
        case ConnectSchema(type="array", items=ConnectSchema() as items), list():
            parts = ((f"[{index}]", items, one) for index, one in enumerate(value))
        case ConnectSchema(type="map", values=ConnectSchema() as values), dict():
            parts = ((f".{name}", values, one) for name, one in value.items())
        case _:
            return
    for name, inner, one in parts:
        if one is not None:
            yield from _nulls(inner, one, path + name)
        elif inner.optional is not True:
            yield f"{inner.type.upper()} field {(path + name).removeprefix('.')}"
