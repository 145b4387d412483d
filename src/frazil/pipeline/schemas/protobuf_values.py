"""Values of Protobuf's well-known messages, as Kafka Connect's logical types have them."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from frazil.environment.extras import extra
from frazil.pipeline.schemas.connect import DATE, DECIMAL, TIME, TIMESTAMP, ConnectSchema, UnfitRecord

with extra("protobuf"):
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

Convert = Callable[[Any], Any]

WRAPPED = {
    f"google.protobuf.{name}Value": type_
    for name, type_ in (
        ("Double", "double"),
        ("Float", "float"),
        ("Int64", "int64"),
        ("UInt64", "int64"),
        ("Int32", "int32"),
        ("UInt32", "int64"),
        ("Bool", "boolean"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}
"""Types of the values that wrapper messages hold."""
_MEMBERS = {
    "google.protobuf.Timestamp": {"seconds": "int", "nanos": "int"},
    "google.type.Date": {"year": "int", "month": "int", "day": "int"},
    "google.type.TimeOfDay": {"hours": "int", "minutes": "int", "seconds": "int", "nanos": "int"},
    "confluent.type.Decimal": {"value": "bytes", "scale": "int"},
}
"""Fields that a message of that name has to have; a schema may have one of its own."""
_KINDS = {
    FieldDescriptor.CPPTYPE_INT32: "int",
    FieldDescriptor.CPPTYPE_INT64: "int",
    FieldDescriptor.CPPTYPE_UINT32: "int",
    FieldDescriptor.CPPTYPE_UINT64: "int",
    FieldDescriptor.CPPTYPE_STRING: "bytes",
}
_EPOCH = dt.date(1970, 1, 1).toordinal()
_MOST_SCALE = 1000
_SECONDS = -62_135_596_800, 253_402_300_799
"""0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z."""


def timestamp(value: Any) -> int:
    """Read a google.protobuf.Timestamp as milliseconds; digits after these are cut, as Kafka Connect has none."""
    seconds, nanos = value.seconds, value.nanos
    if not (_SECONDS[0] <= seconds <= _SECONDS[1] and 0 <= nanos < 1_000_000_000):
        raise UnfitRecord(f"there is no time {seconds} s and {nanos} ns")
    return int(seconds * 1000 + nanos // 1_000_000)


def date(value: Any) -> int:
    """Read a google.type.Date as days; one without a month or a day is none."""
    try:
        return dt.date(value.year, value.month, value.day).toordinal() - _EPOCH
    except ValueError as error:
        raise UnfitRecord(f"there is no day {value.year}-{value.month}-{value.day}: {error}") from None


def time_of_day(value: Any) -> int:
    """Read a google.type.TimeOfDay as milliseconds."""
    hours, minutes, seconds, nanos = value.hours, value.minutes, value.seconds, value.nanos
    fits = 0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < 1_000_000_000
    if not fits:
        raise UnfitRecord(f"there is no time {hours}:{minutes}:{seconds} and {nanos} ns")
    return int(((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos // 1_000_000)


def decimals(scale: int) -> Convert:
    """Make the function that reads a confluent.type.Decimal as the unscaled number of a scale, in bytes."""

    def read(value: Any) -> bytes:
        if not value.value:
            raise UnfitRecord("a decimal has no bytes")
        number, more = int.from_bytes(value.value, "big", signed=True), scale - value.scale
        if abs(more) > _MOST_SCALE:
            raise UnfitRecord(f"a decimal has the scale {value.scale}, and its schema {scale}")
        precision = getattr(value, "precision", 0)
        if isinstance(precision, int) and precision and len(str(abs(number))) > precision:
            raise UnfitRecord(f"a decimal has more than {precision} digits, which it says that it has")
        if more < 0:
            number, rest = divmod(number, 10**-more)
            if rest:
                raise UnfitRecord(f"a decimal has more than {scale} digits behind its point, which its schema says")
        else:
            number *= 10**more
        data: bytes = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
        return data

    return read


def logical(descriptor: Descriptor, parameters: dict[str, str]) -> tuple[ConnectSchema, Convert] | None:
    """Give schema and reader of a message that is one value to Kafka Connect; None for any other.

    `parameters` are those of the field that holds it.
    """
    wanted = _MEMBERS.get(descriptor.full_name, {})
    has = {one.name: _kind(one) for one in descriptor.fields}
    if not wanted.items() <= has.items():
        return None
    match descriptor.full_name:
        case "google.protobuf.Timestamp":
            return ConnectSchema("int64", name=TIMESTAMP, version=1), timestamp
        case "google.type.Date":
            return ConnectSchema("int32", name=DATE, version=1), date
        case "google.type.TimeOfDay":
            return ConnectSchema("int32", name=TIME, version=1), time_of_day
        case "confluent.type.Decimal":
            scale, precision = _whole(parameters.get("scale")) or 0, _whole(parameters.get("precision"))
            known = {} if precision is None else {"connect.decimal.precision": str(precision)}
            made = ConnectSchema("bytes", name=DECIMAL, version=1, parameters={"scale": str(scale), **known})
            return made, decimals(scale)
    return None


def _kind(field: FieldDescriptor) -> str:
    if field.is_repeated or field.type == FieldDescriptor.TYPE_STRING:
        return ""
    return _KINDS.get(field.cpp_type, "")


def _whole(text: str | None) -> int | None:
    """Read a number; what is none says nothing."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
