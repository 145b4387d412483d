"""Avro files from the JSON of records."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import fastavro
import msgspec
import pyarrow as pa

from frazil.connectors.objects.formats.avro_notes import noted
from frazil.connectors.objects.formats.json_tables import Refused, write_columns
from frazil.pipeline.convert import infer
from frazil.pipeline.schemas.connect import ConnectSchema
from frazil.pipeline.types import Field, List, Map, Scalar, Struct, Type

NAMESPACE, RECORD = "io.confluent.connect.avro", "ConnectDefault"
"""Names of the records of a schema without one."""
_BLOCK_BYTES = 64 << 10
_OTHER, _START = re.compile(r"[^A-Za-z0-9_.]"), re.compile(r"(?:(?<=\.)|^)(?=[0-9.]|$)")
"""Characters that the name of a schema cannot have in Avro, and places where a part of it may not begin as it does."""
_LETTER = re.compile(r"[A-Za-z0-9_]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPE = re.compile(r"_x[0-9a-f]*_")
"""Escape of a character in a name; a name that has such a part itself gets an escape for its `_`."""
_json = msgspec.json.Decoder().decode
_SCALARS: dict[str, Any] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "int", "logicalType": "time-millis"},
    "timestamptz": {"type": "long", "logicalType": "timestamp-millis"},
}
_PRIMITIVES = frozenset(one for one in _SCALARS.values() if isinstance(one, str)) | {"null"}
"""Names that no schema may have."""
Change = Callable[[Any], Any]


def write_avro(
    open_lines: Callable[[], Iterable[bytes]],
    schema: Struct | None,
    name: str | None,
    codec: str,
    out: IO[bytes],
    told: ConnectSchema | None = None,
    *,
    properties: bool = True,
) -> Refused:
    """Write a file of records; see `write_columns`. `name` is that of their schema, None when they have none.

    `told` is the Connect schema that the file's schema tells of; see `noted`.
    """

    def write(struct: Struct, tables: Iterator[pa.Table], out: IO[bytes]) -> None:
        written, change = avro_schema(struct, name)
        rows = (change(row) for table in tables for row in table.to_pylist())
        _write(out, written if told is None else noted(written, told, properties=properties), rows, codec)

    return write_columns(open_lines, schema, write, out)


def write_avro_typed(
    open_lines: Callable[[], Iterable[bytes]],
    type_: Type,
    codec: str,
    out: IO[bytes],
    told: ConnectSchema,
    *,
    properties: bool,
) -> Refused:
    """Write a file of JSON values of one type that is no record; see `write_columns` and `write_avro`."""

    def open_records() -> Iterable[bytes]:
        return [b'{"value":%s}' % line for line in open_lines()]

    def write(struct: Struct, tables: Iterator[pa.Table], out: IO[bytes]) -> None:
        written, change = _type(type_, f"{NAMESPACE}.{RECORD}")
        values = (value for table in tables for value in table.column("value").to_pylist())
        written = noted(written, told, properties=properties)
        _write(out, written, (_changed(value, change) for value in values), codec)

    return write_columns(open_records, Struct((Field("value", type_),)), write, out)


def write_avro_values(open_lines: Callable[[], Iterable[bytes]], codec: str, out: IO[bytes]) -> Refused:
    """Write a file of JSON values, which are records only when all of them are objects.

    Texts, whole numbers, fractions and booleans are what they are when all values are of one kind, and text otherwise.
    """
    found: Type | None = None
    for line in open_lines():
        found = infer.merge(found, infer.infer(line))
    if isinstance(found, Struct):
        return write_avro(open_lines, None, None, codec, out)
    kind = found.kind if isinstance(found, Scalar) and found.kind in ("boolean", "long", "double") else "string"

    def value(line: bytes) -> Any:
        parsed = _json(line)
        return parsed if kind != "string" or isinstance(parsed, str) else line.decode()

    _write(out, _SCALARS[kind], (value(line) for line in open_lines()), codec)
    return []


def _write(out: IO[bytes], schema: Any, rows: Iterator[Any], codec: str) -> None:
    """The marker between blocks follows from the schema: a random one would make another file of a replay."""
    parsed = fastavro.parse_schema(schema)
    marker = hashlib.md5(msgspec.json.encode(schema), usedforsecurity=False).digest()
    fastavro.writer(out, parsed, rows, codec=codec, sync_interval=_BLOCK_BYTES, sync_marker=marker)


def avro_schema(struct: Struct, name: str | None = None) -> tuple[dict[str, Any], Change]:
    """The schema of records, and how rows of Arrow become its records.

    Fields whose names Avro does not have carry their own in `originalName`. A record inside is named by its path.
    """
    full = _START.sub("_", _OTHER.sub("_", name)) if name else f"{NAMESPACE}.{RECORD}"
    return _record(struct, f"_{full}" if full in _PRIMITIVES else full)


def has_other_names(value: Any) -> bool:
    """Whether a value of JSON has members, at any depth, whose names differ in Avro."""
    if isinstance(value, dict):
        return any(_clean(name) != name or has_other_names(inner) for name, inner in value.items())
    return isinstance(value, list) and any(map(has_other_names, value))


def _record(struct: Struct, name: str) -> tuple[dict[str, Any], Change]:
    fields: list[dict[str, Any]] = []
    changes: list[tuple[str, str, Change | None]] = []
    for field in struct.fields:
        clean = _clean(field.name)
        type_, change = _type(field.type, f"{name}.{clean}")
        own = {} if clean == field.name else {"originalName": field.name}
        null = {} if field.required else {"default": None}
        fields.append({"name": clean, "type": _nullable(type_, field.required), **null, **own})
        changes.append((field.name, clean, change))

    def row(values: dict[str, Any]) -> dict[str, Any]:
        return {clean: _changed(values[source], change) for source, clean, change in changes}

    return {"type": "record", "name": name, "fields": fields}, row


def _changed(value: Any, change: Change | None) -> Any:
    return value if value is None or change is None else change(value)


def _type(type_: Type, name: str) -> tuple[Any, Change | None]:
    """`name` is for the records inside."""
    match type_:
        case Struct():
            return _record(type_, name)
        case List(element, required):
            items, change = _type(element, name)
            array = {"type": "array", "items": _nullable(items, required)}
            return array, None if change is None else lambda values: [_changed(value, change) for value in values]
        case Map(Scalar(kind="string"), value, required):
            values, change = _type(value, name)
            map_ = {"type": "map", "values": _nullable(values, required)}
            return map_, lambda pairs: {k: _changed(v, change) for k, v in pairs}
        case Map(key, value, required):
            return _type_of_entries(Field("key", key, required=True), Field("value", value, required), name)
        case Scalar(kind="decimal", precision=precision, scale=scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}, None
        case Scalar(kind=kind):
            return _SCALARS[kind], None


def _nullable(type_: Any, required: bool) -> Any:
    return type_ if required else ["null", type_]


def _type_of_entries(key: Field, value: Field, name: str) -> tuple[Any, Change]:
    entry, change = _record(Struct((key, value)), f"{name}.MapEntry")
    return {"type": "array", "items": entry}, lambda pairs: [change({"key": k, "value": v}) for k, v in pairs]


def _clean(name: str) -> str:
    """The name of a field in Avro, whatever other fields there are: no two names become the same.

    A character that Avro's names cannot have is `_x<hexadecimal>_`: `a-b` is `a_x2d_b`.
    """
    if _NAME.fullmatch(name) and not _ESCAPE.search(name):
        return name
    first = not name or name[0].isdigit()
    escaped = "".join(
        f"_x{ord(one):x}_" if not _LETTER.match(one) or (first and not at) or _ESCAPE.match(name, at) else one
        for at, one in enumerate(name)
    )
    return escaped or "_x_"
