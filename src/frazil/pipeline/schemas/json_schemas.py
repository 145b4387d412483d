"""JSON Schemas of a registry, as the Connect schemas that Confluent's converter makes of them, with their readers.

A reader rewrites the JSON of a record as JsonConverter writes it. It leaves numbers and texts as they are written, and
leaves out members that the schema does not name, as the converter does.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urljoin

import msgspec

from frazil.pipeline.schemas.connect import PLAIN, PREFIX, ConnectOptions, ConnectSchema, SchemaError, UnfitRecord

Raw = msgspec.Raw
Rewrite = Callable[[bytes], bytes]
Made = tuple[ConnectSchema, Rewrite | None]

_ONE_OF = "io.confluent.connect.json.OneOf"
_ENUM = "io.confluent.connect.json.Enum"
_NUMBERS = {"int8", "int16", "int32", "int64", "float32", "float64", "bytes"}
_NAMES = {"float32": "float", "float64": "double"}
_SIMPLE = {"string": "string", "boolean": "boolean", "integer": "int64", "number": "double"}
_KINDS = {0x22: "string", 0x7B: "object", 0x5B: "array", 0x74: "boolean", 0x66: "boolean", 0x6E: "null"}
_MOST_TYPES = 10_000
_CERTAIN = 1 << 30
"""Matches of a value that is of a type."""

_value = msgspec.json.Decoder(Raw).decode
_object = msgspec.json.Decoder(dict[str, Raw]).decode
_array = msgspec.json.Decoder(list[Raw]).decode
_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.encode


def json_to_connect(
    text: str, references: Iterable[tuple[str, str]] = (), options: ConnectOptions = PLAIN
) -> tuple[ConnectSchema, Callable[[bytes, int], Raw]]:
    """Make the Connect schema, and the function that reads one record from a place in its bytes to their end.

    `references` are name and text of the schemas that it needs. Raises SchemaError for a schema that cannot be used;
    the function raises UnfitRecord for bytes that are no JSON of its form.
    """
    schema, rewrite = _Compiler(text, references, options).compiled()

    def read(data: bytes, start: int) -> Raw:
        body = data[start:]
        try:
            body.decode()
            _value(body)
            return Raw(rewrite(body.strip()) if rewrite is not None else body)
        except UnicodeDecodeError as error:
            raise UnfitRecord(f"it is not UTF-8 ({error.reason})") from None
        except msgspec.MsgspecError as error:
            raise UnfitRecord(f"it is not JSON of that form: {error}") from None
        except RecursionError:
            raise UnfitRecord("it is nested too deeply") from None

    return schema, read


class _Compiler:
    def __init__(self, text: str, references: Iterable[tuple[str, str]], options: ConnectOptions) -> None:
        self._options = options
        self._documents = {"": _parsed(text), **{name: _parsed(other) for name, other in references}}
        self._open: set[int] = set()
        self._types = self._unions = 0

    def compiled(self) -> Made:
        try:
            return self._made(self._documents[""], "")
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            if isinstance(error, SchemaError):
                raise
            raise SchemaError(f"it is no JSON Schema: {type(error).__name__} {error}") from None
        except RecursionError:
            raise SchemaError("it is nested too deeply") from None

    def _made(self, node: Any, base: str) -> Made:
        self._types += 1
        if self._types > _MOST_TYPES:
            raise SchemaError(f"it stands for more than {_MOST_TYPES:,} types")
        if node is True:
            return ConnectSchema("string"), None
        if "$ref" in node:
            return self._made(*self._referred(node["$ref"], base))
        if id(node) in self._open:
            raise SchemaError("a type is inside of itself, which no column can hold")
        self._open.add(id(node))
        try:
            schema, rewrite = self._bare(node, base)
        finally:
            self._open.discard(id(node))
        schema.name = schema.name or node.get("title")
        schema.version = node.get("connect.version", schema.version)
        schema.doc = node.get("description")
        if node.get("connect.parameters"):
            schema.parameters = {**(schema.parameters or {}), **node["connect.parameters"]}
        if node.get("default") is not None:
            schema.default = Raw(_encode(node["default"]))
        return schema, rewrite

    def _referred(self, reference: str, base: str) -> tuple[Any, str]:
        document, _, path = reference.partition("#")
        name = urljoin(base, document) if document else base
        if name not in self._documents:
            name = document if document in self._documents else document.rpartition("/")[2]
        if name not in self._documents:
            raise SchemaError(f"there is no schema {document} among its references")
        found = self._documents[name]
        for part in filter(None, path.split("/")):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        return found, name

    def _bare(self, node: Mapping[str, Any], base: str) -> Made:
        type_, connect = node.get("type"), node.get("connect.type")
        for several in ("oneOf", "anyOf"):
            if several in node:
                return self._union(node[several], base)
        if "allOf" in node:
            return self._all(node, base)
        if isinstance(type_, list):
            return self._union([{**node, "type": one} for one in type_], base)
        if ("enum" in node or "const" in node) and type_ in (None, "string"):
            return _enum(node.get("enum", [node.get("const")]), sums=self._options.sums), None
        if type_ in ("integer", "number") and connect in _NUMBERS:
            return ConnectSchema(_NAMES.get(connect, connect)), None
        if type_ == "string" and connect == "bytes":
            return ConnectSchema("bytes"), None
        if type_ in _SIMPLE:
            return ConnectSchema(_SIMPLE[type_]), None
        if type_ == "array":
            return self._array(node, base)
        if type_ == "object" or "properties" in node:
            return self._object(node, base)
        if type_ is None:  # anything at all: its JSON
            return ConnectSchema("string"), None
        if type_ == "null":
            raise SchemaError("a type that is null alone is nothing in Connect")
        known = ", ".join((*_SIMPLE, "array", "object"))
        raise SchemaError(f"JSON Schema has no type {type_}; there are null, {known}")

    def _array(self, node: Mapping[str, Any], base: str) -> Made:
        items = node.get("items")
        if not isinstance(items, dict):
            raise SchemaError("an array does not say the type of its items")
        if node.get("connect.type") == "map":
            (keys, _), (values, change) = (self._made(items["properties"][name], base) for name in ("key", "value"))
            return ConnectSchema("map", keys=keys, values=values), _pairs(change, as_object=keys.type == "string")
        inner, change = self._made(items, base)
        return ConnectSchema("array", items=inner), None if change is None else _elements(change)

    def _object(self, node: Mapping[str, Any], base: str) -> Made:
        more, properties = node.get("additionalProperties"), node.get("properties") or {}
        if node.get("connect.type") == "map" or (isinstance(more, dict) and not properties):
            values, change = self._made(more, base)
            return ConnectSchema("map", keys=ConnectSchema("string"), values=values), (
                None if change is None else _values(change)
            )
        return self._struct(properties, base)

    def _struct(self, properties: Mapping[str, Any], base: str) -> Made:
        def place(entry: tuple[int, tuple[str, Any]]) -> int:
            index, (_, node) = entry
            return int(node.get("connect.index", index)) if isinstance(node, dict) else index

        fields, changes = [], {}
        for _, (name, node) in sorted(enumerate(properties.items()), key=place):
            made, changes[name] = self._made(node, base)
            made.field = name
            fields.append(made)
        return ConnectSchema("struct", fields=fields), _members(changes)

    def _all(self, node: Mapping[str, Any], base: str) -> Made:
        """Put the properties of objects together; of other types the first one counts."""
        properties: dict[str, Any] = dict(node.get("properties") or {})
        for part in node["allOf"]:
            found, where = (part, base) if "$ref" not in part else self._referred(part["$ref"], base)
            if "properties" not in found:
                if "type" in found and found["type"] != "object":
                    return self._made(found, where)
                continue
            properties |= found["properties"]
            base = where
        return self._struct(properties, base)

    def _union(self, branches: list[Any], base: str) -> Made:
        made = [None if one == {"type": "null"} or _is_null(one) else self._made(one, base) for one in branches]
        values = [one for one in made if one is not None]
        optional = len(values) < len(made)
        if len(values) == 1 and (optional or self._options.flatten):
            schema, change = values[0]
            schema.optional = schema.optional or optional
            return schema, change
        name = f"connect_union_{self._unions}" if self._options.sums else _ONE_OF
        self._unions += 1
        prefix = "connect_union_field_" if self._options.sums else f"{name}.field."
        for index, (schema, _) in enumerate(values):
            schema.optional, schema.field = True, f"{prefix}{index}"
        parameters = {f"{PREFIX}Union": name} if self._options.sums else None
        fields = [schema for schema, _ in values]
        union = ConnectSchema("struct", optional=optional, name=name, parameters=parameters, fields=fields)
        return union, _choice(values)


def _parsed(text: str) -> Any:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SchemaError(f"it is not JSON: {error}") from None
    if not isinstance(found, dict) and found is not True:
        raise SchemaError("it is no JSON Schema: it is no object")
    return found


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


def _enum(values: list[Any], *, sums: bool) -> ConnectSchema:
    texts = [one if isinstance(one, str) else _encode(one).decode() for one in values]
    if sums:
        mark = f"{PREFIX}Enum"
        return ConnectSchema("string", parameters={mark: "", **{f"{mark}.{t}": str(i) for i, t in enumerate(texts)}})
    return ConnectSchema("string", parameters={_ENUM: "", **{f"{_ENUM}.{text}": text for text in texts}})


def _kind(raw: bytes) -> str:
    return _KINDS.get(raw[0], "number")


def _members(changes: Mapping[str, Rewrite | None]) -> Rewrite:
    to_change = {name: change for name, change in changes.items() if change is not None}
    known = changes.keys()

    def rewrite(raw: bytes) -> bytes:
        if raw == b"null":
            return raw
        found = _object(raw)
        if not to_change and found.keys() <= known:
            return raw
        kept = {name: value for name, value in found.items() if name in known}
        for name, change in to_change.items():
            value = kept.get(name)
            if value is not None and value != b"null":
                kept[name] = Raw(change(bytes(value)))
        return _encode(kept)

    return rewrite


def _values(change: Rewrite) -> Rewrite:
    return lambda raw: _encode({name: _changed(value, change) for name, value in _object(raw).items()})


def _elements(change: Rewrite) -> Rewrite:
    return lambda raw: _encode([_changed(value, change) for value in _array(raw)])


def _pairs(change: Rewrite | None, *, as_object: bool) -> Rewrite:
    """Rewrite a map from objects with `key` and `value` to pairs, or to one object where its keys are texts."""

    def rewrite(raw: bytes) -> bytes:
        pairs = []
        for entry in map(_object, map(bytes, _array(raw))):
            if entry.keys() != {"key", "value"}:
                raise UnfitRecord("an entry of a map has other members than key and value")
            pairs.append((entry["key"], _changed(entry["value"], change)))
        if not as_object:
            return _encode(pairs)
        members = {_text(bytes(key)): value for key, value in pairs}
        if len(members) < len(pairs):
            raise UnfitRecord("a map has a key twice")
        return _encode(members)

    return rewrite


def _changed(value: Raw, change: Rewrite | None) -> Raw:
    return value if change is None or value == b"null" else Raw(change(bytes(value)))


def _choice(branches: list[Made]) -> Rewrite:
    """Rewrite a value as a struct whose one member is the type that the value is of, chosen as Connect does it."""

    empty = {schema.field: None for schema, _ in branches}

    def rewrite(raw: bytes) -> bytes:
        best, most = None, 0
        for schema, change in branches:
            matches = _matches(schema, raw)
            if matches > most:
                best, most = (schema, change), matches
            if matches and schema.type != "struct":
                break
        if best is None:
            raise UnfitRecord("a value is of none of the types that a oneOf has")
        schema, change = best
        return _encode({**empty, schema.field: Raw(raw if change is None else change(raw))})

    return rewrite


def _matches(schema: ConnectSchema, raw: bytes) -> int:
    """Count how well a value fits a type: the members that a struct knows, more than any for another type."""
    kind = _kind(raw)
    if schema.type == "struct":
        if kind != "object":
            return 0
        found, fields = _object(raw), {one.field: one for one in schema.fields or ()}
        inside = [(fields[name], bytes(value)) for name, value in found.items() if name in fields]
        return len(inside) + sum(_matches(one, value) for one, value in inside if one.type == "struct")
    whole = kind == "number" and not any(mark in raw for mark in b".eE")
    fits = {
        "string": kind == "string",
        "boolean": kind == "boolean",
        "array": kind == "array",
        "map": kind in ("object", "array"),
        "bytes": kind == "number",
        "float": kind == "number",
        "double": kind == "number",
    }
    return _CERTAIN if fits.get(schema.type, whole) else 0
