"""Flatten: fields of objects at the top, under names that join those of the levels."""

from collections.abc import Mapping

from frazil.declare.definition import Key
from frazil.pipeline.schemas.connect import is_optional
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, Options, Transformation, text
from frazil.pipeline.transforms.record import (
    NULL,
    Apply,
    DataError,
    Identity,
    Json,
    Part,
    Raw,
    Record,
    is_null,
    members,
    object_of,
    raw_bytes,
    rebuilt,
)
from frazil.pipeline.transforms.shapes import Optionals
from frazil.pipeline.types import Struct, Typed

_OBJECT = 0x7B
_MAX_DEPTH = 100
_MAX_CHARACTERS = 1 << 24


def _build(options: Options, part: Part) -> Apply:
    delimiter, optionals = text(options, "delimiter"), Optionals()

    def lift(found: Mapping[str, Json], prefix: str, into: dict[str, Json], left: int, depth: int) -> int:
        """Lift members, with `left` characters for their names; give what is left then."""
        if depth > _MAX_DEPTH:
            raise DataError("it is nested too deeply")
        for name, value in found.items():
            full = f"{prefix}{delimiter}{name}" if prefix else name
            left -= len(full)
            if left < 0:
                raise DataError("the names that its fields would get are too long together")
            may_be_null = type(value) is Typed and isinstance(value.type, Struct) and is_optional(value.type.told)
            if type(value) is Typed and isinstance(value.type, Struct) and is_null(value):
                value = {field.name: Typed(NULL, field.type) for field in value.type.fields}
            first = bytes(value)[0] if type(value) is Raw else _OBJECT if type(value) is dict else raw_bytes(value)[0]
            if first == _OBJECT:
                inner = object_of(value, name)
                if may_be_null:
                    inner = {key: optionals.member(one) for key, one in inner.items()}
                left = lift(inner, full, into, left, depth + 1)
            else:
                into[full] = value
        return left

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is not None:
            lifted: dict[str, Json] = {}
            schema: Identity = getattr(record, f"{part}_schema")
            if schema.told and is_optional(schema.told):
                found = {name: optionals.member(one) for name, one in found.items()}
            lift(found, "", lifted, _MAX_CHARACTERS, 0)
            rebuilt(record, part)
            setattr(record, part, lifted)

    return apply


FLATTEN = Transformation(
    name="Flatten",
    documentation="Lifts the fields of objects inside objects to the top; arrays stay as they are, empty objects "
    "vanish.",
    keys=(Key("delimiter", "STRING", "Text between the names of the levels.", default="."),),
    parts=KEY_OR_VALUE,
    build=_build,
)
