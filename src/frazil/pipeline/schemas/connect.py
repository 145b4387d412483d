"""Schemas as Kafka Connect has them, in the form that JsonConverter writes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

PREFIX = "org.apache.kafka.connect.data."
DECIMAL, DATE, TIME, TIMESTAMP = f"{PREFIX}Decimal", f"{PREFIX}Date", f"{PREFIX}Time", f"{PREFIX}Timestamp"

FIELD_DEFAULT = "io.confluent.connect.avro.field.default"
"""Parameter of a schema whose default value is that of its field in Avro."""
RECORD_DOC, FIELD_DOC = "io.confluent.connect.avro.record.doc", "io.confluent.connect.avro.field.doc."
"""Parameters of structs with what Avro has in `doc`; the name of the field follows."""


class SchemaError(ValueError):
    """A schema that cannot be used; the text says why."""


class UnfitRecord(ValueError):
    """Bytes that are not what their schema says; the text says why."""


@dataclass(frozen=True)
class ConnectOptions:
    """Keys of converters that change Connect schemas of unions and enums.

    `full_names` is `enhanced.avro.schema.support`, `sums` is `generalized.sum.type.support`, `meta_data` is
    `connect.meta.data`, `flatten` is `flatten.singleton.unions`.
    """

    full_names: bool = False
    sums: bool = False
    meta_data: bool = True
    flatten: bool = True


PLAIN = ConnectOptions()


@dataclass(frozen=True)
class ProtobufOptions:
    """Keys of the converter of Protobuf that change Connect schemas and values.

    `full_names` is `enhanced.protobuf.schema.support`, `sums` is `generalized.sum.type.support`, `int_for_enums` is
    `int.for.enums`, `optional_for_nullables` and the like are the keys with dots, `raw_primitives` is
    `wrapper.for.raw.primitives`, `struct_for_nulls` and `index_for_unions` are those with `generate.` before them.
    """

    full_names: bool = False
    sums: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    raw_primitives: bool = True
    struct_for_nulls: bool = False
    index_for_unions: bool = True
    flatten_unions: bool = False


class ConnectSchema(msgspec.Struct, omit_defaults=True):
    """A schema; members of a struct have `field`. `default` is JSON, as values are written.

    As for Kafka Connect, an `optional` that is no boolean and a `doc` that is no text are no reason to refuse a record.
    """

    type: str
    optional: object = False
    name: str | None = None
    version: int | None = None
    doc: object = None
    default: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    field: str | None = None
    parameters: dict[str, str] | None = None
    fields: list[ConnectSchema] | None = None
    items: ConnectSchema | None = None
    keys: ConnectSchema | None = None
    values: ConnectSchema | None = None

    def to_json(self) -> bytes:
        """Write the schema as JsonConverter does, so that equal schemas have the same text."""
        return msgspec.json.encode(self)

    def own_json(self) -> bytes:
        """Write the schema without those inside of it, and without the name of its field."""
        return msgspec.structs.replace(self, field=None, fields=None, items=None, keys=None, values=None).to_json()


def is_optional(text: bytes) -> bool:
    """Whether the JSON of a schema, or nothing, says that values may be null."""
    return not text or as_optional(text) == text


def as_optional(text: bytes) -> bytes:
    """Make the JSON of a schema, or nothing, say that values may be null."""
    return _optional(text) if text else text


@lru_cache(maxsize=4096)
def _optional(text: bytes) -> bytes:
    return msgspec.structs.replace(read_schema(text), optional=True).to_json()


@lru_cache(maxsize=4096)
def as_required(text: bytes) -> bytes:
    """Make the JSON of a schema, or nothing, say that values may not be null, and nothing of a default value."""
    schema = read_schema(text) if text else None
    if schema is None or (schema.optional is not True and schema.default is msgspec.UNSET):
        return text
    return msgspec.structs.replace(schema, optional=False, default=msgspec.UNSET).to_json()


read_schema = msgspec.json.Decoder(ConnectSchema).decode
"""Read the JSON of a valid schema."""


def bytes_changed(schema: ConnectSchema, value: Any, change: Callable[[str], str]) -> Any:
    """Change the texts that stand for bytes in a default value; what is of another kind than its schema stays."""
    match schema, value:
        case ConnectSchema(type="bytes"), str():
            return change(value)
        case ConnectSchema(type="array", items=ConnectSchema() as items), list():
            return [bytes_changed(items, one, change) for one in value]
        case ConnectSchema(type="map", values=ConnectSchema() as values), dict():
            return {key: bytes_changed(values, one, change) for key, one in value.items()}
        case ConnectSchema(type="struct", fields=list() as fields), dict():
            return value | {
                one.field: bytes_changed(one, value[one.field], change) for one in fields if one.field in value
            }
        case _:
            return value


def to_base64(text: str) -> str:
    """Write bytes as JsonConverter does, from a text as Avro has it in default values."""
    return base64.b64encode(text.encode("latin-1", "replace")).decode()


def from_base64(text: str) -> str:
    """Write bytes as Avro does in default values, from a text of JsonConverter."""
    return base64.b64decode(text).decode("latin-1")
