"""Conversion of scalars that bends values as the Iceberg sink of Kafka Connect does.

Only where the strict converter refuses a value, or stores another one: whole numbers wrap at 64 and 32 bits, fractions
are cut, any text is a boolean, and numbers in text columns are written as Java does.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from frazil.pipeline.convert import scalars
from frazil.pipeline.types import Scalar

_QUOTE: Final = 0x22
_NUMBER = b"-0123456789"
_MIN_LONG, _MAX_LONG = -(1 << 63), (1 << 63) - 1


def converter(type_: Scalar) -> scalars.Convert:
    """Make the conversion for a column type."""
    strict = scalars.converter(type_)
    match type_.kind:
        case "int":
            return lambda raw: _integer(raw, 32) if _is_number(raw) else strict(raw)
        case "long":
            return lambda raw: _integer(raw, 64) if _is_number(raw) else strict(raw)
        case "float" | "double":
            return lambda raw: strict(_double_text(raw)) if _is_number(raw) else strict(raw)
        case "decimal":
            return lambda raw: strict(_decimal_text(raw)) if _is_number(raw) else strict(raw)
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
    return _wrapped(int(raw), 64) if len(raw) <= 1000 else _wrapped(int(Decimal(raw.decode())), 64)


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


def _decimal_text(raw: bytes) -> bytes:
    """Write a number for the strict decimal conversion; whole doubles go through a long."""
    value = _read(raw)
    if isinstance(value, float) and not math.isfinite(value):
        return raw
    if isinstance(value, float) and value == math.trunc(value):
        value = _saturated(value, _MIN_LONG, _MAX_LONG)
    return repr(value).encode()


def _double_text(raw: bytes) -> bytes:
    value = _read(raw)
    return str(value).encode() if isinstance(value, int) else raw


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
