"""A slow and independent conversion of records to rows, to check the decoders against.

It uses the standard library's JSON scanner, fractions and datetime, and nothing of `frazil.pipeline` but the types.
Values have their storage form: int for dates (days), times (microseconds) and timestamps (the column's unit).
"""

from __future__ import annotations

import json
import string
import struct
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from frazil.pipeline.types import List, Map, Scalar, Struct, Type

_WHITE = " \t\n\r"
_EPOCH = datetime(1970, 1, 1)
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_FLOAT32_MAX = Fraction(2) ** 128 - Fraction(2) ** 104


class Rejected(Exception):
    """The record is not to be stored."""


def row(document: bytes, columns: Struct) -> dict[str, Any]:
    """The column values of a record; absent and null columns are None. Raises Rejected."""
    try:
        text = document.decode()
        value, end = _decoder().raw_decode(text, _skip(text, 0))
        if _skip(text, end) != len(text) or not isinstance(value, dict):
            raise Rejected("not one object")
    except ValueError as error:
        raise Rejected(str(error)) from error
    return _struct(text[_skip(text, 0) : end], columns)


def stored(table: pa.Table, columns: Struct) -> list[dict[str, Any]]:
    """The rows of a table in the same form."""
    values = [table.column(i).combine_chunks() for i in range(table.num_columns)]
    return [
        {f.name: _stored(values[i][j], f.type) for i, f in enumerate(columns.fields)} for j in range(table.num_rows)
    ]


def same(left: Any, right: Any) -> bool:
    """Equality that tells -0.0 from 0.0 and finds NaN equal to NaN, at any depth."""
    return bool(_comparable(left) == _comparable(right))


def _comparable(value: Any) -> Any:
    match value:
        case float():
            return struct.pack("<d", value) if value == value else "NaN"
        case dict():
            return {name: _comparable(item) for name, item in value.items()}
        case list() | tuple():
            return [_comparable(item) for item in value]
        case Decimal():
            return "decimal", value.as_tuple() if value else abs(value).as_tuple()
        case _:
            return type(value).__name__, value


def _stored(scalar: pa.Scalar, type_: Type) -> Any:
    if not scalar.is_valid:
        return None
    match type_:
        case Struct(fields):
            return {f.name: _stored(scalar[f.name], f.type) for f in fields}
        case List(element):
            return [_stored(item, element) for item in scalar.values]
        case Map(key, value):
            return [(_stored(item[0], key), _stored(item[1], value)) for item in map(_pair, scalar.values)]
        case Scalar(kind="date" | "time" | "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns"):
            return scalar.value
        case _:
            return scalar.as_py()


def _pair(entry: pa.StructScalar) -> tuple[pa.Scalar, pa.Scalar]:
    return entry[0], entry[1]


def _decoder() -> json.JSONDecoder:
    def refuse(text: str) -> None:
        raise ValueError(f"{text} is not JSON")

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for name, value in pairs:  # also those that a later one of the same name hides
            _refuse_surrogates(name)
            _refuse_surrogates(value)
        return dict(pairs)

    return json.JSONDecoder(parse_constant=refuse, parse_int=str, parse_float=str, object_pairs_hook=members)


def _refuse_surrogates(value: Any) -> None:
    """Texts must be Unicode; objects have been checked when they were read."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, list):
        for item in value:
            _refuse_surrogates(item)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _WHITE:
        at += 1
    return at


def _parts(text: str) -> list[tuple[str, str]]:
    """Names (empty in arrays) and source texts of the parts of an object or array, in order."""
    result: list[tuple[str, str]] = []
    at = _skip(text, 1)
    while text[at] not in "}]":
        name = ""
        if text[0] == "{":
            name, at = _decoder().raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _decoder().raw_decode(text, at)
        result.append((name, text[at:end]))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return result


def _struct(text: str, columns: Struct) -> dict[str, Any]:
    if text[0] != "{":
        raise Rejected("not an object")
    members = dict(_parts(text))
    return {f.name: _value(members.get(f.name, "null"), f.type, f.required) for f in columns.fields}


def _value(text: str, type_: Type, required: bool) -> Any:
    if text == "null" or (text[0] == "[" and not _parts(text) and isinstance(type_, Struct | Map)):
        if required:
            raise Rejected("required")
        return None
    match type_:
        case Struct():
            return _struct(text, type_)
        case List(element, element_required):
            if text[0] != "[":
                raise Rejected("not an array")
            return [_value(item, element, element_required) for _, item in _parts(text)]
        case Map(key, value, value_required):
            if text[0] != "{":
                raise Rejected("not an object")
            assert isinstance(key, Scalar)
            pairs = {_scalar(json.dumps(n), key): _value(item, value, value_required) for n, item in _parts(text)}
            return list(pairs.items())
        case Scalar():
            return _scalar(text, type_)


def _scalar(text: str, type_: Scalar) -> Any:
    if type_.kind == "string":
        return json.loads(text) if text[0] == '"' else text
    quoted = json.loads(text) if text[0] == '"' else None
    number = text if text[0] in "-0123456789" else None
    match type_.kind:
        case "boolean":
            return _one_of(text if quoted is None else quoted, {"true": True, "false": False})
        case "int" | "long":
            bits = 32 if type_.kind == "int" else 64
            if quoted is not None and quoted != _whole_text(quoted):
                raise Rejected("not an integer text")
            return _integer(number if quoted is None else quoted, bits)
        case "float":
            return _float(_floating_text(number, quoted))
        case "double":
            return _double(_floating_text(number, quoted))
        case "decimal":
            if quoted is not None and (quoted != _plain_text(quoted) or len(quoted.partition(".")[2]) > type_.scale):
                raise Rejected("not a decimal text")
            return _decimal(number if quoted is None else quoted, type_.precision, type_.scale)
        case "uuid":
            return _uuid(quoted)
        case "binary" | "fixed":
            data = _base64(quoted)
            if type_.kind == "fixed" and len(data) != type_.length:
                raise Rejected("length")
            return data
        case "date":
            days = _integer(number, 32) if number is not None else (_day(quoted) - date(1970, 1, 1)).days
            return _within_calendar(days, days)
        case "time":
            return _time(number, quoted)
        case kind:
            nanos = instant(number, quoted, apply_offset=kind.startswith("timestamptz"))
            return _within_calendar(
                _within(nanos if kind.endswith("_ns") else nanos // 1000, 64), nanos // (86_400 * 10**9)
            )


def _one_of(word: str, words: dict[str, bool]) -> bool:
    if word not in words:
        raise Rejected("not a boolean")
    return words[word]


def _exact(text: str | None) -> Fraction:
    if text is None or set(text) - set("0123456789+-.eE"):
        raise Rejected("not a number")
    try:
        return Fraction(Decimal(text))
    except InvalidOperation as error:
        if "e-" in text.lower():  # a number that is beyond all decimals, and next to 0
            return Fraction(1, 10**1000)
        raise Rejected("not a number") from error


def _integer(text: str | None, bits: int) -> int:
    value = _exact(text)
    if value.denominator != 1:
        raise Rejected("fraction")
    return _within(int(value), bits)


def _within(value: int, bits: int) -> int:
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise Rejected("overflow")
    return value


def _within_calendar(value: int, days: int) -> int:
    """The value, if its day is one of the years 1 to 9999."""
    if not (date.min - date(1970, 1, 1)).days <= days <= (date.max - date(1970, 1, 1)).days:
        raise Rejected("no such year")
    return value


def _whole_text(text: str) -> str:
    """The number of a text of digits, written anew."""
    digits = text.removeprefix("-")
    if not digits or set(digits) - set(string.digits):
        return ""
    shorter = digits.lstrip("0")
    return f"{text[: len(text) - len(digits)]}{shorter}" if shorter else "0"


def _plain_text(text: str) -> str:
    """The number of a text with a decimal point, written anew; a number that is 0 has no sign."""
    whole, point, fraction = text.partition(".")
    if point and (not fraction or set(fraction) - set(string.digits)):
        return ""
    negative = whole[:1] == "-" and bool((whole + fraction).strip("-0"))
    return f"{'-' if negative else ''}{_whole_text(whole.removeprefix('-'))}{point}{fraction}"


def _floating_text(number: str | None, quoted: str | None) -> str | None:
    if quoted is None:
        return number
    exact = _exact(quoted)
    try:
        value = _nearest(quoted)
    except ValueError as error:
        raise Rejected("not a number") from error
    as_plain = quoted.removeprefix("-") == _plain_text(quoted).removeprefix("-") and Fraction(repr(value)) == exact
    whole_zero = quoted == "-0"
    if _spelling(repr(value)) == _spelling(quoted) or (
        as_plain and not whole_zero and not ("." in quoted and quoted.endswith("0"))
    ):
        return quoted
    raise Rejected("not the text of its number")


def _spelling(text: str) -> tuple[str, str]:
    digits, _, exponent = text.lower().partition("e")
    power = exponent.lstrip("+")
    return (digits.removesuffix(".0"), power.replace("-0", "-")) if exponent else (digits, "")


def _nearest(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Rejected("overflow")
    return value


def _double(text: str | None) -> float:
    exact = _exact(text)
    value = _nearest(text or "")
    if exact and not value:
        raise Rejected("next to zero")
    if not set(text or "") & set(".eE") and exact not in (Fraction(value), Fraction(repr(value))):
        raise Rejected("more digits than a double")
    return value


def _float(text: str | None) -> float:
    double, single = _double(text), float32(text)
    digits = (text or "").lower().split("e")[0].replace(".", "").strip("-0")
    if single != double and (len(digits) > 9 or Fraction(f"{single:.{len(digits)}g}") != _exact(text)):
        raise Rejected("more digits than a float")
    return single


def float32(text: str | None) -> float:
    """The 32-bit float nearest to a number, found among the neighbours of a first guess; ties go to the even one."""
    exact = _exact(text)
    if not exact:
        return float(text or "")
    if abs(exact) >= _FLOAT32_MAX + Fraction(2) ** 103:
        raise Rejected("overflow")
    guess = np.float32(float(min(max(exact, -_FLOAT32_MAX), _FLOAT32_MAX)))
    with np.errstate(over="ignore"):
        around = [guess, np.nextafter(guess, np.float32(-np.inf)), np.nextafter(guess, np.float32(np.inf))]
    finite = [candidate for candidate in around if np.isfinite(candidate)]
    best = min(finite, key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1))
    return float(best)


def _decimal(text: str | None, precision: int, scale: int) -> Decimal:
    exact = _exact(text) * 10**scale
    if exact.denominator != 1 or abs(exact) >= 10**precision:
        raise Rejected("overflow, or more digits")
    digits = tuple(map(int, str(int(abs(exact)))))
    return Decimal((int(exact < 0), digits, -scale))


def _uuid(text: str | None) -> bytes:
    parts = (text or "").split("-")
    if len(parts) != 5 or not all(part and set(part) <= set(string.hexdigits) for part in parts):
        raise Rejected("not a UUID")
    widths = (8, 4, 4, 4, 12)
    if any(len(part) > width for part, width in zip(parts, widths, strict=True)):
        raise Rejected("not a UUID")
    return bytes.fromhex("".join(part.rjust(width, "0") for part, width in zip(parts, widths, strict=True)))


def _base64(text: str | None) -> bytes:
    if text is None:
        raise Rejected("not a text")
    body = text.rstrip("=")
    padding = len(text) - len(body)
    if padding and (len(text) % 4 or padding > 2) or len(body) % 4 == 1 or set(body) - set(_BASE64):
        raise Rejected("not Base64")
    bits = "".join(f"{_BASE64.index(c):06b}" for c in body)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))


def _digits(text: str, width: int | None = None) -> int:
    if not text or set(text) - set(string.digits) or (width is not None and len(text) != width):
        raise Rejected("not digits")
    return int(text)


def _day(text: str | None) -> date:
    if text is None or text.count("-") != 2:
        raise Rejected("not a date")
    year, month, day = text.split("-")
    try:
        return date(_digits(year, 4), _digits(month, 2), _digits(day, 2))
    except ValueError as error:
        raise Rejected("no such day") from error


def _clock(text: str) -> int:
    """Nanoseconds of `HH:mm[:ss[.digits]]`, up to and including 24:00."""
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise Rejected("not a time")
    second, point, fraction = parts[2].partition(".") if len(parts) == 3 else ("00", "", "")
    hours, minutes, seconds = _digits(parts[0], 2), _digits(parts[1], 2), _digits(second, 2)
    nanos = _digits(fraction) * 10**9 // 10 ** len(fraction) if point else 0
    if hours > 24 or minutes > 59 or seconds > 59 or (hours == 24 and (minutes or seconds or nanos)):
        raise Rejected("no such time")
    return int(timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds()) * 10**9 + nanos


def _time(number: str | None, quoted: str | None) -> int:
    nanos = _integer(number, 64) * 10**6 if quoted is None else _clock(quoted)
    if not 0 <= nanos < 86_400 * 10**9:
        raise Rejected("no such time")
    return nanos // 1000


def instant(number: str | None, quoted: str | None, *, apply_offset: bool) -> int:
    if quoted is None:
        exact = _exact(number)
        if exact.denominator != 1:
            raise Rejected("fraction")
        return int(exact) * 10**6
    if len(quoted) < 11 or quoted[10] not in "Tt ":
        raise Rejected("not a timestamp")
    start = datetime.combine(_day(quoted[:10]), datetime.min.time())
    clock, offset = quoted[11:], 0
    if clock[-1:] in ("Z", "z"):
        clock = clock[:-1]
    elif "+" in clock or "-" in clock:
        at = max(clock.rfind("+"), clock.rfind("-"))
        zone = clock[at + 1 :]
        hours, minutes = zone[:2], zone[2:].removeprefix(":") if len(zone) > 2 else "00"
        if _digits(hours, 2) > 23 or _digits(minutes, 2) > 59:
            raise Rejected("no such offset")
        offset = (int(hours) * 60 + int(minutes)) * (1 if clock[at] == "+" else -1)
        clock = clock[:at]
    days = (start - _EPOCH).days
    return days * 86_400 * 10**9 + _clock(clock) - (offset * 60 * 10**9 if apply_offset else 0)
