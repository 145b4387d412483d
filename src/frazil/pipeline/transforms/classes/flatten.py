"""Flatten: fields of objects at the top, under names that join those of the levels."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.declare.definition import Key
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, Options, Transformation, text
from frazil.pipeline.transforms.record import Apply, DataError, Json, Part, Record, members, object_of, raw_bytes

_OBJECT = 0x7B
_MAX_DEPTH = 100
_MAX_CHARACTERS = 1 << 24


def _build(options: Options, part: Part) -> Apply:
    delimiter = text(options, "delimiter")

    def lift(found: Mapping[str, Json], path: tuple[str, ...], into: dict[str, Json], left: int) -> int:
        """Lift members, with `left` characters for their names; give what is left then."""
        if len(path) > _MAX_DEPTH:
            raise DataError("it is nested too deeply")
        for name, value in found.items():
            inner = (*path, name) if path or name else ()
            if type(value) is dict or raw_bytes(value)[0] == _OBJECT:
                left = lift(object_of(value, name), inner, into, left)
                continue
            full = delimiter.join(inner)
            left -= len(full)
            if left < 0:
                raise DataError("the names that its fields would get are too long together")
            into[full] = value
        return left

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is not None:
            lifted: dict[str, Json] = {}
            lift(found, (), lifted, _MAX_CHARACTERS)
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
