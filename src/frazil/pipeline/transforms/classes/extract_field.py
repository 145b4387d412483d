"""ExtractField: one field in place of the whole key or value."""

from frazil.declare.definition import Key
from frazil.declare.validators import one_of_any_case
from frazil.pipeline.transforms.columns import ApplyToBlock, Block, members_of
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, REPLACE_NULL, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import NULL, Apply, Part, Record, is_null, members, object_of, replace
from frazil.pipeline.types import Struct
from frazil.text.field_path import field_path


def extracted_path(options: Options) -> tuple[str, ...]:
    """Give the names that lead to the field."""
    return field_path(text(options, "field"), text(options, "field.syntax.version")) or ("",)


def _build(options: Options, part: Part) -> Apply:
    """A field that is absent gives null."""
    *outer, last = extracted_path(options)

    def apply(record: Record) -> None:
        found = members(record, part)
        for name in outer:
            value = NULL if found is None else found.get(name, NULL)
            found = None if is_null(value) else object_of(value, name)
        replace(record, part, None if found is None else found.get(last))

    return apply


def _columns(options: Options) -> ApplyToBlock:
    path = extracted_path(options)

    def apply(block: Block) -> Block | None:
        members = block.members
        for name in path:
            array, type_ = members.get(name, (None, None))
            if array is None or not isinstance(type_, Struct) or array.null_count:
                return None
            members = members_of(array, type_)
        return block.having(members)

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """Check that the backticks in a path come in pairs, with V2."""
    try:
        field_path(text(options, "field"), text(options, "field.syntax.version"))
    except ValueError as error:
        yield "field", str(error)


EXTRACT_FIELD = Transformation(
    name="ExtractField",
    documentation="Replaces the key or value by one of its fields; null when there is no such field.",
    keys=(
        Key("field", "STRING", "Name or path of the field."),
        REPLACE_NULL,
        Key(
            "field.syntax.version",
            "STRING",
            "V1: the whole text is the name of a field of the record. V2: dots lead into objects, backticks enclose "
            "names that contain dots.",
            default="V1",
            importance="HIGH",
            validator=one_of_any_case("V1", "V2"),
        ),
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    build=_build,
    fields=lambda options: [("field", extracted_path(options))],
    columns=_columns,
)
