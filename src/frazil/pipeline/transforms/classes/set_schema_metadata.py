"""SetSchemaMetadata: another name for the schema of the value."""

from __future__ import annotations

from frazil.declare.definition import Key
from frazil.pipeline.transforms.columns import same
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, REPLACE_NULL, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import Apply, Part, Record, members


def _build(options: Options, part: Part) -> Apply:
    """Leave values without a schema, and keys, as they are."""
    name = text(options, "schema.name")

    def apply(record: Record) -> None:
        if name and part == "value" and record.typed and members(record, part) is not None:
            record.name = name

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """A name or a version."""
    if options.get("schema.name") is None and options.get("schema.version") is None:
        yield "schema.name", "Neither schema name nor version configured"


SET_SCHEMA_METADATA = Transformation(
    name="SetSchemaMetadata",
    documentation="Names the schema of values: Avro objects have the name. Keys have none.",
    keys=(
        Key("schema.name", "STRING", "Name of the schema.", default=None, importance="HIGH"),
        Key(
            "schema.version",
            "INT",
            "Version of the schema.",
            default=None,
            importance="HIGH",
            no_effect="versions of schemas are not kept through transformations",
        ),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    build=_build,
    columns=lambda options: same,
    of_json=True,
)
