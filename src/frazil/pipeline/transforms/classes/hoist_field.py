"""HoistField: the whole key or value as a field of an object."""

from frazil.declare.definition import Key
from frazil.pipeline.transforms.columns import ApplyToBlock
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, Options, Transformation, text
from frazil.pipeline.transforms.record import (
    MADE,
    NULL,
    UNNAMED,
    Apply,
    Identity,
    Part,
    Raw,
    Record,
    looked_at,
    raw_bytes,
)
from frazil.pipeline.transforms.shapes import Shapes
from frazil.pipeline.types import Typed


def _build(options: Options, part: Part) -> Apply:
    """Hoist null as a field that is null."""
    name, shapes = text(options, "field"), Shapes()

    def apply(record: Record) -> None:
        found = looked_at(record, part)
        schema: Identity = getattr(record, f"{part}_schema")
        if schema != UNNAMED and type(found) is dict and (known := shapes.of(found, schema)) is not None:
            found = Typed(Raw(raw_bytes(found)), known)
        has_schema = isinstance(found, Typed) and found.type.told
        setattr(record, f"{part}_schema", MADE if has_schema else UNNAMED)
        setattr(record, part, {name: NULL if found is None else found})

    return apply


def _columns(options: Options) -> ApplyToBlock:
    name = text(options, "field")
    return lambda block: block.having({name: (block.struct(), block.shape)}) if block.members else None


HOIST_FIELD = Transformation(
    name="HoistField",
    documentation="Wraps the key or value in an object with one field. A tombstone becomes an object with a null.",
    keys=(Key("field", "STRING", "Name of the field."),),
    parts=KEY_OR_VALUE,
    build=_build,
    columns=_columns,
    makes_objects=True,
)
