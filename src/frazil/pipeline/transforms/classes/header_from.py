"""HeaderFrom: headers from fields."""

from frazil.declare.definition import Key
from frazil.declare.validators import one_of
from frazil.pipeline.transforms.columns import ApplyToBlock, same, without
from frazil.pipeline.transforms.plugin import (
    KEY_OR_VALUE,
    REPLACE_NULL,
    Options,
    Transformation,
    items,
    of_lists,
    pairs,
    text,
)
from frazil.pipeline.transforms.record import Apply, Part, Record, copied, members, rebuilt


def _build(options: Options, part: Part) -> Apply:
    fields, headers = items(options, "fields"), items(options, "headers")
    move = text(options, "operation") == "move"

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        record.headers += [
            (name, copied(found[field]) if field in found else None)
            for field, name in zip(fields, headers, strict=True)
        ]
        if move:
            for name in fields:
                found.pop(name, None)
            rebuilt(record, part)

    return apply


def _columns(options: Options) -> ApplyToBlock:
    if text(options, "operation") != "move":
        return same
    return lambda block: without(block, items(options, "fields"))


HEADER_FROM = Transformation(
    name="HeaderFrom",
    documentation="Moves or copies fields into headers. Headers are not stored, so a moved field is gone.",
    keys=(
        Key("fields", "LIST", "Names of the fields.", importance="HIGH"),
        Key("headers", "LIST", "Names of the headers, one for each field.", importance="HIGH"),
        Key("operation", "STRING", "move or copy.", importance="HIGH", validator=one_of("move", "copy")),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=pairs("fields", "headers"),
    build=_build,
    fields=of_lists("fields"),
    columns=_columns,
    writes_headers=True,
    of_json=True,
)
