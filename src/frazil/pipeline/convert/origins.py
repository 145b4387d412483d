"""Conversion of values by what their schema says they are, where their JSON text alone does not.

A number for a time has the unit of its schema, never one that the column stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from frazil.pipeline.convert import legacy_scalars, scalars, temporal
from frazil.pipeline.convert.base64_decimals import decimal_text
from frazil.pipeline.types import Field, List, Map, Scalar, Struct, Type, changed

FLOATING: Final = "float"
"""Origin of numbers that may be none, which JSON has texts for."""
OF_JSON: Final = "json"
"""Origin of such numbers that were JSON in Kafka, too: Kafka Connect reads no minus zero there."""
DECIMAL: Final = "decimal"
VARIABLE_DECIMAL: Final = "io.debezium.data.VariableScaleDecimal"
_CONNECT, _DEBEZIUM = "org.apache.kafka.connect.data.", "io.debezium.time."
_DATE: Final = f"{_CONNECT}Date"
_TIMES: Mapping[str, tuple[Literal["date", "time", "timestamp"], int]] = {
    _DATE: ("date", temporal.NANOS_PER_DAY),
    f"{_CONNECT}Time": ("time", 1_000_000),
    f"{_CONNECT}Timestamp": ("timestamp", 1_000_000),
    f"{_DEBEZIUM}Date": ("date", temporal.NANOS_PER_DAY),
    f"{_DEBEZIUM}Time": ("time", 1_000_000),
    f"{_DEBEZIUM}MicroTime": ("time", 1_000),
    f"{_DEBEZIUM}NanoTime": ("time", 1),
    f"{_DEBEZIUM}Timestamp": ("timestamp", 1_000_000),
    f"{_DEBEZIUM}MicroTimestamp": ("timestamp", 1_000),
    f"{_DEBEZIUM}NanoTimestamp": ("timestamp", 1),
    "time-micros": ("time", 1_000),
    **{
        f"{local}timestamp-{unit}": ("timestamp", nanos)
        for local in ("", "local-")
        for unit, nanos in (("millis", 1_000_000), ("micros", 1_000), ("nanos", 1))
    },
}
"""Kind of time of a number whose schema has this name, or Avro's logical type, and its unit in nanoseconds."""
_FITTING = {"date": ("date",), "time": ("time",), "timestamp": ("timestamp", "date")}
"""Kinds of columns, and the kinds of times that they hold."""
_NO_NUMBERS = {b'"NaN"': float("nan"), b'"Infinity"': float("inf"), b'"-Infinity"': float("-inf")}
_FLOATS = {OF_JSON: _NO_NUMBERS, FLOATING: _NO_NUMBERS | {b"-0.0": -0.0}}
"""Floating values, as converters with schemas write them, that a conversion without a schema may not take."""


class _Variable(msgspec.Struct):
    """A decimal with a scale of its own."""

    scale: int
    value: str


_variable = msgspec.json.Decoder(_Variable).decode


@lru_cache(maxsize=4096)
def with_origins(column: Type, shape: Type, any_case: bool = False) -> Type:
    """Note in the columns of a table what the schema of records says of their values; the same columns if nothing."""
    match column, shape:
        case Struct(fields), Struct(members):
            fold = str.lower if any_case else str
            known = {fold(member.name): member.type for member in members}
            noted = tuple(_field(field, known, any_case) for field in fields)
            same = all(new is old for new, old in zip(noted, fields, strict=True))
            return column if same else replace(column, fields=noted)
        case List(element), List(items):
            inner = with_origins(element, items, any_case)
            return column if inner is element else replace(column, element=inner)
        case Map(key, value), Map(keys, values):
            name, inner = with_origins(key, keys, any_case), with_origins(value, values, any_case)
            return column if name is key and inner is value else replace(column, key=name, value=inner)
        case Scalar(), Scalar():
            origin = _origin(column, shape)
            return replace(column, origin=origin) if origin else column
        case Scalar(kind="decimal"), Struct(origin=origin) if origin == VARIABLE_DECIMAL:
            return replace(column, origin=origin)
        case _:
            return column


def _field(field: Field, known: Mapping[str, Type], any_case: bool) -> Field:
    fold = str.lower if any_case else str
    for name in field.members:
        shape = known.get(fold(name))
        if shape is not None:
            inner = with_origins(field.type, shape, any_case)
            return field if inner is field.type else replace(field, type=inner)
    return field


def _origin(column: Scalar, shape: Scalar) -> str:
    if column.kind in ("float", "double"):
        own = OF_JSON if shape.origin == OF_JSON else FLOATING
        return DECIMAL if shape.kind == "decimal" else own if shape.kind in ("float", "double") else ""
    is_time = column.kind in ("date", "time") or column.kind.startswith("timestamp")
    if is_time and shape.kind == "date":
        return _DATE
    if column.kind == "string":  # Connect's own times are no numbers there
        is_time = shape.kind in ("date", "time", "timestamptz")
    return shape.origin if is_time and shape.kind not in ("string", "binary") else ""


@lru_cache(maxsize=4096)
def without_origins(type_: Type) -> Type:
    """Make the column that a type of a schema stands for."""
    match type_:
        case Scalar():
            return replace(type_, origin="", told=b"") if type_.origin or type_.told else type_
        case Map(key, value):
            return replace(type_, key=without_origins(key), value=without_origins(value), told=b"")
        case Struct():
            plain = replace(type_, origin="", version=None, told=b"")
            return changed(plain, lambda _, inner: without_origins(inner)) or plain
        case List(element):
            return replace(type_, element=without_origins(element), told=b"")


def converter(type_: Scalar, *, legacy: bool) -> scalars.Convert:
    """Make the conversion for a column whose values have an origin."""
    plain = replace(type_, origin="")
    other = legacy_scalars.converter(plain) if legacy else scalars.converter(plain)
    if type_.origin in _FLOATS:
        known = _FLOATS[type_.origin]
        return lambda raw: known[raw] if raw in known else other(raw)
    if type_.origin == DECIMAL:
        return other if legacy else lambda raw: _from_decimal(raw, other)
    if type_.origin == VARIABLE_DECIMAL:
        return lambda raw: other(_unpacked(raw) if raw[:1] == b"{" else raw)
    if type_.kind.startswith("timestamp") and _TIMES.get(type_.origin, ("",))[0] == "date":
        return lambda raw: _time(raw, type_) if scalars.kind_of(raw) == "number" else _midnight(raw, type_)
    of_number = _text_of_time if type_.kind == "string" else _time
    return lambda raw: of_number(raw, type_) if scalars.kind_of(raw) == "number" else other(raw)


def instant(type_: Type, raw: bytes) -> int | None:
    """Read a number as nanoseconds since midnight or 1970-01-01T00:00Z; None unless its schema is that of a time.

    Raises ValueError for a fraction.
    """
    if not isinstance(type_, Scalar) or type_.origin not in _TIMES or scalars.kind_of(raw) != "number":
        return None
    return scalars.whole(raw.decode()) * _TIMES[type_.origin][1]


def unit_for(column: Scalar, shape: Scalar) -> int | None:
    """Give the nanoseconds that a number counts, as its schema says; None unless it is a time that a column takes."""
    kind, unit = _TIMES.get(shape.origin, ("", 0))
    return unit if kind in _FITTING.get(_general(column.kind), ()) else None


def _general(kind: str) -> str:
    return "timestamp" if kind.startswith("timestamp") else kind


def _time(raw: bytes, type_: Scalar) -> int:
    kind, unit = type_.kind, type_.origin
    nanos = instant(type_, raw)
    if nanos is None:
        raise ValueError(f"{unit}, which the schema says that the number is, is no time")
    if _TIMES[unit][0] not in _FITTING[_general(kind)]:
        raise ValueError(f"{unit}, which the schema says that the number is, does not fit")
    if kind == "date":
        return scalars.in_days(nanos // temporal.NANOS_PER_DAY)
    if kind == "time":
        return scalars.in_day(nanos)
    return scalars.in_calendar(nanos, 1 if kind.endswith("_ns") else 1000)


def _midnight(raw: bytes, type_: Scalar) -> int:
    """Read a day, as transformations write one, as a point in time."""
    days = scalars.converter(Scalar("date"))(raw)
    return scalars.in_calendar(days * temporal.NANOS_PER_DAY, 1 if type_.kind.endswith("_ns") else 1000)


def _text_of_time(raw: bytes, type_: Scalar) -> str:
    nanos = instant(type_, raw)
    return raw.decode() if nanos is None else temporal.connect_text(_TIMES[type_.origin][0], nanos)


def _from_decimal(raw: bytes, other: scalars.Convert) -> Any:
    value = other(raw)
    if Decimal(repr(value)) != Decimal(raw.decode()) and scalars.kind_of(raw) == "number":
        raise ValueError("the decimal has more digits than the column keeps")
    return value


def _unpacked(raw: bytes) -> bytes:
    try:
        found = _variable(raw)
    except msgspec.MsgspecError:
        raise ValueError(f"expected {VARIABLE_DECIMAL}, as the schema says") from None
    return decimal_text(found.value, found.scale)
