"""SetSchemaMetadata, which changes nothing: names and versions of schemas are not kept."""

from __future__ import annotations

from collections.abc import Iterator

from frazil.declare.definition import Key
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, REPLACE_NULL, Options, Problems, Transformation

_NOT_KEPT = "names and versions of schemas are not kept"


def _check(prefix: str, options: Options) -> Problems:
    """A name or a version."""
    if options.get("schema.name") is None and options.get("schema.version") is None:
        yield "schema.name", "Neither schema name nor version configured"


def _warnings(prefix: str, options: Options) -> Iterator[str]:
    yield f"{prefix}type has no effect here: {_NOT_KEPT}"


SET_SCHEMA_METADATA = Transformation(
    name="SetSchemaMetadata",
    documentation="Names a schema. Names and versions of schemas are not kept, so nothing changes.",
    keys=(
        Key("schema.name", "STRING", "Name of the schema.", default=None, importance="HIGH", no_effect=_NOT_KEPT),
        Key("schema.version", "INT", "Version of the schema.", default=None, importance="HIGH", no_effect=_NOT_KEPT),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    warnings=_warnings,
    build=None,
)
