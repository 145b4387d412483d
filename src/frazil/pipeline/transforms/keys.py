"""Keys of records as JSON, for the transformations that read them."""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from frazil.clients.kafka.headers import Headers
from frazil.declare.converters import JSON_CONVERTER, READABLE_KEYS, STRING_CONVERTER
from frazil.pipeline.convert.strict import ConversionError, StageError
from frazil.pipeline.envelope import Envelope, opened_one
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.formats.registry import FORMATS
from frazil.pipeline.transforms.record import Json, Raw, object_or_none, open_value, quoted, read_as_text
from frazil.pipeline.types import Typed

_WHOLE = {"Short": ">h", "Integer": ">i", "Long": ">q"}
_FLOATING = {"Float": ">f", "Double": ">d"}

ReadKey = Callable[[bytes, Headers, str], Json | None]
"""Reads the key of a record; headers and topic are the record's."""


@dataclass(frozen=True)
class KeyConverter:
    """Converter of the keys of records; `envelope` is how they come with their schemas, if they do. Picklable.

    `events` names the format of change events that they belong to, if they do.
    """

    class_name: str = STRING_CONVERTER
    envelope: Envelope | None = None
    events: str = ""


def key_reader(converter: KeyConverter) -> ReadKey:
    """Make the function for a converter. It raises StageError for bytes that are no such key."""
    read = _reader(converter)

    def key(data: bytes, headers: Headers, topic: str) -> Json | None:
        try:
            return read(data, headers, topic)
        except ConversionError as error:
            raise StageError("KEY_CONVERTER", converter.class_name, f"key: {error.reason}") from None

    return key


def key_fields(rows: Rows, converter: KeyConverter) -> set[tuple[str, ...]]:
    """The columns that the fields of keys of a chunk stand for, where they are objects: those of its first such key.

    JSON is told by itself, with a schema and without.
    """
    read = _with_schema(converter.envelope) if converter.envelope is not None else None
    for index, key in enumerate(rows.keys):
        if key is None:
            continue
        headers = () if rows.headers is None else rows.headers[index]
        try:
            found = object_or_none(open_value(key) if read is None else read(key, headers, rows.topic))
        except ConversionError:
            continue
        if found is not None and found.keys() == {"schema", "payload"}:
            found = object_or_none(found["payload"])
        if found is not None:
            events = FORMATS.get(converter.events)
            names = tuple(found) if events is None else events.key_names(tuple(found))
            return {names} if names else set()
    return set()


def _reader(converter: KeyConverter) -> ReadKey:
    if converter.envelope is not None:
        return _with_schema(converter.envelope)
    read = _plain(converter.class_name)
    return lambda data, headers, topic: read(data)


def _with_schema(envelope: Envelope) -> ReadKey:
    def read(data: bytes, headers: Headers, topic: str) -> Json | None:
        payload, type_ = opened_one(data, envelope, headers, topic)
        found = open_value(payload)
        return found if found is None or type_ is None else Typed(Raw(payload), type_)

    return read


def _plain(name: str) -> Callable[[bytes], Json | None]:
    if name not in READABLE_KEYS:
        raise ValueError(f"keys cannot be read with {name}")
    if name == JSON_CONVERTER:
        return open_value
    if name == STRING_CONVERTER:
        return read_as_text
    simple = name.rpartition(".")[2].removesuffix("Converter")
    return _boolean if simple == "Boolean" else _number(simple, {**_WHOLE, **_FLOATING})


def _boolean(key: bytes) -> Json:
    if key not in (b"\0", b"\1"):
        raise ConversionError("", "it is not one byte 0 or 1")
    return Raw(b"true" if key == b"\1" else b"false")


def _number(name: str, formats: Mapping[str, str]) -> Callable[[bytes], Json]:
    layout = struct.Struct(formats[name])

    def read(key: bytes) -> Json:
        if len(key) != layout.size:
            raise ConversionError("", f"expected {layout.size} bytes for {name}, got {len(key)}")
        (value,) = layout.unpack(key)
        if not math.isfinite(value):
            return quoted(str(value))
        return Raw(repr(value).encode())

    return read
