"""Ids of schemas in records: before their bytes, or in a header."""

import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from frazil.clients.kafka.headers import Headers
from frazil.clients.registry.schema import IdKind, SchemaId
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.avro_text import Ints, Texts

Part = Literal["key", "value"]
Message = tuple[int, ...] | str
"""A message of Protobuf, by its indexes in the file and in the messages around it, or by its name."""


class JsonRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A record of Apicurio's converter of JSON."""

    schemaId: int
    payload: msgspec.Raw


_json_record = msgspec.json.Decoder(JsonRecord).decode
_NUMBER = struct.Struct(">i").unpack_from
_LONG = struct.Struct(">q").unpack_from
_GUID_BYTES = 16
_MOST_INDEXES = 100


@dataclass(frozen=True)
class Framing:
    """Place and form of the ids.

    `kind` is what a number before the bytes is, `width` how many bytes it has. With `apicurio` headers are those of
    Apicurio's converters, else Confluent's. `messages`: a record says which message of its schema it is, as those of
    Protobuf do. `json`: a record is an object of the number and the payload.
    """

    part: Part = "value"
    kind: IdKind = "id"
    width: Literal[4, 8] = 4
    apicurio: bool = False
    messages: bool = False
    json: bool = False

    def find(self, data: bytes, headers: Headers) -> tuple[SchemaId, Message, int]:
        """Find the id, the message, and the place where the record itself begins.

        The message is `(0,)` where records do not say. Raises ConversionError when there is no id.
        """
        if self.json:
            return SchemaId(self.kind, json_record(data, self.part).schemaId), _FIRST, 0
        id_, start, own = self._find(data, headers)
        if not self.messages:
            return id_, _FIRST, start
        if self.apicurio:
            return id_, *_named(data, start, f"the {self.part}")
        if own is None:
            return id_, *_indexes(data, start, f"the {self.part}")
        return id_, _indexes(*own)[0], start

    def _find(self, data: bytes, headers: Headers) -> tuple[SchemaId, int, tuple[bytes, int, str] | None]:
        """Find the id, the place behind it, and what is left of the header that it was in."""
        for name, value in reversed(headers):
            if value is None or self.part not in name:
                continue
            if self.apicurio and name in (f"apicurio.{self.part}.contentId", f"apicurio.{self.part}.globalId"):
                if len(value) != 8:
                    raise ConversionError("", f"the header {name} has {len(value)} bytes, expected 8")
                return SchemaId("contentId" if name.endswith("contentId") else "globalId", _LONG(value)[0]), 0, None
            if not self.apicurio and name == f"__{self.part}_schema_id":
                id_, end = self._prefix(value, f"the header {name}")
                return id_, 0, (value, end, f"the header {name}")
        return *self._prefix(data, f"the {self.part}"), None

    def by_id(self, texts: Texts, indexes: Ints) -> Iterator[tuple[SchemaId, Message, int, Ints]]:
        """Group records by the ids that they begin with, those that do: what `find` gives, and which ones they are.

        Records with other ids, or with none, are in no group.
        """
        start = 1 + self.width
        begins = texts.begins[indexes]
        numbers = texts.word(begins + 1)
        if self.width == 4:
            numbers = numbers & np.uint64(0xFFFFFFFF)
        with_id = (texts.byte(begins) == 0) & (texts.ends[indexes] - begins >= start)
        if not with_id.all():
            indexes, numbers = indexes[with_id], numbers[with_id]
        for number in np.unique(numbers):
            own = numbers == number
            found = (_NUMBER if self.width == 4 else _LONG)(int(number).to_bytes(8, "little"), 0)[0]
            yield SchemaId(self.kind, found), _FIRST, start, indexes if own.all() else indexes[own]

    def in_headers(self, headers: Headers) -> bool:
        """Whether headers may have the id."""
        return any(value is not None and self.part in name for name, value in headers)

    def _prefix(self, data: bytes, what: str) -> tuple[SchemaId, int]:
        magic = data[:1]
        if magic == b"\0" and len(data) > self.width:
            number = (_NUMBER if self.width == 4 else _LONG)(data, 1)[0]
            return SchemaId(self.kind, number), 1 + self.width
        if magic == b"\1" and len(data) > _GUID_BYTES and not self.apicurio:
            return SchemaId("guid", str(uuid.UUID(bytes=data[1 : 1 + _GUID_BYTES]))), 1 + _GUID_BYTES
        raise ConversionError("", f"{what} does not begin with the id of a schema (0x00 and {self.width} bytes)")


_FIRST: Message = (0,)


def json_record(data: bytes, part: Part) -> JsonRecord:
    """Read such a record. Raises ConversionError for any other."""
    try:
        return _json_record(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConversionError("", f"the {part} is not an object of schemaId and payload: {error}") from None


def _indexes(data: bytes, at: int, what: str) -> tuple[Message, int]:
    """Read the indexes that Confluent writes: how many there are, none for the first message, and each of them."""
    if data[at : at + 1] == b"\0":
        return _FIRST, at + 1
    count, at = _zigzag(data, at, what)
    if not 0 < count <= _MOST_INDEXES:
        raise ConversionError("", f"{what} has {count} indexes of its message")
    found = []
    for _ in range(count):
        index, at = _zigzag(data, at, what)
        found.append(index)
    return tuple(found), at


def _named(data: bytes, at: int, what: str) -> tuple[Message, int]:
    """Read the message that Apicurio writes, which has nothing but a name, behind its length."""
    length, at = _varint(data, at, what)
    body = data[at : at + length]
    if len(body) < length:
        raise ConversionError("", f"{what} ends in the name of its message")
    if body[:1] == b"\n":
        size, begin = _varint(body, 1, what)
        try:
            if begin + size <= length:
                return body[begin : begin + size].decode(), at + length
        except UnicodeDecodeError:
            pass
    raise ConversionError("", f"{what} does not have the name of its message behind the id of its schema")


def _zigzag(data: bytes, at: int, what: str) -> tuple[int, int]:
    value, at = _varint(data, at, what)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int, what: str) -> tuple[int, int]:
    value = shift = 0
    while shift < 35:
        if at >= len(data):
            raise ConversionError("", f"{what} ends before it has said which message it is")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ConversionError("", f"{what} does not say which message it is: a number is too long")
