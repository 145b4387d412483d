"""A record on its way through the transformations.

JSON is kept as source text until somebody looks at it: what a transformation does not touch leaves as it came, numbers
digit by digit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any, Literal, TypeAlias

import msgspec

from frazil.declare.converters import STRING_CONVERTER
from frazil.pipeline.convert import scalars
from frazil.pipeline.convert.strict import UnreadableValue, not_json, parse_object
from frazil.pipeline.schemas.connect import ConnectSchema, as_required
from frazil.pipeline.types import Map, Struct, Type, Typed

Raw = msgspec.Raw
Part = Literal["key", "value"]

COORDINATES = ("topic", "partition", "offset", "timestamp")
"""Names of the attributes of a record that say where in Kafka it stands."""

NULL = Raw(b"null")
_BLANKS = b" \t\r\n"
_object = msgspec.json.Decoder(dict[str, Raw]).decode
_any = msgspec.json.Decoder(Raw).decode
read_text = msgspec.json.Decoder(str).decode


Json: TypeAlias = Raw | Typed | dict[str, "Json"]
Members: TypeAlias = dict[str, Json]
Header: TypeAlias = tuple[str, bytes | Json | None]


@dataclass(frozen=True)
class Identity:
    """Name and version of the schema of an object, and the rest of what is `told` of it, as types have it."""

    name: str = ""
    version: int | None = None
    told: bytes = b""


UNNAMED = Identity()
MADE = Identity(told=ConnectSchema("struct").to_json())
"""Schema of the objects that transformations make of values with a schema."""


class Record:
    """A record: where it is from, its key and its value.

    `value` and `key` are None for null, bytes as long as nobody has looked at them, members of an object, or other
    JSON. `timestamp` is in epoch milliseconds. `headers` are names and values; those of Kafka are bytes unless a
    transformation takes values of headers. Coordinates that no transformation asks for may be absent. `typed`: the
    value came with a schema, so what is made of it has a type; `value_schema` and `key_schema` are name and version of
    schemas, as long as value and key are objects. Transformations change a record in place. `others` are
    changes that it tells of beside its own, before it; those after them in the chain change these too.
    """

    __slots__ = (
        *("headers", "key", "key_schema", "offset", "others", "partition", "timestamp", "topic", "typed", "value"),
        "value_schema",
    )

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | Json | None
    value: bytes | Json | None
    headers: list[Header]
    typed: bool
    value_schema: Identity
    key_schema: Identity
    others: list[Record]


Apply: TypeAlias = Callable[[Record], bool | None]
"""Changes a record; False drops it. Raises DataError for a record that it cannot be applied to."""


class DataError(ValueError):
    """A record that a transformation cannot be applied to."""


def members(record: Record, part: Part) -> Members | None:
    """Open the key or value as members, which may be changed; None for null.

    Raises DataError for what is not an object, UnreadableValue for what is not JSON.
    """
    found = getattr(record, part)
    if type(found) is dict:
        return found
    opened: Any = open_value(found) if isinstance(found, bytes) else found
    if isinstance(opened, Raw | Typed):
        setattr(record, f"{part}_schema", identity(opened))
        opened = object_of(opened, f"the {part}")
    setattr(record, part, opened)
    return opened  # type: ignore[no-any-return]


def object_of(value: Json, what: str) -> Members:
    """Open an object as members. Raises DataError, which names `what`, for any other value."""
    if type(value) is dict:
        return value
    text = raw_bytes(value)
    if text[0] != 0x7B:
        raise DataError(f"{what} is not an object but {scalars.kind_of(text)}")
    return with_types(_object(text), value.type if isinstance(value, Typed) else None)


def with_types(found: Mapping[str, Raw], type_: Type | None) -> Members:
    """Note what the members of an object are, as its type says."""
    match type_:
        case Struct(fields):
            types = {field.name: field.type for field in fields}
            return {name: Typed(raw, types[name]) if name in types else raw for name, raw in found.items()}
        case Map(_, value):
            return {name: Typed(raw, value) for name, raw in found.items()}
        case _:
            return found  # type: ignore[return-value]


def object_or_none(value: Json | None) -> Members | None:
    """Open an object as members, which may be changed; None for anything else."""
    if type(value) is dict:
        return value
    return object_of(value, "") if value is not None and raw_bytes(value)[0] == 0x7B else None


def required_text(found: Members, name: str, path: str) -> str:
    """Give the text of a member. Raises DataError, which names `path`, when it is null or absent."""
    value = found.get(name)
    if value is None or is_null(value):
        raise DataError(f"{path} is missing")
    return text_of(value)


def coordinate(record: Record, source: str) -> Raw:
    """Write one of COORDINATES as JSON."""
    value = getattr(record, source)
    return quoted(value) if source == "topic" else Raw(b"%d" % value)


def open_value(text: bytes) -> Json | None:
    """Read JSON that nobody has looked at yet. Raises UnreadableValue for what is no JSON."""
    first = text.lstrip(_BLANKS)[:1]
    if first == b"{":
        return parse_object(text)  # type: ignore[return-value]
    try:
        text.decode()
        msgspec.json.decode(text)  # before the other, which tells other places of what is wrong
        raw = _any(text)
    except UnicodeDecodeError as error:
        raise UnreadableValue(f"the value is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise UnreadableValue("the value is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise not_json(text, error) from None
    return None if first == b"n" else Raw(bytes(raw).strip(_BLANKS))


def read_as_text(data: bytes) -> Raw:
    """Read bytes as StringConverter does. Raises UnreadableValue unless they are UTF-8."""
    try:
        return quoted(data.decode())
    except UnicodeDecodeError as error:
        raise UnreadableValue(f"the value is not UTF-8 (byte {error.start})", STRING_CONVERTER) from None


def looked_at(record: Record, part: Part) -> Json | None:
    """Open the key or value as any JSON; None for null. Raises UnreadableValue for what is not JSON."""
    found = getattr(record, part)
    if isinstance(found, bytes):
        found = open_value(found)
        setattr(record, part, found)
    return found  # type: ignore[no-any-return]


def retyped(value: Json, like: Json) -> Json:
    """Note that a value is of the type of another one, if that has a type of its own."""
    return Typed(value, like.type) if isinstance(like, Typed) and isinstance(value, Raw) else value


def replace(record: Record, part: Part, value: Json | None) -> None:
    """Put another key or value in place; JSON null is None."""
    setattr(record, f"{part}_schema", identity(value))
    setattr(record, part, None if value is None or is_null(value) else value)


def rebuilt(record: Record, part: Part) -> None:
    """Note that an object has a new schema, which keeps name, version, documentation and parameters of the old one."""
    schema: Identity = getattr(record, f"{part}_schema")
    told = as_required(schema.told)
    if told != schema.told:
        setattr(record, f"{part}_schema", changed(schema, told=told))


def identity(value: Json | None) -> Identity:
    """Give name and version of the schema of an object that nobody has opened."""
    return identity_of(value.type) if isinstance(value, Typed) and isinstance(value.type, Struct) else UNNAMED


def identity_of(shape: Struct) -> Identity:
    """Give name and version of the schema of objects."""
    return Identity(shape.origin, shape.version, shape.told)


def is_null(value: Json) -> bool:
    """Whether a value is JSON null."""
    if type(value) is Raw:
        return bytes(value) == b"null"
    return type(value) is Typed and bytes(value.raw) == b"null"


def is_fraction(raw: bytes) -> bool:
    """Whether Connect reads the JSON number as a double."""
    return b"." in raw or b"e" in raw or b"E" in raw


def raw_bytes(value: Json) -> bytes:
    """Write a value as JSON text."""
    if type(value) is dict:
        return encode(value)
    return bytes(value.raw if isinstance(value, Typed) else value)  # type: ignore[arg-type]


def text_of(value: Json) -> str:
    """Give a text as it is, any other value as JSON text. Raises DataError for a text that is not valid."""
    raw = raw_bytes(value)
    return string(raw) if raw[:1] == b'"' else raw.decode()


def string(raw: bytes) -> str:
    """Read the text of a JSON string. Raises DataError for one that is not valid."""
    try:
        return read_text(raw)
    except msgspec.DecodeError as error:
        raise DataError(f"the text is not valid: {error}") from None


def quoted(text: str) -> Raw:
    """Write a text as JSON."""
    return Raw(msgspec.json.encode(text))


def copied(value: Json) -> Json:
    """Copy a value that is to stand in two places, so that changing one leaves the other as it is."""
    return {name: copied(inner) for name, inner in value.items()} if type(value) is dict else value


def _encode_typed(value: Any) -> Any:
    return value.raw


encode = msgspec.json.Encoder(enc_hook=_encode_typed).encode
"""JSON text of members."""
