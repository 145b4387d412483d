"""Records as lines of JSON: what `topics peek` prints of a record, and `produce` takes.

A line has the members `value`, `key`, `headers`, `partition` and `timestamp`. A value, a key or the value of a header
is a text, `{"base64": …}` for bytes that are no text, null, or any other JSON, which is written as it stands.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from frazil.clients.kafka.headers import headers_of
from frazil.clients.kafka.produce import Outgoing
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.encode import Encode
from frazil.text.credentials import redact_bytes, redact_header
from frazil.text.instants import instant

_BASE64 = "base64"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MISSING = msgspec.Raw(b"")
_NULL = msgspec.Raw(b"null")
_decode = msgspec.json.decode


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    value: msgspec.Raw = _NULL


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """`topic` and `offset` are what a record had where it was read; it gets others."""

    value: msgspec.Raw = _MISSING
    key: msgspec.Raw = _NULL
    headers: dict[str, msgspec.Raw] | list[_Header] = {}
    partition: int = -1
    timestamp: int | str | None = None
    topic: Any = None
    offset: Any = None


def parse_record(line: bytes, encode: Encode | None = None, encode_key: Encode | None = None) -> Outgoing:
    """Read a line; what has an encoder is JSON for it, and null stays null. Raises ConversionError."""
    try:
        read = _decode(line, type=_Line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ConversionError("", f"it is no record as JSON: {error}") from None
    if not bytes(read.value):
        raise ConversionError("", "it has no `value`; lines that are values themselves go with --values")
    headers = read.headers
    pairs = headers.items() if isinstance(headers, dict) else [(one.name, one.value) for one in headers]
    if read.partition < -1:
        raise ConversionError("partition", f"{read.partition} is no partition")
    return Outgoing(
        _part(read.value, encode),
        _part(read.key, encode_key),
        tuple((name, _part(value, None)) for name, value in pairs),
        read.partition,
        _milliseconds(read.timestamp),
    )


def _part(raw: msgspec.Raw, encode: Encode | None) -> bytes | None:
    text = bytes(raw)
    if text == b"null":
        return None
    if encode is not None:
        return encode(text)
    value = _decode(text)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {_BASE64}:
        try:
            return base64.b64decode(value[_BASE64], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ConversionError("", f"{_BASE64} is no Base64") from None
    return text


def _milliseconds(given: int | str | None) -> int | None:
    if given is None or isinstance(given, int):
        return given
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise ConversionError("timestamp", f"{given} is no time in ISO 8601") from None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)


def record_line(message: Message, read: Mapping[str, bytes], *, raw: bool) -> bytes:
    """Write a record as a line, without its end; what was `read` of a part with a schema stands in its place.

    Credentials are taken out unless it is to be `raw`.
    """
    hide: Callable[[bytes], bytes] = bytes if raw else redact_bytes
    headers = [
        (name, value if raw or value is None else redact_header(name, value)) for name, value in headers_of(message)
    ]
    parts = {"key": message.key(), "value": message.value()}
    written = {part: None if data is None else _written(hide(_bytes(data))) for part, data in parts.items()}
    written |= {part: _json(hide(data)) for part, data in read.items()}
    return msgspec.json.encode(
        {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": _moment(message),
            "key": written["key"],
            "headers": [{"name": name, "value": None if value is None else _written(value)} for name, value in headers],
            "value": written["value"],
        }
    )


def _json(data: bytes) -> msgspec.Raw | str:
    """Text that a converter has read: JSON as it is, or why it could not be read."""
    try:
        _decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return data.decode(errors="replace")
    return msgspec.Raw(data.replace(b"\n", b" "))


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _moment(message: Message) -> str | int | None:
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return None
    time = instant(milliseconds)
    return milliseconds if time is None else time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _written(data: bytes) -> msgspec.Raw | str | dict[str, str]:
    """Objects and lists of JSON as they stand, where they are one line and are read back as the same bytes."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {_BASE64: base64.b64encode(data).decode()}
    if data[:1] in (b"{", b"[") and data[-1:] in (b"}", b"]") and not (b"\n" in data or b"\r" in data):
        try:
            value = _decode(data)
        except (msgspec.MsgspecError, RecursionError):
            return text
        if not (isinstance(value, dict) and value.keys() == {_BASE64}):
            return msgspec.Raw(data)
    return text
