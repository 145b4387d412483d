"""Columns of PostgreSQL read as Arrow data, with exactly the types and values that Debezium's records have for them.

Each type has the schema that Debezium gives it, an expression that PostgreSQL is asked for, and the way from what the
driver makes of it to the values of a table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cdc.source import Capture, SourceColumn
from frazil.errors import ConfigError
from frazil.pipeline.schemas.connect import DATE, DECIMAL, TIME, TIMESTAMP, ConnectSchema

Convert = Callable[[pa.Array], pa.Array]

_TIMES, _DATA = "io.debezium.time.", "io.debezium.data."
_MOST_DIGITS = 38
_DAY_US = 86_400_000_000
_DAYS_PER_MONTH = 365.25 / 12
_FIRST_DAY, _FIRST_US = -2_500_000, -2_500_000 * _DAY_US
"""Before all that PostgreSQL has."""
_YEAR_1_US, _YEAR_10000_US = -62_135_596_800_000_000, 253_402_300_800_000_000
_INFINITE = (-(2**63) + 946_684_800_000_000 - 1, -(2**63) + 946_684_800_000_000)
"""Infinity and its opposite as the driver gives them: the greatest and the least number, counted from 2000."""
_ENDS_US = (9_223_372_036_825_200_000, -9_223_372_036_832_400_000)
"""Debezium's numbers for them."""


@dataclass(frozen=True)
class Kind:
    """Way to read a column: `select` has {} for its name."""

    schema: ConnectSchema
    select: str = "{}"
    convert: Convert = lambda array: array


def kind_of(column: SourceColumn, capture: Capture) -> Kind:
    """The way to read a column. Raises ConfigError for a type whose values would not be exactly those of records."""
    name, is_array = column.type.removesuffix("[]"), column.type.endswith("[]")
    if is_array and name in _ITEMS:
        type_, _, select = _PLAIN[name]
        select = select.replace("text", "text[]").replace("{}", _FLAT.format(name))
        return Kind(ConnectSchema("array", items=ConnectSchema(type_, optional=True)), select)
    if is_array or (column.kind == "d" and name not in _PLAIN):
        raise _refused(column, f"is {'an array' if is_array else 'of a domain'} of {name}")
    if column.kind == "e":
        return Kind(ConnectSchema("string", name=f"{_DATA}Enum"), "{}::text")
    if name in _PLAIN:
        type_, schema_name, select = _PLAIN[name]
        return Kind(ConnectSchema(type_, name=schema_name or None), select)
    if name not in _OTHERS:
        raise _refused(column, f"is of type {name}")
    return _OTHERS[name](column, capture)


def _refused(column: SourceColumn, what: str) -> ConfigError:
    return ConfigError(f"column {column.name} {what}, whose values would not be exactly those that changes bring")


_PLAIN: dict[str, tuple[str, str, str]] = {
    "bool": ("boolean", "", "{}"),
    "int2": ("int16", "", "{}"),
    "int4": ("int32", "", "{}"),
    "int8": ("int64", "", "{}"),
    "oid": ("int64", "", "{}::int8"),
    "float4": ("float", "", "{}"),
    "float8": ("double", "", "{}"),
    "json": ("string", f"{_DATA}Json", "{}::text"),
    "jsonb": ("string", f"{_DATA}Json", "{}::text"),
    "uuid": ("string", f"{_DATA}Uuid", "{}::text"),
    **dict.fromkeys(("text", "varchar", "bpchar", "char"), ("string", "", "{}")),
}
"""Type, name of the schema, and expression."""
_ITEMS = ("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "uuid")
"""Types of elements of arrays."""
_FLAT = "(CASE WHEN array_ndims({{0}}) > 1 THEN ({{0}}::text || ' has several dimensions')::{}[] ELSE {{0}} END)"
"""An array of one dimension; PostgreSQL refuses others, which the driver would flatten, as no array."""


def _numeric(column: SourceColumn, capture: Capture) -> Kind:
    mode = capture.modes["decimal.handling.mode"]
    if mode == "double":
        return Kind(ConnectSchema("double"), "{}::float8")
    if mode == "string":
        return Kind(ConnectSchema("string"), "{}::text")
    if column.modifier < 0:
        fields = [ConnectSchema("int32", field="scale"), ConnectSchema("bytes", field="value")]
        return Kind(ConnectSchema("struct", name=f"{_DATA}VariableScaleDecimal", fields=fields), "{}::text", _variable)
    precision, scale = (column.modifier - 4) >> 16, (column.modifier - 4) & 0x7FF
    if precision > _MOST_DIGITS or scale > precision:
        raise _refused(column, f"is numeric({precision},{scale})")
    return _decimal(scale, "{}")


def _money(column: SourceColumn, capture: Capture) -> Kind:
    mode, digits = capture.modes["decimal.handling.mode"], capture.money_digits
    if mode == "double":
        return Kind(ConnectSchema("double"), "{}::numeric::float8")
    if mode == "string":
        return Kind(ConnectSchema("string"), f"round({{}}::numeric, {digits})::text")
    return _decimal(digits, f"round({{}}::numeric, {digits})")


def _decimal(scale: int, select: str) -> Kind:
    type_ = pa.decimal128(_MOST_DIGITS, scale)
    schema = ConnectSchema("bytes", name=DECIMAL, version=1, parameters={"scale": str(scale)})
    return Kind(schema, select, lambda array: array.cast(type_))


def _variable(array: pa.Array) -> pa.Array:
    """Numbers with scales of their own, without zeros at the end: all digits as one, in as few bytes as it needs."""
    scales: list[int | None] = []
    values: list[bytes | None] = []
    for text in array.to_pylist():
        if text is None:
            scales.append(None)
            values.append(None)
            continue
        whole, _, fraction = text.partition(".")
        fraction = fraction.rstrip("0")
        number = int(whole + fraction)
        bits = (number if number >= 0 else ~number).bit_length()
        scales.append(len(fraction))
        values.append(number.to_bytes(bits // 8 + 1, "big", signed=True))
    fields = [pa.field("scale", pa.int32()), pa.field("value", pa.binary())]
    return pa.StructArray.from_arrays(
        [pa.array(scales, pa.int32()), pa.array(values, pa.binary())], fields=fields, mask=array.is_null()
    )


def _date(column: SourceColumn, capture: Capture) -> Kind:
    if capture.modes["time.precision.mode"] == "connect":
        return Kind(ConnectSchema("int32", name=DATE, version=1), convert=_calendar_days)
    return Kind(ConnectSchema("int32", name=f"{_TIMES}Date"), convert=_days)


def _days(array: pa.Array) -> pa.Array:
    days = array.cast(pa.int32())
    if (pc.min(days).as_py() or 0) < _FIRST_DAY:  # the driver adds the days from 1970 to 2000 to infinity as well
        raise ValueError("infinity is no date")
    return days


def _calendar_days(array: pa.Array) -> pa.Array:
    days = _days(array)
    _check_calendar(days, _DAY_US)
    return days.cast(pa.date32())


def _check_calendar(counts: pa.Array, unit_us: int) -> None:
    """Raise ValueError for what is not in the years of four digits, as the records of it are refused."""
    least, most = pc.min(counts).as_py(), pc.max(counts).as_py()
    if least is not None and (least < _YEAR_1_US // unit_us or most >= _YEAR_10000_US // unit_us):
        raise ValueError("a time that is not in the years 1 to 9999")


def _time(column: SourceColumn, capture: Capture) -> Kind:
    mode = capture.modes["time.precision.mode"]
    if mode == "connect":
        return Kind(ConnectSchema("int32", name=TIME, version=1), convert=_time_of_day)
    if mode == "adaptive" and 0 <= column.modifier <= 3:
        return Kind(ConnectSchema("int32", name=f"{_TIMES}Time"), convert=lambda array: pc.divide(_micros(array), 1000))
    return Kind(ConnectSchema("int64", name=f"{_TIMES}MicroTime"), convert=_micros)


def _time_of_day(array: pa.Array) -> pa.Array:
    micros = _floored(_micros(array))
    if (pc.max(micros).as_py() or 0) >= _DAY_US:
        raise ValueError("24:00:00 is no time of a day")
    return micros.cast(pa.time64("us"))


def _micros(array: pa.Array) -> pa.Array:
    return array.cast(pa.int64())


def _floored(micros: pa.Array) -> pa.Array:
    """Microseconds as whole milliseconds, rounded down."""
    rest = pc.subtract(micros, pc.multiply(pc.divide(micros, 1000), 1000))
    return pc.subtract(micros, pc.if_else(pc.less(rest, 0), pc.add(rest, 1000), rest))


def _timestamp(column: SourceColumn, capture: Capture) -> Kind:
    mode = capture.modes["time.precision.mode"]
    if mode == "connect":
        return Kind(ConnectSchema("int64", name=TIMESTAMP, version=1), convert=_instant)
    if 0 <= column.modifier <= 3:
        return Kind(ConnectSchema("int64", name=f"{_TIMES}Timestamp"), convert=_stamps_ms)
    return Kind(ConnectSchema("int64", name=f"{_TIMES}MicroTimestamp"), convert=_stamps_us)


def _instant(array: pa.Array) -> pa.Array:
    micros = _micros(array)
    _check_calendar(micros, 1)
    return _floored(micros).cast(pa.timestamp("us", "UTC"))


def _stamps_ms(array: pa.Array) -> pa.Array:
    micros = _micros(array)
    millis = pc.divide(_floored(micros), 1000)
    return millis if _is_plain(micros) else _with_ends(micros, millis, [end // 1000 for end in _ENDS_US])


def _stamps_us(array: pa.Array) -> pa.Array:
    micros = _micros(array)
    return micros if _is_plain(micros) else _with_ends(micros, micros, _ENDS_US)


def _is_plain(micros: pa.Array) -> bool:
    """Whether none of them is infinite, or too late for a number of microseconds."""
    return (pc.min(micros).as_py() or 0) >= _FIRST_US


def _with_ends(micros: pa.Array, values: pa.Array, ends: Sequence[int | str]) -> pa.Array:
    """Put what stands for infinity and its opposite in their places."""
    for infinite, end in zip(_INFINITE, ends, strict=True):
        values = pc.if_else(pc.equal(micros, infinite), pa.scalar(end, values.type), values)
    late = pc.and_(pc.less(micros, _FIRST_US), pc.invert(pc.is_in(micros, pa.array(_INFINITE))))
    if pc.any(late).as_py():
        raise ValueError("a time behind the year 294246 has no number of microseconds")
    return values


def _timestamptz(column: SourceColumn, capture: Capture) -> Kind:
    digits = 6 if column.modifier < 0 else column.modifier
    return Kind(ConnectSchema("string", name=f"{_TIMES}ZonedTimestamp"), convert=partial(_zoned, digits))


def _zoned(digits: int, array: pa.Array) -> pa.Array:
    """Instants as texts in UTC, with so many digits behind the point."""
    micros = _micros(array)
    text = array.cast(pa.timestamp("us")).cast(pa.string())
    if digits < 6:
        text = pc.utf8_slice_codeunits(text, 0, -6 + digits if digits else -7)
    text = pc.binary_join_element_wise(pc.replace_substring(text, " ", "T", max_replacements=1), "Z", "")
    if (pc.max(micros).as_py() or 0) >= _YEAR_10000_US:
        late = pc.greater_equal(micros, _YEAR_10000_US)
        text = pc.if_else(late, pc.binary_join_element_wise("+", text, ""), text)
    if _is_plain(micros):
        if (pc.min(micros).as_py() or 0) < _YEAR_1_US:
            raise ValueError("a time before the year 1")
        return text
    return _with_ends(micros, text, ("infinity", "-infinity"))


def _interval(column: SourceColumn, capture: Capture) -> Kind:
    if capture.modes["interval.handling.mode"] != "numeric":
        raise _refused(column, "is an interval with interval.handling.mode=string")
    return Kind(ConnectSchema("int64", name=f"{_TIMES}MicroDuration"), convert=_micro_duration)


def _micro_duration(array: pa.Array) -> pa.Array:
    parts = np.frombuffer(array.buffers()[1], np.dtype([("m", "<i4"), ("d", "<i4"), ("n", "<i8")]))
    parts = parts[array.offset : array.offset + len(array)]
    days = parts["m"] * _DAYS_PER_MONTH + parts["d"]
    micros = (days * _DAY_US + parts["n"] / 1000).astype(np.int64)
    return pa.array(micros, mask=array.is_null().to_numpy(zero_copy_only=False))


def _bytea(column: SourceColumn, capture: Capture) -> Kind:
    mode = capture.modes["binary.handling.mode"]
    if mode == "bytes":
        return Kind(ConnectSchema("bytes"))
    text = "encode({}, 'hex')" if mode == "hex" else "translate(encode({}, 'base64'), E'\\n', '')"
    if mode == "base64-url-safe":
        text = "translate(encode({}, 'base64'), E'+/\\n', '-_')"
    return Kind(ConnectSchema("string"), text)


def _bit(column: SourceColumn, capture: Capture) -> Kind:
    if column.modifier != 1:
        raise _refused(column, f"is bit({column.modifier})")
    return Kind(ConnectSchema("boolean"), "({} = B'1')")


def _text_of(column: SourceColumn, capture: Capture, name: str = "") -> Kind:
    """Text that PostgreSQL writes for a value."""
    return Kind(ConnectSchema("string", name=name or None), "CASE WHEN {0} IS NOT NULL THEN format('%s', {0}) END")


_OTHERS: dict[str, Callable[[SourceColumn, Capture], Kind]] = {
    "numeric": _numeric,
    "money": _money,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "interval": _interval,
    "bytea": _bytea,
    "bit": _bit,
    **dict.fromkeys(
        (
            "inet",
            "cidr",
            "macaddr",
            "macaddr8",
            "int4range",
            "int8range",
            "numrange",
            "daterange",
            "tsrange",
            "tstzrange",
        ),
        _text_of,
    ),
    "tsvector": partial(_text_of, name=f"{_DATA}Tsvector"),
}
