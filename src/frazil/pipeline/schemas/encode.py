"""Encoding of JSON values by a schema that a registry gets: the bytes that a registry's converters read."""

import struct
from collections.abc import Callable

import msgspec

from frazil.clients.registry.client import RegistryClient
from frazil.errors import ConfigError
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.json_schema import checker
from frazil.pipeline.schemas.avro import parse_avro
from frazil.pipeline.schemas.avro_writer import avro_writer
from frazil.pipeline.schemas.connect import SchemaError
from frazil.pipeline.schemas.json_schemas import json_to_connect

_decode = msgspec.json.Decoder().decode
Encode = Callable[[bytes], bytes]
"""Makes bytes of one JSON value; raises ConversionError for a value that does not fit."""


def encoder(client: RegistryClient, subject: str, text: str, *, protobuf: bool) -> Encode:
    """Register a schema, Avro's or a JSON Schema unless it is `protobuf`, and make the function that encodes by it.

    Raises SchemaError for a text that is no schema, and what the registry raises.
    """
    if protobuf:
        from frazil.pipeline.schemas.protobuf_writer import FIRST_MESSAGE, protobuf_writer

        message = protobuf_writer(text)
        start = _prefix(client.register(subject, text, "PROTOBUF")) + FIRST_MESSAGE
        return lambda value: start + message(value)
    try:
        write = avro_writer(parse_avro(text))
        prefix = _prefix(client.register(subject, text, "AVRO"))
        return lambda value: prefix + write(value)
    except SchemaError as not_avro:
        try:
            json_to_connect(text)
        except SchemaError as error:
            raise SchemaError(f"it is neither an Avro schema ({not_avro}) nor a JSON Schema ({error})") from None
    try:
        check = checker(text.encode(), formats=False)
    except ConfigError as error:
        raise SchemaError(str(error)) from None
    prefix = _prefix(client.register(subject, text, "JSON"))

    def encode(value: bytes) -> bytes:
        try:
            _decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ConversionError("", f"it is not JSON: {error}") from None
        for _, failure in check([value]):
            raise failure
        return prefix + value

    return encode


def _prefix(number: int) -> bytes:
    return b"\0" + struct.pack(">i", number)
