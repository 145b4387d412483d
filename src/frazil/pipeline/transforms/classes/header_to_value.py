"""HeaderToValue: headers as fields."""

from frazil.declare.definition import Key
from frazil.declare.validators import one_of
from frazil.pipeline.transforms.debezium_event import PACKAGE
from frazil.pipeline.transforms.plugin import Options, Transformation, items, pairs, text
from frazil.pipeline.transforms.record import (
    NULL,
    Apply,
    Json,
    Members,
    Part,
    Record,
    copied,
    is_null,
    members,
    object_of,
)


def _build(options: Options, part: Part) -> Apply:
    """Take the last one of several headers with one name."""
    wanted = dict(zip(items(options, "headers"), items(options, "fields"), strict=True))
    move = text(options, "operation") == "move"

    def apply(record: Record) -> None:
        found = members(record, "value")
        if found is None:
            return
        for name, value in record.headers:
            if name in wanted:
                given = NULL if value is None or isinstance(value, bytes) else copied(value)
                _put(found, wanted[name].split("."), given)
        if move:
            record.headers = [header for header in record.headers if header[0] not in wanted]

    return apply


def _put(into: Members, path: list[str], value: Json) -> None:
    """Set a field, and make the objects on its way. Raises DataError where one of them is something else."""
    *outer, last = path
    for name in outer:
        inner = into.get(name)
        opened: Members = {} if inner is None or is_null(inner) else object_of(inner, name)
        into[name] = opened
        into = opened
    into[last] = value


HEADER_TO_VALUE = Transformation(
    name="HeaderToValue",
    documentation="Debezium: puts the values of headers into fields. What SimpleHeaderConverter reads as a number, an "
    "array and the like is one; everything else is text.",
    keys=(
        Key("headers", "LIST", "Names of the headers.", importance="HIGH"),
        Key("fields", "LIST", "Names of the fields, one for each header; dots lead into objects.", importance="HIGH"),
        Key("operation", "STRING", "move or copy.", importance="HIGH", validator=one_of("move", "copy")),
    ),
    packages=PACKAGE,
    check=pairs("headers", "fields"),
    build=_build,
    reads_headers=lambda options: True,
)
