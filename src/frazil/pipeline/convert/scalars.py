"""Strict conversion of one JSON scalar to one column type.

Every function takes the JSON source text of a value that is not null, and returns what pyarrow stores without loss:
int for dates (days), times (microseconds) and timestamps (micro- or nanoseconds). ValueError carries the reason.
"""

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
_WHOLE_TEXT = re.compile(r"0|-?[1-9][0-9]*+")
_DECIMAL_TEXT = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?")
"""Texts of numbers as numbers are written: `007`, `+1` and `1e3` are texts of something else."""
_UUID_TEXT = re.compile(
    r"([0-9a-fA-F]{1,8})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,12})"
)
_MAX_DIGITS = 1000
_FLOAT32_LIMIT: Final = 3.4028235677973366e38
"""Half a step above the largest 32-bit float: what lies below rounds to that float."""
_EXACT_DIGITS: Final = 15
"""Whole numbers of up to so many digits are doubles."""
_FLOAT_DIGITS: Final = 9
"""Digits that tell all 32-bit floats apart."""

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


def is_plain_number(text: str) -> bool:
    """Whether a text is written as numbers are, without an exponent."""
    return _DECIMAL_TEXT.fullmatch(text) is not None


def kind_of(raw: bytes) -> str:
    """Name the JSON kind of a value, for messages."""
    names = {0x22: "text", 0x7B: "object", 0x5B: "array", 0x74: "boolean", 0x66: "boolean", 0x6E: "null"}
    return names.get(raw[0], "number")


def _is_number(raw: bytes) -> bool:
    return raw[0] == 0x2D or 0x30 <= raw[0] <= 0x39


def _refuse(raw: bytes, expected: str) -> ValueError:
    return ValueError(f"expected {expected}, got {kind_of(raw)}")


def exact(text: str) -> Decimal:
    """Read a JSON or decimal text as a number. Raises ValueError beyond 1000 digits."""
    try:
        value = Decimal(text) if len(text) <= 2 * _MAX_DIGITS else None
    except InvalidOperation:  # the exponent is beyond 18 digits
        value = None
    if value is None or abs(value.adjusted()) > _MAX_DIGITS or len(value.as_tuple().digits) > _MAX_DIGITS:
        raise ValueError("the number has too many digits")
    return value


def whole(text: str) -> int:
    value = exact(text)
    if value != value.to_integral_value():
        raise ValueError("the number has a fraction")
    return int(value)


def _integer(raw: bytes, bits: int) -> int:
    if len(raw) < 10 and raw.isdigit():
        return int(raw)
    if raw[0] == _QUOTE:
        text = _text(raw)
        if len(text) > _MAX_DIGITS or not _WHOLE_TEXT.fullmatch(text):
            raise ValueError("the text is not an integer")
        value = int(text)
    elif _is_number(raw):
        value = whole(raw.decode())
    else:
        raise _refuse(raw, "an integer")
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"the number does not fit in {bits} bits")
    return value


def _double(raw: bytes) -> float:
    return _floating(raw)[0]


def _float(raw: bytes) -> float:
    value, text = _floating(raw)
    single = nearest_float(value, text)
    if single != value and not _keeps_digits(single, text):
        raise ValueError("the number has more digits than a float keeps")
    return single


def _floating(raw: bytes) -> tuple[float, str]:
    """Read the nearest double, which a whole number has to be; give the text that it was read from too."""
    if raw[0] == _QUOTE:
        text = _text(raw)
        value = _own_text(text)
    elif _is_number(raw):
        text = raw.decode()
        value = nearest_double(text)
        if value == 0 and text.lower().partition("e")[0].strip("-0."):
            raise ValueError("the number is nearer to zero than any other that can be stored")
        if len(text) > _EXACT_DIGITS and _is_whole(text) and value != int(text) and not _is_shown_as(value, text):
            raise ValueError("the whole number has more digits than a double keeps")
    else:
        raise _refuse(raw, "a number")
    return value, text


def nearest_double(text: str) -> float:
    """Read a number as the nearest double. Raises ValueError for one that is beyond all of them."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("the number is out of range")
    return value


def nearest_float(value: float, text: str) -> float:
    """Find the double that rounds to the 32-bit float nearest to a text; `value` is the double nearest to it.

    Rounding twice must not differ from rounding once. Raises ValueError for a number that is beyond all floats.
    """
    if value == 0:
        return value
    given, nearest = Decimal(text), Decimal(value)
    if given != nearest and not struct.unpack("<q", struct.pack("<d", value))[0] & 1:
        value = math.nextafter(value, math.inf if given > nearest else -math.inf)
    if abs(value) >= _FLOAT32_LIMIT:
        raise ValueError("the number is out of range")
    (single,) = struct.unpack("<f", struct.pack("<f", value))
    return float(single)


def _own_text(text: str) -> float:
    """Read a text that is written as its number is: without it nothing of the text would be lost."""
    if len(text) <= _MAX_DIGITS and text.isascii():
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        own = math.isfinite(value) and (
            _spelled(repr(value)) == _spelled(text) or (_is_plain(text) and _is_shown_as(value, text))
        )
        if own:
            return value
        if math.isfinite(value):
            raise ValueError(f"the text is not a number as numbers are written (this one is {value!r})")
    raise ValueError("the text is not a number as numbers are written")


def _spelled(text: str) -> str:
    """Write the exponent of a number in one way, of which languages have several: `1.0E300` is `1e+300`."""
    return text.lower().replace("e+", "e").replace("e-0", "e-").replace(".0e", "e")


def _is_plain(text: str) -> bool:
    return is_plain_number(text) and text != "-0" and not ("." in text and text[-1] == "0")


def _is_shown_as(value: float, text: str) -> bool:
    return Decimal(repr(value)) == Decimal(text)


def _is_whole(text: str) -> bool:
    return not any(c in text for c in ".eE")


def _keeps_digits(single: float, text: str) -> bool:
    """Whether a 32-bit float, written with as many digits as a text, is the number of the text."""
    digits = len(text.lower().partition("e")[0].replace(".", "").strip("-0"))
    return digits <= _FLOAT_DIGITS and Decimal(f"{single:.{digits}g}") == Decimal(text)


def _decimal(raw: bytes, precision: int, scale: int) -> Decimal:
    if raw[0] == _QUOTE:
        text = _text(raw)
        if len(text) > 2 * _MAX_DIGITS or not _DECIMAL_TEXT.fullmatch(text):
            raise ValueError("the text is not a decimal number as numbers are written")
        if len(text.partition(".")[2]) > scale or (text[0] == "-" and not text.strip("-0.")):
            raise ValueError(f"the text is not that of a number with {scale} digits after the point")
    elif _is_number(raw):
        text = raw.decode()
    else:
        raise _refuse(raw, "a number")
    number = exact(text)
    value = rounded(number, precision, scale)
    if value != number:
        raise ValueError(f"the number has more than {scale} digits after the point")
    return value


def rounded(number: Decimal, precision: int, scale: int) -> Decimal:
    """Round a number half up to the digits of a column. Raises ValueError for one with too many before the point."""
    try:
        value = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=2 * _MAX_DIGITS + 10))
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
    if raw not in (b'"true"', b'"false"'):
        raise ValueError("the text is neither true nor false")
    return raw == b'"true"'


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
        return in_days(whole(raw.decode()))
    return temporal.date_to_days(_quoted(raw, "a date text or the number of days"))


def in_days(days: int) -> int:
    """Check that a day lies in the years 1 to 9999. Raises ValueError."""
    if not temporal.FIRST_DAY <= days <= temporal.LAST_DAY:
        raise ValueError("the day is out of range")
    return days


def _time(raw: bytes) -> int:
    if _is_number(raw):
        millis = whole(raw.decode())
        if not 0 <= millis < 86_400_000:
            raise ValueError("the number is not a millisecond of the day")
        return millis * 1000
    return temporal.time_to_micros(_quoted(raw, "a time text or the millisecond of the day"))


def in_day(nanos: int) -> int:
    """Give microseconds for nanoseconds of a day. Raises ValueError for more or less than a day."""
    if not 0 <= nanos < temporal.NANOS_PER_DAY:
        raise ValueError("the number is no time of a day")
    return nanos // 1000


def _timestamp(raw: bytes, zoned: bool, unit: int) -> int:
    """Read a timestamp in steps of `unit` nanoseconds; a finer fraction is cut."""
    if _is_number(raw):
        nanos = whole(raw.decode()) * 1_000_000
    else:
        nanos = temporal.timestamp_to_nanos(_quoted(raw, "a timestamp text or epoch milliseconds"), apply_offset=zoned)
    return in_calendar(nanos, unit)


def in_calendar(nanos: int, unit: int) -> int:
    """Give steps of `unit` for nanoseconds since 1970; a finer fraction is cut.

    Raises ValueError outside the years 1 to 9999, where most readers cannot show a value.
    """
    value = nanos // unit
    days = nanos // temporal.NANOS_PER_DAY
    if not (temporal.FIRST_DAY <= days <= temporal.LAST_DAY and -(1 << 63) <= value < 1 << 63):
        raise ValueError("the timestamp is out of range")
    return value
