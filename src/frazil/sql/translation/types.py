"""Trino's types: names, what can be turned into what, and how the embedded engine spells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.types import IcebergType

from frazil.sql.translation.twins import distinct
from frazil.text.quoting import identifier

MOST_DIGITS = 38
_INTEGERS = {"tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19}
_NUMBERS = (*_INTEGERS, "decimal", "real", "double")
_TIMES = ("date", "timestamp", "timestamptz")
_DUCKDB = {"real": "FLOAT", "varbinary": "BLOB", "json": "VARCHAR", "unknown": "INTEGER"}
_DUCKDB |= {"interval day to second": "INTERVAL", "interval year to month": "INTERVAL"}
_ARROW = {"bool": "boolean", "int32": "integer", "int64": "bigint", "float": "real", "date32[day]": "date"}
_ARROW |= {"string": "varchar", "large_string": "varchar", "binary": "varbinary", "large_binary": "varbinary"}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


@dataclass(frozen=True)
class Type:
    """A type of Trino.

    `args` are the element, the key and value, or the fields of a nested type, `fields` the names of a row's fields.
    `precision` is that of a decimal, or the digits of a second; `zone` is the zone that a timestamp with time zone
    (`timestamptz`) is shown in.
    """

    name: str
    args: tuple[Type, ...] = ()
    fields: tuple[str, ...] = ()
    precision: int = 0
    scale: int = 0
    zone: str = "UTC"

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name in ("timestamp", "time"):
            return f"{self.name}({self.precision})"
        if self.name == "timestamptz":
            return f"timestamp({self.precision}) with time zone"
        args = [f"{name} {kind}" for name, kind in zip(self.fields, self.args, strict=False)] or map(str, self.args)
        return f"{self.name}({', '.join(args)})" if self.args else self.name

    @property
    def is_integer(self) -> bool:
        return self.name in _INTEGERS

    @property
    def is_floating(self) -> bool:
        return self.name in ("real", "double")

    @property
    def is_number(self) -> bool:
        return self.name in _NUMBERS

    @property
    def is_moment(self) -> bool:
        return self.name in _TIMES[1:]

    @property
    def is_interval(self) -> bool:
        return self.name.startswith("interval")

    @property
    def duckdb(self) -> str:
        """The embedded engine's name of the type."""
        if self.name == "decimal":
            return f"DECIMAL({self.precision},{self.scale})"
        if self.name == "timestamp" and self.precision > 6:
            return "TIMESTAMP_NS"
        inner = [arg.duckdb for arg in self.args]
        if self.name == "array":
            return f"{inner[0]}[]"
        if self.name == "map":
            return f"MAP({inner[0]}, {inner[1]})"
        if self.name == "row":
            named = zip(distinct(self.fields), inner, strict=True)
            return f"STRUCT({', '.join(f'{identifier(name)} {kind}' for name, kind in named)})"
        return _DUCKDB.get(self.name, self.name.upper())


BOOLEAN, INTEGER, BIGINT, REAL, DOUBLE = map(Type, ("boolean", "integer", "bigint", "real", "double"))
VARCHAR, VARBINARY, DATE, JSON, UNKNOWN = map(Type, ("varchar", "varbinary", "date", "json", "unknown"))
DAY_INTERVAL, MONTH_INTERVAL = Type("interval day to second"), Type("interval year to month")


def array(element: Type) -> Type:
    """The type of arrays of `element`."""
    return Type("array", (element,))


def decimal(precision: int, scale: int) -> Type:
    """A decimal type of at most 38 digits."""
    return Type("decimal", precision=max(1, min(MOST_DIGITS, precision)), scale=scale)


def timestamp(digits: int) -> Type:
    """A timestamp without a zone, with so many digits of a second."""
    return Type("timestamp", precision=digits)


def timestamptz(digits: int, zone: str = "UTC") -> Type:
    """A timestamp with time zone, with so many digits of a second."""
    return Type("timestamptz", precision=digits, zone=zone)


def text(value: str) -> str:
    """A text literal of the embedded engine; U+0001 stands apart, since it marks places in translated statements."""
    literal = "'" + value.replace("'", "''").replace("\x01", "' || chr(1) || '") + "'"
    return f"({literal})" if "\x01" in value else literal


def parse_type(spelling: str) -> Type:
    """A type from its name, like `map(varchar, array(timestamp(3)))`; `timestamptz` is with time zone."""
    spelling = re.sub(r"timestamp(\(\d+\))? with time zone", r"timestamptz\1", spelling.lower())
    tokens = iter(re.findall(r"\w+|[(),]", spelling))
    return _parse(next(tokens), tokens)[0]


def _parse(name: str, tokens: Iterator[str]) -> tuple[Type, str]:
    after = next(tokens, "")
    if after != "(":
        return Type(name.upper() if len(name) == 1 else name), after
    args: list[Type] = []
    separator = ","
    while separator == ",":
        part, separator = _parse(next(tokens), tokens)
        args.append(part)
    numbers = [int(part.name) for part in args if part.name.isdigit()]
    if numbers:
        return Type(name, precision=numbers[0], scale=numbers[1] if numbers[1:] else 0), next(tokens, "")
    return Type(name, tuple(args)), next(tokens, "")


def from_iceberg(field_type: IcebergType) -> Type:
    """The type that Trino reads an Iceberg column as."""
    return from_arrow(schema_to_pyarrow(field_type, include_field_ids=False))


def from_arrow(kind: pa.DataType) -> Type:
    """The type that Trino has for an Arrow type."""
    if isinstance(kind, pa.StructType):
        return Type("row", tuple(from_arrow(field.type) for field in kind), tuple(field.name for field in kind))
    if isinstance(kind, pa.MapType):
        return Type("map", (from_arrow(kind.key_type), from_arrow(kind.item_type)))
    if isinstance(kind, pa.ListType | pa.LargeListType):
        return array(from_arrow(kind.value_type))
    if isinstance(kind, pa.TimestampType):
        return Type("timestamptz" if kind.tz else "timestamp", precision=_DIGITS[kind.unit])
    if isinstance(kind, pa.Time64Type):
        return Type("time", precision=_DIGITS[kind.unit])
    if isinstance(kind, pa.Decimal128Type):
        return decimal(kind.precision, kind.scale)
    if isinstance(kind, pa.FixedSizeBinaryType):
        return VARBINARY
    return Type("uuid") if isinstance(kind, pa.UuidType) else Type(_ARROW.get(str(kind), str(kind)))


def from_arrow_field(field: pa.Field) -> Type:
    """The type that Trino gives a column of a metadata table; text may be marked as JSON."""
    return JSON if (field.metadata or {}).get(b"trino") == b"json" else from_arrow(field.type)


def as_decimal(number: Type) -> Type:
    """The decimal type that holds every value of an integer type; a decimal type as it is."""
    return decimal(_INTEGERS[number.name], 0) if number.is_integer else number


def common_type(left: Type, right: Type) -> Type | None:
    """The type that values of two types are compared or put together in; None when there is none."""
    if left == right or right.name == "unknown":
        return left
    if left.name == "unknown":
        return right
    if left.is_number and right.is_number:
        highest = max(left, right, key=lambda kind: _NUMBERS.index(kind.name))
        if highest.name != "decimal":
            return highest
        a, b = as_decimal(left), as_decimal(right)
        scale = max(a.scale, b.scale)
        return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    if left.name in _TIMES and right.name in _TIMES:
        later = max(left, right, key=lambda kind: _TIMES.index(kind.name))
        return replace(later, precision=max(left.precision, right.precision)) if left.zone == right.zone else None
    if left.name == right.name and left.args and len(left.args) == len(right.args) and left.fields == right.fields:
        args = [common_type(a, b) for a, b in zip(left.args, right.args, strict=True)]
        return None if None in args else replace(left, args=tuple(arg for arg in args if arg))
    return None


def coercible(given: Type, wanted: Type) -> bool:
    """Whether Trino turns a value of one type into the other without a CAST."""
    common = common_type(given, wanted)
    return common is not None and (common == wanted or (wanted.is_moment and common.name == wanted.name))
