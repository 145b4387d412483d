"""Flatten: fields of objects at the top, under names that join those of the levels."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.declare.definition import Key
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, Options, Transformation, text
from frazil.pipeline.transforms.record import Apply, Json, Part, Record, members, object_of, raw_bytes

_OBJECT = 0x7B


def _build(options: Options, part: Part) -> Apply:
    delimiter = text(options, "delimiter")

    def lift(found: Mapping[str, Json], prefix: str, into: dict[str, Json]) -> None:
        for name, value in found.items():
            full = f"{prefix}{delimiter}{name}" if prefix else name
            if type(value) is dict:
                lift(value, full, into)
            elif raw_bytes(value)[0] == _OBJECT:
                lift(object_of(value, full), full, into)
            else:
                into[full] = value

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is not None:
            lifted: dict[str, Json] = {}
            lift(found, "", lifted)
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
