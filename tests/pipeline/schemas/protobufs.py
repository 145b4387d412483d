"""Messages of Protobuf for tests: classes of schemas as text, and their readers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from frazil.pipeline.schemas.connect import ProtobufOptions
from frazil.pipeline.schemas.protobuf import protobuf_to_connect
from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_class, message_of
from frazil.pipeline.schemas.wire import Message

HEAD = 'syntax = "proto3";\npackage shop.v1;\n'


@lru_cache
def descriptor(text: str, message: Message = (0,)) -> Any:
    """The message of a schema, which is compiled once."""
    return message_of(compile_protobuf(text), message)


def made(text: str, message: Message = (0,)) -> Any:
    """A message without values."""
    return message_class(descriptor(text, message))()


def schema_of(text: str, **options: bool) -> dict[str, Any]:
    """The Connect schema of the first message, as JSON."""
    schema, _ = protobuf_to_connect(descriptor(text), ProtobufOptions(**options))
    found: dict[str, Any] = msgspec.json.decode(schema.to_json())
    return found


def value_of(text: str, message: Any, **options: bool) -> Any:
    """The value that the converter makes of a message, or of its bytes."""
    _, read = protobuf_to_connect(descriptor(text), ProtobufOptions(**options))
    data = message if isinstance(message, bytes) else message.SerializeToString()
    return msgspec.json.decode(msgspec.json.encode(read(b"id" + data, 2)))
