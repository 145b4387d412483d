"""ValueToKey: the key from fields of the value."""

from frazil.declare.definition import Key
from frazil.pipeline.transforms.columns import same
from frazil.pipeline.transforms.plugin import REPLACE_NULL, Options, Transformation, items, not_empty, of_lists
from frazil.pipeline.transforms.record import MADE, NULL, UNNAMED, Apply, Part, Record, copied, members


def _build(options: Options, part: Part) -> Apply:
    """The key becomes an object; absent fields are null in it."""
    names = items(options, "fields")

    def apply(record: Record) -> None:
        found = members(record, "value")
        if found is not None:
            record.key_schema = MADE if record.typed else UNNAMED
            record.key = {name: copied(found.get(name, NULL)) for name in names}

    return apply


VALUE_TO_KEY = Transformation(
    name="ValueToKey",
    documentation="Makes the key from fields of the value.",
    keys=(Key("fields", "LIST", "Names of the fields.", importance="HIGH"), REPLACE_NULL),
    check=not_empty("fields"),
    build=_build,
    fields=of_lists("fields"),
    columns=lambda options: same,
    of_json=True,
)
