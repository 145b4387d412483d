"""Cast: one JSON value as another type.

Connect wraps numbers that are too large and takes every word but `true` for false; here both are errors. A number that
becomes text keeps its source text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

import numpy as np

from frazil.declare.definition import Value
from frazil.pipeline.convert import scalars
from frazil.pipeline.transforms.fields import is_fraction
from frazil.pipeline.transforms.record import (
    Apply,
    DataError,
    Part,
    Raw,
    Record,
    is_null,
    looked_at,
    members,
    quoted,
    raw_bytes,
    replace,
    string,
)
from frazil.pipeline.transforms.rules import items
from frazil.pipeline.types import Scalar

_WHOLE_TEXT = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_EXPONENT_LIMIT = 30
_WHOLE_FROM = 1 << 24  # from here on a float32 is a whole number, and its shortest text is another one
_float32 = scalars.converter(Scalar("float"))
_float64 = scalars.converter(Scalar("double"))


def cast(options: Mapping[str, Value], part: Part) -> Apply:
    """Casts fields, or the whole; null and absent ones stay so."""
    spec = items(options, "spec")
    if len(spec) == 1 and ":" not in spec[0]:
        whole = converter(spec[0])

        def apply_whole(record: Record) -> None:
            found = looked_at(record, part)
            if found is not None:
                replace(record, part, _named(f"the {part}", whole, raw_bytes(found)))

        return apply_whole
    casts = {}
    for entry in spec:
        name, type_ = entry.split(":")
        casts[name.strip()] = converter(type_)

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        for name, convert in casts.items():
            value = found.get(name)
            if value is not None and not is_null(value):
                found[name] = _named(name, convert, raw_bytes(value))

    return apply


def _named(name: str, convert: Callable[[bytes], Raw], raw: bytes) -> Raw:
    try:
        return convert(raw)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None


def converter(type_: str) -> Callable[[bytes], Raw]:
    """The function for one type of a spec: JSON that is not null to JSON. It raises ValueError with the reason."""
    match type_.strip().lower():
        case "int8" | "int16" | "int32" | "int64" as name:
            bits = int(name[3:])
            return lambda raw: _whole(raw, bits)
        case "float32":
            return lambda raw: _floating(raw, single=True)
        case "float64":
            return lambda raw: _floating(raw, single=False)
        case "boolean":
            return _boolean
        case _:
            return _text


def _kind(raw: bytes) -> str:
    kind = scalars.kind_of(raw)
    if kind in ("object", "array"):
        raise ValueError(f"{kind} cannot be cast")
    return kind


def _whole(raw: bytes, bits: int) -> Raw:
    """A fraction is cut, as a cast does; what does not fit is an error."""
    kind = _kind(raw)
    if kind == "boolean":
        return Raw(b"1" if raw == b"true" else b"0")
    if kind == "text":
        text = string(raw)
        if not _WHOLE_TEXT.fullmatch(text):
            raise ValueError(f"the text is not an integer of {bits} bits")
        value = int(text)
    elif is_fraction(raw):
        number = Decimal(raw.decode())
        value = int(number) if number.adjusted() < _EXPONENT_LIMIT else 1 << 64
    else:
        value = int(raw) if len(raw) <= _EXPONENT_LIMIT else 1 << 64
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"the number does not fit in {bits} bits")
    return Raw(b"%d" % value)


def _floating(raw: bytes, *, single: bool) -> Raw:
    if _kind(raw) == "boolean":
        return Raw(b"1.0" if raw == b"true" else b"0.0")
    value = (_float32 if single else _float64)(raw)
    if not math.isfinite(value):
        return quoted("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")
    if single:
        value = np.float32(value)
        text = str(value) if abs(value) < _WHOLE_FROM else repr(float(value))
    else:
        text = repr(value)
    return Raw(text.encode())


def _boolean(raw: bytes) -> Raw:
    kind = _kind(raw)
    if kind == "boolean":
        return Raw(raw)
    if kind == "text":
        text = string(raw).lower()
        if text not in ("true", "false"):
            raise ValueError("the text is neither true nor false")
        return Raw(text.encode())
    return Raw(b"true" if abs(Decimal(raw.decode())) >= 1 else b"false")


def _text(raw: bytes) -> Raw:
    return Raw(raw) if _kind(raw) == "text" else quoted(raw.decode())
