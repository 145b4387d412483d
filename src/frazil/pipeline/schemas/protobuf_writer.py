"""Writing of Protobuf messages from JSON, in the form that Protobuf itself has for it."""

from collections.abc import Callable

from frazil.environment.extras import extra
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_class, message_of

with extra("protobuf"):
    from google.protobuf import json_format

FIRST_MESSAGE = b"\0"
"""Indexes of the first message of a schema, as they stand behind its id."""


def protobuf_writer(text: str) -> Callable[[bytes], bytes]:
    """Make the function that writes one JSON value as the first message of a schema.

    It raises ConversionError for a value that does not fit; SchemaError is raised for what is no schema.
    """
    message = message_class(message_of(compile_protobuf(text), (0,)))

    def write(line: bytes) -> bytes:
        try:
            data: bytes = json_format.Parse(line, message()).SerializeToString()
        except (json_format.ParseError, UnicodeDecodeError) as error:
            raise ConversionError("", str(error)) from None
        return data

    return write
