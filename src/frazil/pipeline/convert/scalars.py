"""Strict conversion of one JSON scalar to one column type.

Every function takes the JSON source text of a value that is not null, and returns what pyarrow stores without loss:
int for dates (days), times (microseconds) and timestamps (micro- or nanoseconds). ValueError carries the reason.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from frazil.pipeline.convert import temporal
from frazil.pipeline.types import Scalar

Convert = Callable[[bytes], Any]

_QUOTE: Final = 0x22
_INTEGER_TEXT = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DOUBLE_TEXT = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[dDfF]?", re.ASCII)
_DECIMAL_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_UUID_TEXT = re.compile(
    r"([0-9a-fA-F]{1,8})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,12})"
)
_MAX_DIGITS = 1000
_FLOAT32_LIMIT: Final = 3.4028235677973366e38
"""Half a step above the largest 32-bit float: what lies below rounds to that float."""

_text = msgspec.json.Decoder(str).decode


def converter(type_: Scalar) -> Convert:
    """Make the conversion for a column type."""
    match type_.kind:
        case "int":
            return lambda raw: _integer(raw, 32)
        case "long":
            return lambda raw: _integer(raw, 64)
        case "float":
            return _float
        case "double":
            return _double
        case "decimal":
            return lambda raw: _decimal(raw, type_.precision, type_.scale)
        case "boolean":
            return _boolean
        case "string":
            return _string
        case "uuid":
            return _uuid
        case "binary":
            return _binary
        case "fixed":
            return lambda raw: _fixed(raw, type_.length)
        case "date":
            return _date
        case "time":
            return _time
        case "timestamp" | "timestamptz":
            zoned = type_.kind == "timestamptz"
            return lambda raw: _timestamp(raw, zoned, 1000)
        case "timestamp_ns" | "timestamptz_ns":
            zoned = type_.kind == "timestamptz_ns"
            return lambda raw: _timestamp(raw, zoned, 1)


def in_wider(type_: Scalar, raw: bytes) -> bytes | None:
    """Give the text of a number that does not fit in an int or float column and would in a long or double.

    None for everything else.
    """
    wider = {"int": Scalar("long"), "float": Scalar("double")}.get(type_.kind)
    if wider is None:
        return None
    try:
        value = converter(wider)(raw)
    except (ValueError, msgspec.MsgspecError):
        return None
    return str(value).encode()


def kind_of(raw: bytes) -> str:
    """Name the JSON kind of a value, for messages."""
    names = {0x22: "text", 0x7B: "object", 0x5B: "array", 0x74: "boolean", 0x66: "boolean", 0x6E: "null"}
    return names.get(raw[0], "number")


def _is_number(raw: bytes) -> bool:
    return raw[0] == 0x2D or 0x30 <= raw[0] <= 0x39


def _refuse(raw: bytes, expected: str) -> ValueError:
    return ValueError(f"expected {expected}, got {kind_of(raw)}")


def _exact(text: str) -> Decimal:
    """Read a JSON or decimal text as a number. Raises ValueError beyond 1000 digits."""
    try:
        value = Decimal(text) if len(text) <= 2 * _MAX_DIGITS else None
    except InvalidOperation:  # the exponent is beyond 18 digits
        value = None
    if value is None or abs(value.adjusted()) > _MAX_DIGITS or len(value.as_tuple().digits) > _MAX_DIGITS:
        raise ValueError("the number has too many digits")
    return value


def _whole(text: str) -> int:
    value = _exact(text)
    if value != value.to_integral_value():
        raise ValueError("the number has a fraction")
    return int(value)


def _integer(raw: bytes, bits: int) -> int:
    if len(raw) < 10 and raw.isdigit():
        return int(raw)
    if raw[0] == _QUOTE:
        text = _text(raw)
        if len(text) > _MAX_DIGITS or not _INTEGER_TEXT.fullmatch(text):
            raise ValueError("the text is not an integer")
        value = int(text)
    elif _is_number(raw):
        value = _whole(raw.decode())
    else:
        raise _refuse(raw, "an integer")
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"the number does not fit in {bits} bits")
    return value


def _double(raw: bytes) -> float:
    return _floating(raw)[0]


def _float(raw: bytes) -> float:
    """Read a double that rounds to the 32-bit float nearest to the text: rounding twice must not differ from once."""
    value, text = _floating(raw)
    if not math.isfinite(value) or value == 0:
        return value
    exact, nearest = Decimal(text), Decimal(value)
    if exact != nearest and not struct.unpack("<q", struct.pack("<d", value))[0] & 1:
        value = math.nextafter(value, math.inf if exact > nearest else -math.inf)
    if abs(value) >= _FLOAT32_LIMIT:
        raise ValueError("the number is out of range")
    return value


def _floating(raw: bytes) -> tuple[float, str]:
    """Read the nearest double; give the text that it was read from too."""
    if raw[0] == _QUOTE:
        match = _DOUBLE_TEXT.fullmatch(_text(raw).strip())
        if match is None:
            raise ValueError("the text is not a number")
        text = match[1]
    elif _is_number(raw):
        text = raw.decode()
    else:
        raise _refuse(raw, "a number")
    value = float(text)
    if math.isinf(value) and not text.endswith("Infinity"):
        raise ValueError("the number is out of range")
    return value, text


def _decimal(raw: bytes, precision: int, scale: int) -> Decimal:
    if raw[0] == _QUOTE:
        text = _text(raw)
        if not _DECIMAL_TEXT.fullmatch(text):
            raise ValueError("the text is not a decimal number")
    elif _is_number(raw):
        text = raw.decode()
    else:
        raise _refuse(raw, "a number")
    context = Context(prec=2 * _MAX_DIGITS + 10)
    try:
        value = _exact(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, context)
    except InvalidOperation as error:
        raise ValueError("the number is out of range") from error
    if value and value.adjusted() + 1 > precision - scale:
        raise ValueError(f"the number does not fit in decimal({precision},{scale})")
    return value


def _boolean(raw: bytes) -> bool:
    if raw in (b"true", b"false"):
        return raw == b"true"
    if raw[0] != _QUOTE:
        raise _refuse(raw, "a boolean")
    text = _text(raw).lower()
    if text not in ("true", "false"):
        raise ValueError("the text is neither true nor false")
    return text == "true"


def _string(raw: bytes) -> str:
    return _text(raw) if raw[0] == _QUOTE else raw.decode()


def _quoted(raw: bytes, expected: str) -> str:
    if raw[0] != _QUOTE:
        raise _refuse(raw, expected)
    return _text(raw)


def _uuid(raw: bytes) -> bytes:
    match = _UUID_TEXT.fullmatch(_quoted(raw, "a UUID text"))
    if match is None:
        raise ValueError("the text is not a UUID")
    digits = "".join(part.zfill(width) for part, width in zip(match.groups(), (8, 4, 4, 4, 12), strict=True))
    return bytes.fromhex(digits)


def _binary(raw: bytes) -> bytes:
    text = _quoted(raw, "a Base64 text")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4) if "=" not in text else text, validate=True)
    except binascii.Error:
        raise ValueError("the text is not Base64") from None


def _fixed(raw: bytes, length: int) -> bytes:
    value = _binary(raw)
    if len(value) != length:
        raise ValueError(f"expected {length} bytes, got {len(value)}")
    return value


def _date(raw: bytes) -> int:
    if _is_number(raw):
        days = _whole(raw.decode())
        if not temporal.FIRST_DAY <= days <= temporal.LAST_DAY:
            raise ValueError("the day is out of range")
        return days
    return temporal.date_to_days(_quoted(raw, "a date text or the number of days"))


def _time(raw: bytes) -> int:
    if _is_number(raw):
        millis = _whole(raw.decode())
        if not 0 <= millis < 86_400_000:
            raise ValueError("the number is not a millisecond of the day")
        return millis * 1000
    return temporal.time_to_micros(_quoted(raw, "a time text or the millisecond of the day"))


def _timestamp(raw: bytes, zoned: bool, unit: int) -> int:
    """Read a timestamp in steps of `unit` nanoseconds; a finer fraction is cut.

    Outside the years 1 to 9999, where a number in microseconds would lie, most readers cannot show a value.
    """
    if _is_number(raw):
        nanos = _whole(raw.decode()) * 1_000_000
    else:
        nanos = temporal.timestamp_to_nanos(_quoted(raw, "a timestamp text or epoch milliseconds"), apply_offset=zoned)
    value = nanos // unit
    days = nanos // temporal.NANOS_PER_DAY
    if not (temporal.FIRST_DAY <= days <= temporal.LAST_DAY and -(1 << 63) <= value < 1 << 63):
        raise ValueError("the timestamp is out of range")
    return value
