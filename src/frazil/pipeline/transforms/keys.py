"""Keys of records as JSON, for the transformations that read them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping

from frazil.declare.converters import JSON_CONVERTER, READABLE_KEYS, STRING_CONVERTER
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.transforms.record import Json, Raw, StageError, open_value, quoted, read_as_text

_WHOLE = {"Short": ">h", "Integer": ">i", "Long": ">q"}
_FLOATING = {"Float": ">f", "Double": ">d"}


def key_reader(converter: str) -> Callable[[bytes], Json | None]:
    """Make the function for a converter class. It raises StageError for bytes that are no such key."""
    read = _reader(converter)

    def key(data: bytes) -> Json | None:
        try:
            return read(data)
        except ConversionError as error:
            raise StageError("KEY_CONVERTER", converter, f"key: {error.reason}") from None

    return key


def _reader(converter: str) -> Callable[[bytes], Json | None]:
    if converter not in READABLE_KEYS:
        raise ValueError(f"keys cannot be read with {converter}")
    if converter == JSON_CONVERTER:
        return open_value
    if converter == STRING_CONVERTER:
        return read_as_text
    name = converter.rpartition(".")[2].removesuffix("Converter")
    return _boolean if name == "Boolean" else _number(name, {**_WHOLE, **_FLOATING})


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
