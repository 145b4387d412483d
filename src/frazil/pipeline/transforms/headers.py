"""Values of headers as JSON, for the transformations that take them."""

from collections.abc import Callable

import msgspec

from frazil.declare.converters import JSON_CONVERTER, STRING_CONVERTER
from frazil.pipeline.convert.strict import ConversionError, StageError
from frazil.pipeline.transforms.record import Json, Raw, open_value, quoted, read_as_text

_any = msgspec.json.Decoder(Raw).decode


def header_reader(converter: str) -> Callable[[bytes], Json | None]:
    """Make the function for a header converter. It raises StageError for bytes that are no such header."""
    read = {JSON_CONVERTER: open_value, STRING_CONVERTER: read_as_text}.get(converter, _simple)

    def header(data: bytes) -> Json | None:
        try:
            return read(data)
        except ConversionError as error:
            raise StageError("HEADER_CONVERTER", converter, f"header: {error.reason}") from None

    return header


def header_text(text: str) -> Json | None:
    """Take a text as SimpleHeaderConverter does: a number, an array and the like where it is one, else a text."""
    try:
        found = Raw(bytes(_any(text.encode())).strip())
        msgspec.json.decode(found)
    except (msgspec.DecodeError, RecursionError):
        return quoted(text)
    return None if found == b"null" else found


def _simple(data: bytes) -> Json | None:
    try:
        return header_text(data.decode())
    except UnicodeDecodeError as error:
        raise ConversionError("", f"the value is not UTF-8 (byte {error.start})") from None
