"""Writing of Avro's binary encoding from JSON, in the form that the reader gives: the other way round."""

import base64
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.avro import DEFAULT_PRECISION, AvroType, branch_names, is_plain_union
from frazil.pipeline.schemas.connect import PLAIN

Write = Callable[[Any], bytes]

_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_LIMITS = {"int": 1 << 31, "long": 1 << 63}


def avro_writer(type_: AvroType) -> Callable[[bytes], bytes]:
    """Make the function that writes one JSON value. It raises ConversionError for one that does not fit.

    Bytes are Base64, a decimal may be a number too. A member that is absent has its default, else null. A union of
    several types is an object with the type's name, or null.
    """
    write = _writer(type_)

    def whole(line: bytes) -> bytes:
        try:
            return write(_decode(line))
        except msgspec.MsgspecError as error:
            raise ConversionError("", f"it is not JSON: {error}") from None
        except RecursionError:
            raise ConversionError("", "it is nested too deeply") from None

    return whole


def _writer(type_: AvroType) -> Write:
    """Make the function for a type when its first value comes, since a type may be inside of itself."""
    made: list[Write] = []

    def write(value: Any) -> bytes:
        if not made:
            made.append(_make(type_))
        return made[0](value)

    return write


def _make(type_: AvroType) -> Write:
    kind = type_.kind
    if kind == "record":
        return _record(type_)
    if kind == "union":
        return _union(type_)
    if kind in ("array", "map") and type_.inner is not None:
        inner = _writer(type_.inner)
        return _map(inner) if kind == "map" else _array(inner)
    if kind == "enum":
        return lambda value: _number(type_.symbols.index(_is(value, str, "a symbol")))
    if kind in ("bytes", "fixed"):
        return _bytes(type_)
    if kind == "string":
        return lambda value: _sized(_is(value, str, "a text").encode())
    if kind in _LIMITS:
        return lambda value: _whole(value, _LIMITS[kind])
    if kind in ("float", "double"):
        form = "<f" if kind == "float" else "<d"
        return lambda value: _float(value, form)
    if kind == "boolean":
        return lambda value: b"\1" if _is(value, bool, "a boolean") else b"\0"
    return lambda value: b"" if value is None else _refuse(value, "null")


def _record(type_: AvroType) -> Write:
    fields = [(name, _writer(member), declared.get("default")) for name, member, declared in type_.fields]
    known = {name for name, *_ in fields}

    def write(value: Any) -> bytes:
        found = _is(value, dict, "an object")
        if found.keys() - known:
            raise ConversionError("", f"{sorted(found.keys() - known)[0]} is not in its schema")
        return b"".join([_at(name, member, found.get(name, default)) for name, member, default in fields])

    return write


def _union(type_: AvroType) -> Write:
    writers = [_writer(branch) for branch in type_.branches]
    kinds = [branch.kind for branch in type_.branches]
    names = branch_names(type_, PLAIN)
    plain = is_plain_union(type_, flatten=True)

    def write(value: Any) -> bytes:
        if value is None and "null" in kinds:
            return _number(kinds.index("null"))
        if plain:
            index = next(i for i, kind in enumerate(kinds) if kind != "null")
            return _number(index) + writers[index](value)
        chosen = {name: one for name, one in _is(value, dict, "an object").items() if one is not None}
        if len(chosen) != 1 or not chosen.keys() <= set(names):
            raise ConversionError("", f"expected an object with one of {', '.join(names)}")
        ((name, inner),) = chosen.items()
        return _number(names.index(name)) + _at(name, writers[names.index(name)], inner)

    return write


def _array(inner: Write) -> Write:
    def write(value: Any) -> bytes:
        items = [_at(f"[{i}]", inner, one) for i, one in enumerate(_is(value, list, "an array"))]
        return (_number(len(items)) + b"".join(items) if items else b"") + b"\0"

    return write


def _map(inner: Write) -> Write:
    def write(value: Any) -> bytes:
        items = [_sized(key.encode()) + _at(key, inner, one) for key, one in _is(value, dict, "an object").items()]
        return (_number(len(items)) + b"".join(items) if items else b"") + b"\0"

    return write


def _bytes(type_: AvroType) -> Write:
    is_decimal, scale = type_.props.get("logicalType") == "decimal", int(type_.props.get("scale", 0))
    precision = type_.props.get("precision", DEFAULT_PRECISION)

    def write(value: Any) -> bytes:
        if is_decimal and isinstance(value, int | Decimal) and not isinstance(value, bool):
            unscaled = _unscaled(Decimal(value), precision, scale)
            size = type_.size or unscaled.bit_length() // 8 + 1
            data: bytes = unscaled.to_bytes(size, "big", signed=True)
        else:
            data = base64.b64decode(_is(value, str, "Base64"), validate=True)
            if is_decimal and abs(int.from_bytes(data, "big", signed=True)) >= 10**precision:
                raise ConversionError("", _too_precise(precision))
        if type_.kind == "bytes":
            return _sized(data)
        if len(data) != type_.size:
            raise ConversionError("", f"expected {type_.size} bytes, got {len(data)}")
        return data

    return write


def _unscaled(number: Decimal, precision: int, scale: int) -> int:
    """The whole number that a decimal is stored as; its cost does not grow with the exponent."""
    sign, digits, exponent = number.as_tuple()
    zeros = int(exponent) + scale
    if zeros < 0:
        raise ConversionError("", f"the number has more than {scale} digits behind its point")
    whole = int("".join(map(str, digits)))
    if whole and len(str(whole)) + zeros > precision:
        raise ConversionError("", _too_precise(precision))
    return whole * 10**zeros * (-1 if sign else 1) if whole else 0


def _too_precise(precision: int) -> str:
    return f"the number has more digits than its precision, {precision}"


def _float(value: Any, form: str) -> bytes:
    number = float(value)
    if math.isinf(number) and not isinstance(value, str):
        raise ConversionError("", "the number is out of range")
    return struct.pack(form, number)


def _whole(value: Any, limit: int) -> bytes:
    number = int(_is(value, int, "a whole number"))
    if isinstance(value, bool) or not -limit <= number < limit:
        raise ConversionError("", "the number is out of range")
    return _number(number)


def _number(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    return _number(len(data)) + data


def _is(value: Any, kind: type, expected: str) -> Any:
    return value if isinstance(value, kind) else _refuse(value, expected)


def _refuse(value: Any, expected: str) -> Any:
    raise ConversionError("", f"expected {expected}, got {msgspec.json.encode(value, enc_hook=str).decode()[:40]}")


def _at(name: str, write: Write, value: Any) -> bytes:
    """Write a member; an error says where it is."""
    try:
        return write(value)
    except ConversionError as error:
        raise error.inside(name) from None
    except (ValueError, OverflowError, TypeError) as error:
        raise ConversionError(name, str(error)) from None
