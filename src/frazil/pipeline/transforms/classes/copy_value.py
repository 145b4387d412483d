"""CopyValue: a field of the value under another name, too."""

from frazil.declare.definition import Key
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import ICEBERG, Options, Transformation, of_texts, text
from frazil.pipeline.transforms.record import NULL, Apply, Part, Record, copied, members


def _build(options: Options, part: Part) -> Apply:
    """A field that is absent gives null."""
    source, target = text(options, "source.field"), text(options, "target.field")

    def apply(record: Record) -> None:
        found = members(record, "value")
        if found is not None:
            found[target] = copied(found.get(source, NULL))

    return apply


def _columns(options: Options) -> ApplyToBlock:
    source, target = text(options, "source.field"), text(options, "target.field")

    def apply(block: Block) -> Block:
        """Give both fields arrays of their own, so that the source counts as looked at; without it the copy is null."""
        found = block.members.get(source)
        if found is None:
            return block.having({name: member for name, member in block.members.items() if name != target})
        array, type_ = found
        return block.having(block.members | {name: (array.slice(0), type_) for name in (source, target)})

    return apply


COPY_VALUE = Transformation(
    name="CopyValue",
    documentation="Copies a field of the value to another name.",
    keys=(
        Key("source.field", "STRING", "Name of the field.", importance="HIGH"),
        Key("target.field", "STRING", "Name of the copy.", importance="HIGH"),
    ),
    packages=ICEBERG,
    build=_build,
    fields=of_texts("source.field"),
    columns=_columns,
    of_json=True,
)
