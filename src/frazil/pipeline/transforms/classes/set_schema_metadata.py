"""SetSchemaMetadata, which changes nothing: records have no schema."""

from __future__ import annotations

from collections.abc import Iterator

from frazil.declare.definition import Key
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, REPLACE_NULL, Options, Problems, Transformation

_NO_SCHEMA = "records have no schema"


def _check(prefix: str, options: Options) -> Problems:
    """A name or a version."""
    if options.get("schema.name") is None and options.get("schema.version") is None:
        yield "schema.name", "Neither schema name nor version configured"


def _warnings(prefix: str, options: Options) -> Iterator[str]:
    yield f"{prefix}type has no effect here: {_NO_SCHEMA}"


SET_SCHEMA_METADATA = Transformation(
    name="SetSchemaMetadata",
    documentation="Names a schema. Records have no schema, so nothing changes.",
    keys=(
        Key("schema.name", "STRING", "Name of the schema.", default=None, importance="HIGH", no_effect=_NO_SCHEMA),
        Key("schema.version", "INT", "Version of the schema.", default=None, importance="HIGH", no_effect=_NO_SCHEMA),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    warnings=_warnings,
    build=None,
)
