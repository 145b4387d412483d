"""Records that come with a schema: the payload as JSON, and the columns that the schema stands for.

They are those of JsonConverter with `schemas.enable=true`, or of any converter that splits records like it.

The payload is read as records without a schema are, so its values are exact. What JSON of such a converter writes in
another form is rewritten first: decimals in Base64, and maps whose keys are no texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, Protocol

import msgspec
import numpy as np

from frazil.clients.kafka.headers import Headers
from frazil.pipeline.convert.base64_decimals import decimal_text
from frazil.pipeline.convert.origins import OF_JSON, with_origins, without_origins
from frazil.pipeline.convert.strict import ConversionError, UnreadableValue, parse_object
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.connect import DATE, DECIMAL, TIME, TIMESTAMP, ConnectSchema, read_schema
from frazil.pipeline.schemas.converter import Run
from frazil.pipeline.schemas.defaults import applied, filled
from frazil.pipeline.schemas.required import check_required
from frazil.pipeline.types import Field, List, Map, Scalar, ScalarKind, Struct, Type
from frazil.pipeline.values import Columns, Ints, Prepared, Values

Rewrite = Callable[[bytes], bytes]

_SCALARS: dict[str, ScalarKind] = {
    "boolean": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "binary",
}
_TIMES: dict[tuple[str, str], ScalarKind] = {
    ("int32", DATE): "date",
    ("int32", TIME): "time",
    ("int64", TIMESTAMP): "timestamptz",
}
_MAX_PRECISION = 38
_DEEPEST = 100
"""Levels of a schema: all that reads it, and what it is written with, can go through as many."""
_NOT_AN_ENVELOPE = (
    "JsonConverter with schemas.enable requires the fields schema and payload and no others. Set "
    "{}.converter.schemas.enable=false for records without the envelope"
)
_BLANKS = b" \t\r\n"
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_pairs = msgspec.json.Decoder(list[tuple[msgspec.Raw, msgspec.Raw]]).decode
_text = msgspec.json.Decoder(str).decode


class Envelope(Protocol):
    """Way in which records come with their schemas; picklable. `of_json`: values are JSON in Kafka too."""

    @property
    def of_json(self) -> bool: ...

    def split(self, value: bytes, headers: Headers, topic: str) -> tuple[bytes, bytes]:
        """Split a record into schema and payload, in JsonConverter's JSON. Raises ConversionError."""

    def runs(self, rows: Rows) -> list[Run]:
        """Read some of the records as columns; the others have to be split."""


@dataclass(frozen=True)
class JsonEnvelope:
    """JsonConverter with `schemas.enable=true`; with `schema.content`, its schema is that of all records.

    With `defaults` a null takes the default value of its schema.
    """

    schema: bytes = b""
    part: Literal["key", "value"] = "value"
    defaults: bool = True
    of_json: ClassVar[bool] = True

    def split(self, value: bytes, headers: Headers, topic: str) -> tuple[bytes, bytes]:
        """See `Envelope`."""
        schema, payload = (self.schema, value.strip(_BLANKS)) if self.schema else split(value, self.part)
        payload = filled(schema, payload) if self.defaults else payload
        check_required(schema, payload)
        return schema, payload

    def runs(self, rows: Rows) -> list[Run]:
        """See `Envelope`."""
        return []


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    payload: msgspec.Raw


_envelope = msgspec.json.Decoder(_Envelope).decode


@dataclass(frozen=True)
class _Compiled:
    type: Type
    columns: Struct | None
    rewrite: Rewrite | None


def opened(
    rows: Rows, envelope: Envelope, *, columns: bool = False
) -> tuple[Values, list[tuple[int, ConversionError]]]:
    """Take payloads and schemas out of records; give positions and reasons of those that cannot be read.

    With `columns` payloads may be columns.
    """
    made: list[Columns] = []
    left = np.ones(len(rows), bool)
    for run in envelope.runs(rows) if columns else ():
        whole = _compiled(run.schema).type
        if isinstance(whole, Struct):
            left[run.indexes] = False
            read = partial(_read, rows, envelope, run.indexes)
            made.append(Columns(struct=run.struct, shape=whole, at=run.indexes, read=read))
    payloads: list[bytes | None] = []
    shapes: list[Struct | None] = []
    kept: list[int] = []
    failed: list[tuple[int, ConversionError]] = []
    for index in np.flatnonzero(left).tolist():
        value, named = rows.values[index], () if rows.headers is None else rows.headers[index]
        payload, shape = None, None
        if value is not None:
            try:
                payload, type_ = opened_one(value, envelope, named, rows.topic)
                shape = type_ if isinstance(type_, Struct) else None
            except ConversionError as error:
                failed.append((index, error))
                continue
        payloads.append(payload)
        shapes.append(shape)
        kept.append(index)
    return Values(payloads, kept if len(kept) < len(rows) else None, shapes=shapes, columns=made), failed


def _read(rows: Rows, envelope: Envelope, indexes: Ints, numbers: Ints) -> Prepared:
    """Take payloads out of some records, those of `numbers` among the ones of `indexes`."""
    own = indexes[numbers].tolist()
    values, failed = opened(rows.take(own), envelope)
    at = [own[values.position(index)] for index in range(len(values.values))]
    return Prepared(replace(values, at=at), (), [(own[index], error) for index, error in failed])


def opened_one(value: bytes, envelope: Envelope, headers: Headers, topic: str) -> tuple[bytes, Type | None]:
    """Take the payload out of one record or key, and what its schema says that it is; None without one.

    Raises ConversionError, with an empty path, for what cannot be read.
    """
    schema, payload = envelope.split(value, headers, topic)
    if payload == b"null" or schema == b"null":
        return payload, None
    return rewritten(schema, payload), _compiled(schema, of_json=envelope.of_json).type


def split(value: bytes, part: Literal["key", "value"] = "value") -> tuple[bytes, bytes]:
    """Split a record into schema and payload, as they stand there.

    Raises UnreadableValue for a record that is no envelope.
    """
    try:
        found = _envelope(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            parse_object(value)
        except UnreadableValue:
            raise
        except ConversionError as error:
            raise UnreadableValue(error.reason) from None
        raise UnreadableValue(_NOT_AN_ENVELOPE.format(part)) from None
    return bytes(found.schema), bytes(found.payload)


def rewritten(schema: bytes, payload: bytes) -> bytes:
    """Rewrite a payload as JSON of a record without a schema: decimals are numbers, maps are objects.

    Raises UnreadableValue for a payload that is not what its schema says.
    """
    rewrite = _compiled(schema).rewrite
    return payload if rewrite is None else applied(rewrite, payload)


def columns_of(schema: bytes) -> Struct | None:
    """Make the columns of a schema, which note what it says of their values; None when it is not one of an object.

    Raises UnreadableValue for a schema that cannot be read.
    """
    return _compiled(schema).columns


def type_of(schema: bytes) -> Type:
    """Make the type that a schema stands for, with what it says of values that their JSON does not show.

    Raises UnreadableValue for a schema that cannot be read.
    """
    return _compiled(schema).type


@lru_cache(maxsize=1024)
def _compiled(schema: bytes, *, of_json: bool = False) -> _Compiled:
    try:
        parsed = read_schema(schema)
        type_, rewrite = _compile(parsed, of_json=of_json)
        columns = with_origins(without_origins(type_), type_)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise UnreadableValue(f"the schema of the record cannot be read: {error}") from None
    return _Compiled(type_, columns if isinstance(columns, Struct) else None, rewrite)


def _compile(schema: ConnectSchema, left: int = _DEEPEST, *, of_json: bool) -> tuple[Type, Rewrite | None]:
    """Make the column type of a schema, and the function that rewrites its JSON, None where nothing has to be.

    `left` levels of schemas may be inside of each other.
    """
    if not left:
        raise ValueError("it is nested too deeply")
    match schema:
        case ConnectSchema(type="struct"):
            members = {
                member.field or "": _compile(member, left - 1, of_json=of_json) for member in schema.fields or ()
            }
            fields = tuple(Field(name, type_) for name, (type_, _) in members.items())
            whole = Struct(fields, origin=schema.name or "", version=schema.version, told=schema.own_json())
            return whole, _members({name: rewrite for name, (_, rewrite) in members.items() if rewrite})
        case ConnectSchema(type="array", items=ConnectSchema() as items):
            type_, rewrite = _compile(items, left - 1, of_json=of_json)
            return List(type_, told=schema.own_json()), None if rewrite is None else _elements(rewrite)
        case ConnectSchema(type="map", keys=ConnectSchema() as keys, values=ConnectSchema() as values):
            key, key_rewrite = _compile(keys, left - 1, of_json=of_json)
            type_, rewrite = _compile(values, left - 1, of_json=of_json)
            as_it_is = str(key) == "string" and rewrite is None
            return Map(key, type_, told=schema.own_json()), None if as_it_is else _entries(key_rewrite, rewrite)
        case ConnectSchema(type="bytes", name=name, parameters=parameters) if name == DECIMAL:
            scale = int((parameters or {}).get("scale", "0"))
            if not 0 <= scale <= _MAX_PRECISION:
                raise ValueError(f"a decimal of scale {scale}")
            told = schema.own_json()
            return Scalar("decimal", precision=_MAX_PRECISION, scale=scale, told=told), _decimal(scale)
    kind = _TIMES.get((schema.type, schema.name or "")) or _SCALARS.get(schema.type)
    if kind is None:
        raise ValueError(f"there is no type {schema.type}")
    origin = schema.name or (schema.parameters or {}).get("logicalType", "")
    if of_json and kind in ("float", "double"):
        origin = OF_JSON
    return Scalar(kind, origin=origin, told=schema.own_json()), None


def _members(rewrites: dict[str, Rewrite]) -> Rewrite | None:
    if not rewrites:
        return None

    def rewrite(raw: bytes) -> bytes:
        if raw[:1] != b"{":
            return raw
        members: dict[str, Any] = _object(raw)
        for name, change in rewrites.items():
            found = members.get(name)
            if found is not None and found != b"null":
                members[name] = msgspec.Raw(change(bytes(found)))
        return msgspec.json.encode(members)

    return rewrite


def _elements(change: Rewrite) -> Rewrite:
    def rewrite(raw: bytes) -> bytes:
        if raw[:1] != b"[":
            return raw
        return msgspec.json.encode(
            [item if item == b"null" else msgspec.Raw(change(bytes(item))) for item in _array(raw)]
        )

    return rewrite


def _entries(key_change: Rewrite | None, change: Rewrite | None) -> Rewrite:
    """Rewrite a map: with other keys than texts it is an array of pairs; a key becomes its JSON text.

    Of two equal members of an object the last one wins, as everywhere in JSON; two equal keys of pairs are refused.
    """

    def rewrite(raw: bytes) -> bytes:
        if raw[:1] == b"{":
            members = dict(_object(raw))
        elif raw[:1] == b"[":
            pairs = _pairs(raw)
            members = {_key(bytes(key), key_change): value for key, value in pairs}
            if len(members) < len(pairs):
                raise ValueError("a map has a key twice")
        else:
            return raw
        if change is not None:
            members = {
                name: value if value == b"null" else msgspec.Raw(change(bytes(value)))
                for name, value in members.items()
            }
        return msgspec.json.encode(members)

    return rewrite


def _key(raw: bytes, change: Rewrite | None) -> str:
    if raw == b"null":
        raise ValueError("a key of a map is null")
    found = raw if change is None else change(raw)
    return _text(found) if found[:1] == b'"' else found.decode()


def _decimal(scale: int) -> Rewrite:
    def rewrite(raw: bytes) -> bytes:
        """Decode the Base64 of an unscaled number; a number stays as it is."""
        return decimal_text(_text(raw), scale) if raw[:1] == b'"' else raw

    return rewrite
