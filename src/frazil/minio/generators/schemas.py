"""Schemas of log records for a registry, made from the columns of their tables, and the records that fit them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
from pyiceberg.types import IcebergType, ListType, LongType, MapType, NestedField, StructType, TimestamptzType

from frazil.minio.records.kinds import TableKind
from frazil.minio.records.tables import SCHEMAS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_IN_TEXT = ("details", "metadata")
"""Members of audit records that are objects, in columns of text."""


class Format(StrEnum):
    """Formats with a schema in a registry."""

    AVRO = "avro"
    PROTOBUF = "protobuf"
    JSON_SCHEMA = "json-schema"


def schema_text(kind: TableKind, form: Format) -> str:
    """Write the schema of one kind of log records."""
    name, struct = f"{kind.capitalize()}Log", SCHEMAS[kind].as_struct()
    if form is Format.PROTOBUF:
        return 'syntax = "proto3";\nimport "google/protobuf/timestamp.proto";\n' + _message(name, struct)
    return json.dumps(_avro(struct, name) if form is Format.AVRO else {"title": name, **_json_schema(struct)})


def fitted(form: Format) -> Callable[[bytes], bytes]:
    """Make the function that turns a record into JSON for its schema: objects as text, the time in milliseconds.

    Protobuf has times to the nanosecond, as the records have.
    """

    def fit(record: bytes) -> bytes:
        members: dict[str, Any] = msgspec.json.decode(record)
        for name in _IN_TEXT:
            if isinstance(members.get(name), dict):
                members[name] = msgspec.json.encode(members[name]).decode()
        if form is not Format.PROTOBUF:
            members["time"] = (datetime.fromisoformat(members["time"]) - _EPOCH) // _MILLISECOND
        return msgspec.json.encode(members)

    return fit


def _avro(type_: IcebergType, name: str) -> Any:
    match type_:
        case StructType(fields=fields):
            return {"type": "record", "name": name, "fields": [_avro_field(field) for field in fields]}
        case ListType(element_type=element):
            return {"type": "array", "items": _avro(element, name)}
        case MapType(value_type=value):
            return {"type": "map", "values": _avro(value, name)}
        case TimestamptzType():
            return {"type": "long", "logicalType": "timestamp-millis"}
    return str(type_)


def _avro_field(field: NestedField) -> dict[str, Any]:
    type_ = _avro(field.field_type, _capital(field.name))
    return {"name": field.name, **({"type": type_} if field.required else {"type": ["null", type_], "default": None})}


def _json_schema(type_: IcebergType) -> dict[str, Any]:
    match type_:
        case StructType(fields=fields):
            required = [field.name for field in fields if field.required]
            members = {field.name: _json_schema(field.field_type) for field in fields}
            return {"type": "object", "properties": members} | ({"required": required} if required else {})
        case ListType(element_type=element):
            return {"type": "array", "items": _json_schema(element)}
        case MapType(value_type=value):
            return {"type": "object", "additionalProperties": _json_schema(value)}
        case TimestamptzType():
            return {"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp", "connect.type": "int64"}
    text = str(type_)
    return {"type": "string"} if text == "string" else {"type": "integer", "connect.type": f"int{_bits(type_)}"}


def _message(name: str, struct: StructType) -> str:
    inner = [
        _message(_capital(field.name), field.field_type)
        for field in struct.fields
        if isinstance(field.field_type, StructType)
    ]
    fields = [f"{_protobuf(field)} {field.name} = {number};" for number, field in enumerate(struct.fields, 1)]
    return "\n".join([f"message {name} {{", *inner, *fields, "}"])


def _protobuf(field: NestedField) -> str:
    match field.field_type:
        case StructType():
            return _capital(field.name)
        case ListType():
            return "repeated string"
        case MapType():
            return "map<string, string>"
        case TimestamptzType():
            return "google.protobuf.Timestamp"
    text = str(field.field_type)
    return f"optional {text}" if text == "string" else f"optional int{_bits(field.field_type)}"


def _bits(type_: IcebergType) -> int:
    return 64 if isinstance(type_, LongType) else 32


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]
