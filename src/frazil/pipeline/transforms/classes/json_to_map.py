"""JsonToMapTransform: objects become maps of text, so that their names make no columns.

Whole numbers are of one type whatever their size is, up to 64 bits, and null in a list stays null, of which Kafka
Connect makes the text `null`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import msgspec

from frazil.declare.definition import Key
from frazil.pipeline.convert import infer
from frazil.pipeline.convert.strict import ConversionError, parse_object
from frazil.pipeline.transforms.plugin import ICEBERG, Options, Transformation
from frazil.pipeline.transforms.record import (
    UNNAMED,
    Apply,
    DataError,
    Json,
    Members,
    Part,
    Raw,
    Record,
    encode,
    looked_at,
    members,
    raw_bytes,
    string,
    text_of,
)
from frazil.pipeline.types import STRING, List, Map, Type, Typed

_TEXTS = Map(STRING, STRING)
_PAYLOAD = "payload"
_array = msgspec.json.Decoder(list[Raw]).decode
_object = msgspec.json.Decoder(dict[str, Raw]).decode
_list = lru_cache(maxsize=256)(List)
"""Equal types are one object, so that records with equal types are told at once."""
_Shape: TypeAlias = Type | None


def _build(options: Options, part: Part) -> Apply:
    """Build a map of everything with `json.root`, else a map of each object in the record."""
    whole = options.get("json.root") is True

    def apply(record: Record) -> None:
        found = looked_at(record, "value")
        if found is None:
            return
        if type(found) is not dict and raw_bytes(found)[0] == 0x22:
            record.value = _parsed(string(raw_bytes(found)))
        fields = members(record, "value") or {}
        record.value_schema = UNNAMED
        if whole:
            record.value = {_PAYLOAD: Typed(_texts(fields), _TEXTS)}
            return
        result: dict[str, Json] = {}
        for name, value in fields.items():
            raw = raw_bytes(value)
            if raw[0] not in b"{[":
                if raw != b"null":
                    result[name] = value
                continue
            shape = _shape(raw)
            if shape is not None:
                result[name] = Typed(_fit(raw, shape), shape)
        record.value = result

    return apply


def _parsed(text: str) -> Members:
    try:
        return parse_object(text.encode())  # type: ignore[return-value]
    except ConversionError as error:
        raise DataError(error.reason) from None


def _texts(fields: Mapping[str, Json]) -> Raw:
    return Raw(encode({name: text_of(value) for name, value in fields.items()}))


def _shape(raw: bytes) -> _Shape:
    """The type that a value gets; None for what is dropped: null, and objects and arrays without content."""
    if raw[0] == 0x7B:
        return _TEXTS if _object(raw) else None
    if raw[0] != 0x5B:
        return infer.infer(raw)
    items = [bytes(item) for item in _array(raw)]
    if not items:
        return None
    firsts = {item[0] for item in items if item != b"null"}
    if firsts == {0x7B}:
        return _list(_TEXTS)
    if firsts == {0x5B} and b"null" not in items:
        inner = [_shape(item) for item in items]
        shapes = set(inner)
        if len(shapes) > 1:
            return _list(_list(STRING))
        only = shapes.pop()
        return None if only is None else _list(only)
    if any(item[0] in b"{[" for item in items):
        return _list(STRING)
    plain = [kind for kind in {infer.infer(item) for item in items} if kind is not None]
    return _list(plain[0] if len(plain) == 1 else STRING)


def _fit(raw: bytes, shape: Type) -> Raw:
    """A value in the form of its type: maps and lists of text have texts in them."""
    if shape == _TEXTS:
        return _texts(_object(raw))
    if isinstance(shape, List):
        return Raw(encode([None if item == b"null" else _fit(item, shape.element) for item in map(bytes, _array(raw))]))
    if shape == STRING:
        return Raw(encode(text_of(Raw(raw))))
    return Raw(raw)


JSON_TO_MAP = Transformation(
    name="JsonToMapTransform",
    documentation="Makes maps of text from objects, so that changing names make no columns. Reads the texts of "
    "StringConverter, and objects too.",
    keys=(
        Key(
            "json.root",
            "BOOLEAN",
            "Whether the whole record becomes one map, payload; else each object in it becomes a map.",
            default=False,
        ),
    ),
    packages=ICEBERG,
    build=_build,
    makes_objects=True,
    makes_types=lambda options: True,
)
