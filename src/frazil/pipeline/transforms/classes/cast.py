"""Cast: fields, or the whole key or value, as another type.

Connect wraps numbers that are too large and takes every word but `true` for false; here both are errors. A number that
becomes text keeps its source text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace as change
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import msgspec

from frazil.declare.definition import Key, invalid_value
from frazil.pipeline.convert import legacy_scalars, scalars, temporal
from frazil.pipeline.envelope import rewritten
from frazil.pipeline.schemas.connect import DATE, TIME, TIMESTAMP, ConnectSchema, read_schema
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import (
    KEY_OR_VALUE,
    REPLACE_NULL,
    Fields,
    Options,
    Problems,
    Transformation,
    items,
)
from frazil.pipeline.transforms.record import (
    Apply,
    DataError,
    Json,
    Part,
    Raw,
    Record,
    is_fraction,
    is_null,
    looked_at,
    members,
    quoted,
    raw_bytes,
    replace,
    string,
)
from frazil.pipeline.transforms.shapes import Derived, as_nullable
from frazil.pipeline.transforms.times import told_nanos
from frazil.pipeline.types import Scalar, ScalarKind, Type, Typed

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_CONNECT_TYPES = (*_TYPES, "bytes", "array", "map", "struct")
_WHOLE_TEXT = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_EXPONENT_LIMIT = 30
_WHOLE_FROM = 1 << 24  # from here on a float32 is a whole number, and its shortest text is another one
_NOT_FINITE = Scalar("double")
_TIMES = {DATE: "date", TIME: "time", TIMESTAMP: "timestamptz", "": ""}
"""Kinds of times by the names of their schemas; those that transformations have written have none."""
_KINDS: Mapping[str, ScalarKind] = {
    **dict.fromkeys(("int8", "int16", "int32"), "int"),
    "int64": "long",
    "float32": "float",
    "float64": "double",
    "boolean": "boolean",
    "string": "string",
}
_RESULTS: Mapping[str, Scalar] = {
    name: Scalar(kind, told=ConnectSchema(kind if name.startswith("float") else name).to_json())
    for name, kind in _KINDS.items()
}
"""Types that records with a schema get, where the field was required."""
_float32 = legacy_scalars.converter(Scalar("float"))
_float64 = legacy_scalars.converter(Scalar("double"))


def _build(options: Options, part: Part) -> Apply:
    """Keep null and absent fields as they are."""
    spec = items(options, "spec")
    if len(spec) == 1 and ":" not in spec[0]:
        cast_whole = _caster(spec[0], f"the {part}")

        def apply_whole(record: Record) -> None:
            found = looked_at(record, part)
            if found is not None:
                replace(record, part, cast_whole(record, found))

        return apply_whole
    casts = {}
    for entry in spec:
        name, type_ = entry.split(":")
        casts[name.strip()] = _caster(type_, name.strip())

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        for name, cast in casts.items():
            value = found.get(name)
            if value is not None:
                found[name] = cast(record, value)

    return apply


def _columns(options: Options) -> ApplyToBlock:
    spec = [entry.split(":") for entry in items(options, "spec")]

    def apply(block: Block) -> Block | None:
        members = dict(block.members)
        for name, kind in ((entry[0].strip(), entry[-1].strip().lower()) for entry in spec):
            if name not in members:
                continue
            array, type_ = members[name]
            cast = _cast(array, type_, kind)
            if cast is None:
                return None
            members[name] = cast, _RESULTS[kind]
        return block.having(members)

    return apply if all(len(entry) == 2 for entry in spec) else lambda block: None


def _cast(array: pa.Array, type_: Type, kind: str) -> pa.Array | None:
    """Leave what is of the type, and cast whole numbers and booleans; None for what has to be looked at one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(type_, Scalar) or type_.origin:
        return None
    if kind == "string" and type_.kind in ("int", "long", "boolean", "string"):
        return array.cast(pa.string())
    if (kind, type_.kind) in (("boolean", "boolean"), ("float64", "double")):
        return array.cast(array.type)
    if type_.kind not in ("int", "long"):
        return None
    if kind == "float64":
        return array.cast(pa.float64(), safe=False)
    if not kind.startswith("int"):
        return None
    limits, most = pc.min_max(array).as_py(), 1 << (int(kind[3:]) - 1)
    if limits["min"] is not None and not (-most <= limits["min"] and limits["max"] < most):
        return None
    return array.cast(pa.int64() if kind == "int64" else pa.int32())


def _fields(options: Options) -> Fields:
    entries = (entry.partition(":") for entry in items(options, "spec"))
    return (("spec", (name.strip(),)) for name, colon, _ in entries if colon)


def _caster(type_: str, name: str) -> Callable[[Record, Json], Json]:
    """Make the function that casts a value of a record and notes its type, if the record has a schema."""
    convert, result = _converter(type_), as_nullable(_RESULTS[type_.strip().lower()])
    results = Derived(lambda before: _with_default(result(before), before, convert))

    def cast(record: Record, value: Json) -> Json:
        try:
            made = value if is_null(value) else convert(value)
            if not record.typed or isinstance(made, dict):
                return made
            return Typed(made.raw if isinstance(made, Typed) else made, results.of(value))
        except ValueError as error:
            raise DataError(f"{name}: {error}") from None

    return cast


def _with_default(result: Scalar, before: Type | None, convert: Callable[[Json], Json]) -> Scalar:
    """Note the default value that a field had, cast as its values are."""
    default = read_schema(before.told).default if isinstance(before, Scalar) and before.told else msgspec.UNSET
    if before is None or default is msgspec.UNSET or is_null(default):
        return result
    made = convert(Typed(Raw(rewritten(before.told, default)), before))
    told = msgspec.structs.replace(read_schema(result.told), default=Raw(raw_bytes(made)))
    return change(result, told=told.to_json())


def _of_times(convert: Callable[[bytes], Json], write: Callable[[str, int], Json]) -> Callable[[Json], Json]:
    """Let one of Connect's times be written by its kind and its nanoseconds, and any other value be converted."""

    def converted(value: Json) -> Json:
        if isinstance(value, Typed) and isinstance(value.type, Scalar) and value.type.origin in _TIMES:
            nanos = told_nanos(value)
            if nanos is not None:
                return write(_TIMES[value.type.origin] or value.type.kind, nanos)
        return convert(raw_bytes(value))

    return converted


def _time_text(kind: str, nanos: int) -> Raw:
    return quoted(temporal.connect_text(kind, nanos))


def _time_number(kind: str, nanos: int) -> bytes:
    """Write the number that Connect has for a time: days, or milliseconds."""
    return b"%d" % (nanos // (temporal.NANOS_PER_DAY if kind == "date" else 1_000_000))


def _converter(type_: str) -> Callable[[Json], Json]:
    """The function for one type of a spec, for what is not null. It raises ValueError with the reason."""
    convert = _of_json(type_)
    if convert is _text:
        return _of_times(convert, _time_text)
    return _of_times(convert, lambda kind, nanos: convert(_time_number(kind, nanos)))


def _of_json(type_: str) -> Callable[[bytes], Json]:
    match type_.strip().lower():
        case "int8" | "int16" | "int32" | "int64" as name:
            bits = int(name[3:])
            return lambda raw: _whole(raw, bits)
        case "float32":
            import numpy as np  # takes 0.1 s, which a process that only reads configurations does without

            return lambda raw: _floating(raw, np.float32)
        case "float64":
            return lambda raw: _floating(raw)
        case "boolean":
            return _boolean
        case _:
            return _text


def _kind(raw: bytes) -> str:
    kind = scalars.kind_of(raw)
    if kind in ("object", "array"):
        raise ValueError(f"{kind} cannot be cast")
    return kind


def _decimal(raw: bytes) -> Decimal:
    try:
        return Decimal(raw.decode())
    except InvalidOperation:
        raise ValueError("the exponent of the number is too large") from None


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
        number = _decimal(raw)
        value = int(number) if number.adjusted() < _EXPONENT_LIMIT else 1 << 64
    else:
        value = int(raw) if len(raw) <= _EXPONENT_LIMIT else 1 << 64
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"the number does not fit in {bits} bits")
    return Raw(b"%d" % value)


def _floating(raw: bytes, single: Callable[[float], Any] | None = None) -> Json:
    kind = _kind(raw)
    if kind == "boolean":
        return Raw(b"1.0" if raw == b"true" else b"0.0")
    if kind == "text":
        value = (_float32 if single else _float64)(raw)
    else:
        text = raw.decode()
        value = scalars.nearest_double(text)
        value = scalars.nearest_float(value, text) if single else value
    if not math.isfinite(value):
        return Typed(quoted("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"), _NOT_FINITE)
    if single:
        rounded = single(value)
        text = str(rounded) if abs(rounded) < _WHOLE_FROM else repr(float(rounded))
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
    number = _decimal(raw)
    return Raw(b"true" if number and number.adjusted() >= 0 else b"false")


def _text(raw: bytes) -> Raw:
    return Raw(raw) if _kind(raw) == "text" else quoted(raw.decode())


def _check(prefix: str, options: Options) -> Problems:
    """Pairs field:type of known types, or one type alone."""
    spec = options.get("spec")
    if not isinstance(spec, tuple):
        return
    entries = items(options, "spec")
    if not entries:
        yield "spec", "Must specify at least one field to cast."
    for entry in entries:
        *field, type_ = (part.strip() for part in entry.split(":"))
        if len(field) > 1:
            yield "spec", invalid_value(prefix + "spec", entries, f"Invalid rename mapping: {entry}")
        elif type_.lower() not in _CONNECT_TYPES:
            reason = f"Invalid type found in casting spec: {type_}"
            yield "spec", invalid_value(prefix + "spec", entries, f"{reason}; valid types are {', '.join(_TYPES)}")
        elif type_.lower() not in _TYPES:
            supported = ", ".join(_TYPES).upper()
            yield (
                "spec",
                f"Cast transformation does not support casting to {type_.upper()}; supported types are [{supported}]",
            )
    if len(entries) > 1 and any(":" not in entry for entry in entries):
        yield (
            "spec",
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec",
        )


CAST = Transformation(
    name="Cast",
    documentation="Casts fields, or the whole key or value, to a type.",
    keys=(
        Key(
            "spec",
            "LIST",
            "Pairs field:type, or one type for all; int8, int16, int32, int64, float32, float64, boolean, string.",
            importance="HIGH",
        ),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    build=_build,
    fields=_fields,
    columns=_columns,
    of_json=True,
    makes_types=lambda options: True,
)
