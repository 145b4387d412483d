"""SetSchemaMetadata: another name or version for the schema of the key or value."""

from dataclasses import replace
from typing import Any

from frazil.declare.definition import Key
from frazil.pipeline.transforms.columns import same
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, REPLACE_NULL, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import Apply, Identity, Part, Record, looked_at, members, object_or_none


def _build(options: Options, part: Part) -> Apply:
    """Leave values without a schema, and what is no object, as they are."""
    name, version = text(options, "schema.name"), options.get("schema.version")

    def apply(record: Record) -> None:
        if (part == "key" or record.typed) and object_or_none(looked_at(record, part)) is not None:
            members(record, part)
            before: Identity = getattr(record, f"{part}_schema")
            changes: dict[str, Any] = {"name": name or before.name} | ({} if version is None else {"version": version})
            setattr(record, f"{part}_schema", replace(before, **changes))

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """A name or a version."""
    if options.get("schema.name") is None and options.get("schema.version") is None:
        yield "schema.name", "Neither schema name nor version configured"


SET_SCHEMA_METADATA = Transformation(
    name="SetSchemaMetadata",
    documentation="Gives the schema of keys or values another name or version: Avro objects have them.",
    keys=(
        Key("schema.name", "STRING", "Name of the schema.", default=None, importance="HIGH"),
        Key(
            "schema.version",
            "INT",
            "Version of the schema.",
            default=None,
            importance="HIGH",
        ),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    build=_build,
    columns=lambda options: same,
    of_json=True,
)
