"""Default values of Connect schemas in the place of nulls and absent members, as JsonConverter puts them there."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from frazil.pipeline.convert.strict import UnreadableValue
from frazil.pipeline.schemas.connect import ConnectSchema, read_schema

Fill = Callable[[bytes], bytes]

_NULL = b"null"
_MOST_MORE = 64 << 20
"""Bytes by which default values may make the elements of an array or a map longer."""
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_pairs = msgspec.json.Decoder(list[tuple[msgspec.Raw, msgspec.Raw]]).decode


def filled(schema: bytes, payload: bytes) -> bytes:
    """Give a payload in which nulls have the default values of their schemas; both are JSON of JsonConverter.

    Raises UnreadableValue for a schema that cannot be read and a payload that is no JSON.
    """
    if schema == _NULL:
        return payload
    fill = _compiled(schema)
    return payload if fill is None else applied(fill, payload)


def applied(change: Fill, payload: bytes) -> bytes:
    """Change a payload by what was made of its schema; raises UnreadableValue for one that is not what that says."""
    try:
        return change(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableValue(f"the payload is not what its schema says: {error}") from None


@lru_cache(maxsize=1024)
def _compiled(schema: bytes) -> Fill | None:
    try:
        return _fill(read_schema(schema))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableValue(f"the schema of the record cannot be read: {error}") from None


def _fill(schema: ConnectSchema) -> Fill | None:
    """Make the function for a schema; None where it says no default value. What is of another kind stays as it is."""
    inside = _inside(schema)
    default = _NULL if isinstance(schema.default, msgspec.UnsetType) else bytes(schema.default)
    if default == _NULL:
        return inside

    def fill(raw: bytes) -> bytes:
        found = default if raw == _NULL else raw
        return found if inside is None else inside(found)

    return fill


def _inside(schema: ConnectSchema) -> Fill | None:
    match schema:
        case ConnectSchema(type="struct", fields=list(fields)):
            made = {field.field or "": _fill(field) for field in fields}
            members = {name: fill for name, fill in made.items() if fill is not None}
            return _members(members) if members else None
        case ConnectSchema(type="array", items=ConnectSchema() as items):
            element = _fill(items)
            return None if element is None else _elements(element)
        case ConnectSchema(type="map", values=ConnectSchema() as values):
            value = _fill(values)
            return None if value is None else _entries(value)
    return None


def _members(fills: dict[str, Fill]) -> Fill:
    def fill(raw: bytes) -> bytes:
        if raw[:1] != b"{":
            return raw
        members, changed = _object(raw), False
        for name, inner in fills.items():
            found = bytes(members.get(name, _NULL))
            value = inner(found)
            if value != found:
                members[name], changed = msgspec.Raw(value), True
        return msgspec.json.encode(members) if changed else raw

    return fill


def _elements(inner: Fill) -> Fill:
    def fill(raw: bytes) -> bytes:
        return msgspec.json.encode(_each(inner, _array(raw))) if raw[:1] == b"[" else raw

    return fill


def _entries(inner: Fill) -> Fill:
    """Fill the values of a map; with other keys than texts it is an array of pairs."""

    def fill(raw: bytes) -> bytes:
        found: Any = raw
        if raw[:1] == b"{":
            members = _object(raw)
            found = dict(zip(members, _each(inner, members.values()), strict=True))
        elif raw[:1] == b"[":
            pairs = _pairs(raw)
            found = list(zip((key for key, _ in pairs), _each(inner, (value for _, value in pairs)), strict=True))
        return found if found is raw else msgspec.json.encode(found)

    return fill


def _each(inner: Fill, values: Iterable[msgspec.Raw]) -> list[msgspec.Raw]:
    made, more = [], 0
    for value in values:
        found = bytes(value)
        whole = inner(found)
        more += len(whole) - len(found)
        if more > _MOST_MORE:
            raise ValueError(f"default values would make it longer by more than {_MOST_MORE:,} bytes")
        made.append(msgspec.Raw(whole))
    return made
