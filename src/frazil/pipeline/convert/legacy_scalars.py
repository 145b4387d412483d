"""Conversion of scalars that bends values as the Iceberg sink of Kafka Connect does.

Only where the strict converter refuses a value, or stores another one: whole numbers wrap at 64 and 32 bits, fractions
are cut and rounded, a text is any number that Java reads in it, or a boolean, and numbers in text columns are written
as Java does.
"""

import math
import re
from decimal import Decimal
from typing import Final

import msgspec

from frazil.pipeline.convert import scalars
from frazil.pipeline.types import Scalar

_QUOTE: Final = 0x22
_NUMBER = b"-0123456789"
_INTEGER_TEXT = re.compile(r"[+-]?[0-9]++", re.ASCII)
_DOUBLE_TEXT = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?))[dDfF]?", re.ASCII
)
_DECIMAL_TEXT = re.compile(r"([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)", re.ASCII)
_LONGEST_TEXT = 2000
_WRAPPED_DIGITS = 64
"""The last digits of a number that decide what it wraps to: 10 to the 64th is a multiple of 2 to the 64th."""
_MIN_LONG, _MAX_LONG = -(1 << 63), (1 << 63) - 1
_text = msgspec.json.Decoder(str).decode


def converter(type_: Scalar) -> scalars.Convert:
    """Make the conversion for a column type."""
    strict = scalars.converter(type_)
    match type_.kind:
        case "int":
            return lambda raw: _integer(raw, 32) if _is_number(raw) else strict(_integer_text(raw))
        case "long":
            return lambda raw: _integer(raw, 64) if _is_number(raw) else strict(_integer_text(raw))
        case "float" | "double":
            single = type_.kind == "float"
            return lambda raw: _floating(raw, single) if _is_number(raw) or raw[0] == _QUOTE else strict(raw)
        case "decimal":
            return lambda raw: (
                _decimal(raw, type_.precision, type_.scale) if _is_number(raw) or raw[0] == _QUOTE else strict(raw)
            )
        case "boolean":
            return lambda raw: _boolean(raw) if raw[0] == _QUOTE else strict(raw)
        case "string":
            return lambda raw: _number_text(raw).decode() if _is_number(raw) else strict(raw)
        case _:
            return strict


def _is_number(raw: bytes) -> bool:
    return raw[0] in _NUMBER


def _read(raw: bytes) -> int | float:
    """Read a number as JsonConverter does: a whole one wraps at 64 bits, any other is the nearest double."""
    if any(c in raw for c in b".eE"):
        return float(raw)
    last = int(raw[-_WRAPPED_DIGITS:].lstrip(b"-"))
    return _wrapped(-last if raw[:1] == b"-" else last, 64)


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def _saturated(value: float, low: int, high: int) -> int:
    """Cast a double as Java does: to the nearest whole number toward zero, within the limits."""
    return min(max(math.trunc(value), low), high) if math.isfinite(value) else high if value > 0 else low


def _integer(raw: bytes, bits: int) -> int:
    """Wrap a whole number, cut a fraction."""
    value = _read(raw)
    half = 1 << (bits - 1)
    return _wrapped(value, bits) if isinstance(value, int) else _saturated(value, -half, half - 1)


def _integer_text(raw: bytes) -> bytes:
    """Write the text of a whole number as the number; anything else as it is."""
    text = _text(raw) if raw[0] == _QUOTE and len(raw) <= _LONGEST_TEXT else ""
    return b"%d" % int(text) if _INTEGER_TEXT.fullmatch(text) else raw


def _matched(text: str, pattern: re.Pattern[str]) -> str:
    """Take the number out of a text. Raises ValueError for a text that is none."""
    found = pattern.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if found is None:
        raise ValueError("the text is not a number")
    return found[1]


def _floating(raw: bytes, single: bool) -> float:
    """Round to the nearest value."""
    if raw[0] == _QUOTE:
        text = _matched(_text(raw).strip(), _DOUBLE_TEXT)
        if text.lstrip("+-")[0] in "NI":
            return float(text)
    else:
        read = _read(raw)
        text = str(read) if isinstance(read, int) else raw.decode()
    value = scalars.nearest_double(text)
    if value == 0 and raw[0] != _QUOTE:
        return 0.0  # also of a minus zero, which BigDecimal does not have
    return scalars.nearest_float(value, text) if single else value


def _decimal(raw: bytes, precision: int, scale: int) -> Decimal:
    """Round to the digits of the column; whole doubles go through a long."""
    if raw[0] == _QUOTE:
        text = _matched(_text(raw), _DECIMAL_TEXT)
    else:
        value = _read(raw)
        if isinstance(value, float) and math.isfinite(value) and value == math.trunc(value):
            value = _saturated(value, _MIN_LONG, _MAX_LONG)
        text = repr(value) if math.isfinite(value) else raw.decode()
    return scalars.rounded(scalars.exact(text), precision, scale)


def _boolean(raw: bytes) -> bool:
    """Take every text but `true`, in any case, for false."""
    return raw.lower() == b'"true"'


def _number_text(raw: bytes) -> bytes:
    """Write a number as Java prints it."""
    value = _read(raw)
    return str(value).encode() if isinstance(value, int) else _java(value).encode()


def _java(value: float) -> str:
    """Write a double as Double.toString does: shortest digits, and an exponent outside of 0.001 to 10,000,000."""
    if not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    sign, digits, _ = Decimal(repr(value)).normalize().as_tuple()
    first, rest = str(digits[0]), "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{Decimal(repr(value)).adjusted()}"
