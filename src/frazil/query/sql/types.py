"""Trino's types: names, what can be turned into what, and how the embedded engine spells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyiceberg.types import DecimalType, IcebergType, ListType, MapType, StructType

MOST_DIGITS = 38
#: The zone of moments of which each may be shown in another zone; only their order is known then.
SEVERAL_ZONES = ""
_INTEGERS = {"tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19}
_NUMERIC_ORDER = ("tinyint", "smallint", "integer", "bigint", "decimal", "real", "double")
_DUCKDB = {
    "real": "FLOAT",
    "varbinary": "BLOB",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "interval day to second": "INTERVAL",
    "interval year to month": "INTERVAL",
    "json": "VARCHAR",
    # a NULL of no known type
    "unknown": "INTEGER",
}
_ICEBERG = {
    "int": "integer",
    "long": "bigint",
    "float": "real",
    "string": "varchar",
    "time": "time(6)",
    "timestamp": "timestamp(6)",
    "timestamptz": "timestamptz(6)",
    "timestamp_ns": "timestamp(9)",
    "timestamptz_ns": "timestamptz(9)",
    "binary": "varbinary",
}
_ARROW = {
    "bool": "boolean",
    "int32": "integer",
    "int64": "bigint",
    "float": "real",
    "string": "varchar",
    "large_string": "varchar",
    "date32[day]": "date",
    "binary": "varbinary",
    "large_binary": "varbinary",
}


@dataclass(frozen=True)
class Type:
    """A type of Trino.

    `args` are the element, the key and value, or the fields of a nested type, `fields` the names of a row's fields
    ("" for one without). `precision` is that of a decimal, or the digits of a second; `zone` is the zone that a
    timestamp with time zone (`timestamptz`) is shown in.
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
        if self.name == "row":
            named = zip(self.fields, self.args, strict=True)
            return "row(" + ", ".join(f"{name} {kind}" if name else str(kind) for name, kind in named) + ")"
        return f"{self.name}({', '.join(map(str, self.args))})" if self.args else self.name

    @property
    def is_integer(self) -> bool:
        return self.name in _INTEGERS

    @property
    def is_floating(self) -> bool:
        return self.name in ("real", "double")

    @property
    def is_number(self) -> bool:
        return self.name in _NUMERIC_ORDER

    @property
    def is_moment(self) -> bool:
        return self.name in ("timestamp", "timestamptz")

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
        if self.name == "array":
            return f"{self.args[0].duckdb}[]"
        if self.name == "map":
            return f"MAP({self.args[0].duckdb}, {self.args[1].duckdb})"
        if self.name == "row":
            named = zip(self.fields, self.args, strict=True)
            return "STRUCT(" + ", ".join(f"{quoted(name)} {kind.duckdb}" for name, kind in named) + ")"
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


def quoted(name: str) -> str:
    """An identifier of the embedded engine."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text literal of the embedded engine; U+0001 stands apart, since it marks places in translated statements."""
    literal = "'" + value.replace("'", "''").replace("\x01", "' || chr(1) || '") + "'"
    return f"({literal})" if "\x01" in value else literal


def parse_type(spelling: str) -> Type:
    """A type from its name, like `map(varchar, array(timestamp(3)))`; `timestamptz` is with time zone."""
    tokens = iter(re.findall(r"[A-Za-z_][A-Za-z0-9_]*|\d+|[(),]", spelling))
    return _parse(next(tokens), tokens)[0]


def _parse(name: str, tokens: Iterator[str]) -> tuple[Type, str]:
    after = next(tokens, "")
    if after != "(":
        return Type(name), after
    args: list[Type] = []
    separator = ","
    while separator == ",":
        part, separator = _parse(next(tokens), tokens)
        args.append(part)
    numbers = [int(part.name) for part in args if part.name.isdigit()]
    if numbers:
        return Type(name, precision=numbers[0], scale=numbers[1] if len(numbers) > 1 else 0), next(tokens, "")
    return Type(name, tuple(args)), next(tokens, "")


def from_iceberg(field_type: IcebergType) -> Type:
    """The type that Trino reads an Iceberg column as."""
    if isinstance(field_type, StructType):
        kinds = tuple(from_iceberg(field.field_type) for field in field_type.fields)
        return Type("row", kinds, tuple(field.name for field in field_type.fields))
    if isinstance(field_type, MapType):
        return Type("map", (from_iceberg(field_type.key_type), from_iceberg(field_type.value_type)))
    if isinstance(field_type, ListType):
        return array(from_iceberg(field_type.element_type))
    if isinstance(field_type, DecimalType):
        return decimal(field_type.precision, field_type.scale)
    name = str(field_type)
    return VARBINARY if name.startswith("fixed") else parse_type(_ICEBERG.get(name, name))


def from_arrow(kind: pa.DataType) -> Type:
    """The type that Trino has for an Arrow type."""
    if isinstance(kind, pa.StructType):
        return Type("row", tuple(from_arrow(field.type) for field in kind), tuple(field.name for field in kind))
    if isinstance(kind, pa.MapType):
        return Type("map", (from_arrow(kind.key_type), from_arrow(kind.item_type)))
    if isinstance(kind, pa.ListType | pa.LargeListType):
        return array(from_arrow(kind.value_type))
    if isinstance(kind, pa.TimestampType):
        return Type("timestamptz" if kind.tz else "timestamp", precision={"ms": 3, "us": 6, "ns": 9}[kind.unit])
    if isinstance(kind, pa.Decimal128Type):
        return decimal(kind.precision, kind.scale)
    return Type(_ARROW.get(str(kind), str(kind)))


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
        return _common_number(left, right)
    if left.name != right.name:
        order = ("date", "timestamp", "timestamptz")
        if left.name in order and right.name in order:
            later = max(left, right, key=lambda kind: order.index(kind.name))
            zone = later.zone if later.name != "timestamptz" or later.zone == "UTC" else SEVERAL_ZONES
            return replace(later, precision=max(left.precision, right.precision), zone=zone)
        return None
    if left.name in ("timestamp", "timestamptz", "time"):
        zone = left.zone if left.zone == right.zone else SEVERAL_ZONES
        return replace(left, precision=max(left.precision, right.precision), zone=zone)
    if left.args and len(left.args) == len(right.args):
        args = [common_type(a, b) for a, b in zip(left.args, right.args, strict=True)]
        fields = tuple(a if a == b else "" for a, b in zip(left.fields, right.fields, strict=True))
        return None if None in args else Type(left.name, tuple(arg for arg in args if arg), fields)
    return left if left.name == right.name and not left.args else None


def _common_number(left: Type, right: Type) -> Type:
    highest = max(left, right, key=lambda kind: _NUMERIC_ORDER.index(kind.name))
    if highest.name != "decimal":
        return highest
    left, right = as_decimal(left), as_decimal(right)
    scale = max(left.scale, right.scale)
    return decimal(max(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def coercible(given: Type, wanted: Type) -> bool:
    """Whether Trino turns a value of one type into the other without a CAST."""
    if given == wanted or given.name == "unknown":
        return True
    common = common_type(given, wanted)
    if common is None:
        return False
    if wanted.is_moment or wanted.name == "time":
        return common.name == wanted.name
    return common == wanted or (wanted.name == "row" and common.args == wanted.args)
