"""Avro schemas: parsed, and as the Connect schemas that Confluent's converter makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from frazil.pipeline.schemas.connect import (
    DATE,
    DECIMAL,
    FIELD_DEFAULT,
    FIELD_DOC,
    PLAIN,
    PREFIX,
    RECORD_DOC,
    TIME,
    TIMESTAMP,
    ConnectOptions,
    ConnectSchema,
    SchemaError,
    bytes_changed,
    to_base64,
)

_NAMESPACE = "io.confluent.connect.avro"
_UNION = f"{_NAMESPACE}.Union"
_ENUM = f"{_NAMESPACE}.Enum"
_MAP_ENTRY = "MapEntry"
DEFAULT_PRECISION = 64
_MOST_TYPES = 10_000
_PRIMITIVES = {
    "null": "null",
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "string": "string",
}
_MALFORMED = (KeyError, TypeError, AttributeError)
_LOGICAL = {("int", "date"): DATE, ("int", "time-millis"): TIME, ("long", "timestamp-millis"): TIMESTAMP}


@dataclass(eq=False)
class AvroType:
    """An Avro type. `kind` is its name in Avro's specification; only members of that kind are set.

    Records, enums and fixed have a full `name`. A record may be inside of itself.
    """

    kind: str
    props: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    fields: list[tuple[str, AvroType, Mapping[str, Any]]] = field(default_factory=list)
    inner: AvroType | None = None
    symbols: tuple[str, ...] = ()
    size: int = 0
    branches: list[AvroType] = field(default_factory=list)

    @property
    def is_map_entry(self) -> bool:
        """Whether it is an entry of a map whose keys are no texts."""
        named = self.name == f"{_NAMESPACE}.{_MAP_ENTRY}" or self.props.get("connect.internal.type") == _MAP_ENTRY
        return named and [name for name, *_ in self.fields] == ["key", "value"]


def parse_avro(text: str, references: Iterable[tuple[str, str]] = ()) -> AvroType:
    """Read a schema; `references` are name and text of those that it needs, each behind its own.

    Raises SchemaError for one that is no Avro schema.
    """
    names: dict[str, AvroType] = {}
    try:
        for _, other in references:
            _parse(_json(other), "", names)
        return _parse(_json(text), "", names)
    except _MALFORMED as error:
        raise SchemaError(f"it is no Avro schema: {type(error).__name__} {error}") from None
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        if text in _PRIMITIVES:  # registries keep a primitive without its quotes
            return text
        raise SchemaError(f"it is not JSON: {error}") from None


def _parse(node: Any, namespace: str, names: dict[str, AvroType]) -> AvroType:
    if isinstance(node, str):
        return _by_name(node, namespace, names)
    if isinstance(node, list):
        return AvroType("union", branches=[_parse(branch, namespace, names) for branch in node])
    kind = node["type"]
    if isinstance(kind, dict | list):
        return _parse(kind, namespace, names)
    if kind in _PRIMITIVES:
        return AvroType(kind, node)
    if kind in ("array", "map"):
        return AvroType(kind, node, inner=_parse(node["items" if kind == "array" else "values"], namespace, names))
    if kind not in ("record", "error", "enum", "fixed"):
        return _by_name(kind, namespace, names)
    name, own = _full_name(_text(node["name"]), node.get("namespace"), namespace)
    if name in names:
        raise SchemaError(f"the type {name} stands twice in it")
    made = names[name] = AvroType("record" if kind == "error" else kind, node, name)
    if kind == "enum":
        made.symbols = tuple(map(_text, node["symbols"]))
    elif kind == "fixed":
        made.size = node["size"]
        if not isinstance(made.size, int) or made.size < 0:
            raise SchemaError(f"the fixed {name} has {made.size} bytes")
    else:
        made.fields = [(_text(member["name"]), _parse(member["type"], own, names), member) for member in node["fields"]]
    return made


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise SchemaError(f"a name is no text: {name}")
    return name


def _by_name(name: str, namespace: str, names: Mapping[str, AvroType]) -> AvroType:
    if name in _PRIMITIVES:
        return AvroType(name)
    found = names.get(f"{namespace}.{name}" if namespace and "." not in name else name) or names.get(name)
    if found is None:
        raise SchemaError(f"there is no type {name} in it")
    return found


def _full_name(name: str, own: str | None, namespace: str) -> tuple[str, str]:
    """The full name of a type, and the namespace of those inside of it."""
    if "." in name:
        return name, name.rpartition(".")[0]
    space = namespace if own is None else own
    return f"{space}.{name}" if space else name, space


def avro_to_connect(type_: AvroType, options: ConnectOptions = PLAIN, version: int | None = None) -> ConnectSchema:
    """Make the Connect schema; `version` is that of its subject. Raises SchemaError for a type that Connect lacks."""
    try:
        made = _Connect(options).schema(type_, optional=False)
    except _MALFORMED as error:
        raise SchemaError(f"a property of Kafka Connect is malformed in it: {error}") from None
    if made.version is None:
        made.version = version
    return made


class _Connect:
    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._open: set[int] = set()
        self._unions = 0
        self._types = 0

    def schema(self, type_: AvroType, *, optional: bool) -> ConnectSchema:
        self._types += 1
        if self._types > _MOST_TYPES:
            raise SchemaError(f"it stands for more than {_MOST_TYPES:,} types")
        if id(type_) in self._open:
            raise SchemaError(f"{type_.name} is inside of itself, which no column can hold")
        self._open.add(id(type_))
        try:
            return self._union(type_, optional) if type_.kind == "union" else self._one(type_, optional)
        finally:
            self._open.discard(id(type_))

    def _one(self, type_: AvroType, optional: bool) -> ConnectSchema:
        props = type_.props
        made = self._bare(type_)
        made.optional = optional
        version = props.get("connect.version")
        if isinstance(version, int):
            made.version = version
        parameters = dict(made.parameters or {})
        if self._options.meta_data:
            parameters |= _documented(type_)
            parameters |= {str(key): str(value) for key, value in (props.get("connect.parameters") or {}).items()}
            made.doc = props.get("connect.doc") or made.doc
        logical = props.get("logicalType")
        if made.name is None and type_.kind in ("int", "long", "string") and isinstance(logical, str):
            parameters["logicalType"] = logical
        made.parameters = parameters or None
        name = props.get("connect.name") or (type_.name if made.name is None else None)
        if name and made.name is None and not name.startswith(f"{_NAMESPACE}.ConnectDefault"):
            made.name = name
        default = props.get("connect.default")
        if default is not None:
            _set_default(made, default)
        return made

    def _bare(self, type_: AvroType) -> ConnectSchema:
        kind, props, inner = type_.kind, type_.props, type_.inner
        logical = props.get("logicalType")
        if kind in ("bytes", "fixed"):
            size = {"connect.fixed.size": str(type_.size)} if kind == "fixed" else {}
            if logical != "decimal":
                return ConnectSchema("bytes", parameters=size)
            precision = props.get("precision", DEFAULT_PRECISION)
            known = {} if precision == DEFAULT_PRECISION else {"connect.decimal.precision": str(precision)}
            return ConnectSchema(
                "bytes", name=DECIMAL, version=1, parameters={"scale": str(props.get("scale", 0)), **known, **size}
            )
        time = _LOGICAL.get((kind, str(logical)))
        if time is not None:
            return ConnectSchema(_PRIMITIVES[kind], name=time, version=1)
        if kind == "int" and logical is None and props.get("connect.type") in ("int8", "int16"):
            return ConnectSchema(props["connect.type"])
        if kind == "null":
            raise SchemaError("a type that is null alone is nothing in Connect")
        if kind in _PRIMITIVES:
            return ConnectSchema(_PRIMITIVES[kind])
        if kind == "enum":
            mark = f"{PREFIX}Enum" if self._options.sums else _ENUM
            symbols = {
                f"{mark}.{symbol}": str(index) if self._options.sums else symbol
                for index, symbol in enumerate(type_.symbols)
            }
            return ConnectSchema("string", parameters={mark: type_.name, **symbols})
        if kind == "map" and inner is not None:
            return ConnectSchema("map", keys=ConnectSchema("string"), values=self.schema(inner, optional=False))
        if kind == "array" and inner is not None:
            if inner.is_map_entry:
                keys, values = (self.schema(member, optional=False) for _, member, _ in inner.fields)
                return ConnectSchema("map", keys=keys, values=values)
            return ConnectSchema("array", items=self.schema(inner, optional=False))
        members = []
        for name, member, declared in type_.fields:
            one = self.schema(member, optional=False)
            one.field = name
            default = declared.get("default")
            if default is not None and not (member.kind == "union" and is_plain_union(member, flatten=False)):
                if "connect.default" not in member.props:
                    one.parameters = (one.parameters or {}) | {FIELD_DEFAULT: "true"}
                _set_default(one, default)
            members.append(one)
        return ConnectSchema("struct", fields=members)

    def _union(self, type_: AvroType, optional: bool) -> ConnectSchema:
        nullable, values = split_union(type_)
        if is_plain_union(type_, flatten=self._options.flatten):
            return self.schema(values[0], optional=optional or nullable)
        members = []
        for name, branch in zip(branch_names(type_, self._options), type_.branches, strict=True):
            if branch.kind == "null":
                continue
            one = self.schema(branch, optional=True)
            one.field = name
            members.append(one)
        if len({one.field for one in members}) < len(members):
            raise SchemaError("two types of a union have the same name; enhanced.avro.schema.support gives full names")
        name = f"connect_union_{self._unions}" if self._options.sums else _UNION
        self._unions += 1
        parameters = {f"{PREFIX}Union": name} if self._options.sums else None
        return ConnectSchema("struct", optional=optional or nullable, name=name, parameters=parameters, fields=members)


def _documented(type_: AvroType) -> dict[str, str]:
    """Documentation in Avro, and the default symbol of an enum, as parameters of the Connect schema."""
    texts = {f"{FIELD_DOC}{name}": declared.get("doc") for name, _, declared in type_.fields}
    if type_.kind == "record":
        texts[RECORD_DOC] = type_.props.get("doc")
    elif type_.kind == "enum":
        name = type_.name.rpartition(".")[2]
        texts |= {f"{_NAMESPACE}.enum.{key}.{name}": type_.props.get(key) for key in ("doc", "default")}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _set_default(schema: ConnectSchema, value: Any) -> None:
    schema.default = msgspec.Raw(msgspec.json.encode(bytes_changed(schema, value, to_base64)))


def split_union(type_: AvroType) -> tuple[bool, list[AvroType]]:
    """Whether a union has null, and its other branches."""
    values = [branch for branch in type_.branches if branch.kind != "null"]
    return len(values) < len(type_.branches), values


def is_plain_union(type_: AvroType, *, flatten: bool) -> bool:
    """Whether a union is just a type that may be null, or a type alone."""
    nullable, values = split_union(type_)
    return len(values) == 1 and (nullable or flatten)


def branch_names(type_: AvroType, options: ConnectOptions) -> list[str]:
    """Names of the members that the branches of a union become, in their order."""
    if options.sums:
        return [f"connect_union_field_{index}" for index in range(len(type_.branches))]
    return [
        (branch.name if options.full_names else branch.name.rpartition(".")[2]) or branch.kind
        for branch in type_.branches
    ]
