"""Values for the named parameters of statements, as they are written on the command line."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from frazil.errors import UsageError

Value = str | int | float | bool | Decimal | date | datetime

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?::(?P<type>\w+))?=(?P<value>.*)", re.DOTALL)
_DECIMAL_DIGITS = 38  # of Trino
_BOOLEANS = {"true": True, "false": False}


def parse_parameter(text: str) -> tuple[str, Value]:
    """Name and value of `name=value`, a string, or of `name:type=value` with one of TYPES.

    Raises UsageError for another form, an unknown type, or a value that is not of the type.
    """
    found = _ASSIGNMENT.fullmatch(text)
    if found is None:
        raise UsageError(f"--param {text}: expected name=value or name:type=value")
    kind = found["type"] or "string"
    if kind not in TYPES:
        raise UsageError(f"--param {found['name']}: there is no type {kind}; there are {', '.join(TYPES)}")
    try:
        return found["name"], TYPES[kind](found["value"])
    except (ValueError, InvalidOperation, KeyError, OverflowError):
        raise UsageError(f"--param {found['name']}: {found['value']!r} is no {kind}") from None


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(text)
    return value


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    # The digits are written out, and 1E+999999999 has a billion of them.
    if not value.is_finite() or max(value.adjusted() + 1, -int(value.as_tuple().exponent)) > _DECIMAL_DIGITS:
        raise ValueError(text)
    return value


def _moment(text: str) -> datetime:
    value = datetime.fromisoformat(text)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _text(text: str) -> str:
    text.encode()  # a byte that is not UTF-8 comes as half a surrogate
    if "\0" in text:
        raise ValueError(text)
    return text


#: Reads a value by the name of its type.
TYPES: dict[str, Callable[[str], Value]] = {
    "string": _text,
    "int": int,
    "double": _finite,
    "decimal": _decimal,
    "boolean": lambda text: _BOOLEANS[text.lower()],
    "date": date.fromisoformat,
    "timestamp": _moment,
}
