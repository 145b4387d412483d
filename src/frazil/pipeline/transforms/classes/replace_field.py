"""ReplaceField: fields left out, kept or renamed."""

from collections.abc import Iterator

from frazil.declare.definition import Key, invalid_value
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import (
    KEY_OR_VALUE,
    REPLACE_NULL,
    Fields,
    Options,
    Problems,
    Transformation,
    items,
    of_lists,
)
from frazil.pipeline.transforms.record import Apply, Part, Record, members, rebuilt


def _build(options: Options, part: Part) -> Apply:
    """Drop excluded fields, keep the included ones of the others, and rename those."""
    exclude, include = frozenset(items(options, "exclude")), frozenset(items(options, "include"))
    renames = dict(pair.split(":") for pair in items(options, "renames"))

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        kept = {
            renames.get(name, name): value
            for name, value in found.items()
            if name not in exclude and (not include or name in include)
        }
        rebuilt(record, part)
        setattr(record, part, kept)

    def drop(record: Record) -> None:
        found = members(record, part)
        if found is not None:
            for name in exclude:
                found.pop(name, None)
            rebuilt(record, part)

    return apply if include or renames else drop


def _columns(options: Options) -> ApplyToBlock:
    exclude, include = frozenset(items(options, "exclude")), frozenset(items(options, "include"))
    renames = dict(pair.split(":") for pair in items(options, "renames"))

    def apply(block: Block) -> Block | None:
        """Leave it to the records which of two fields is the later one, where both get one name."""
        kept = [name for name in block.members if name not in exclude and (not include or name in include)]
        members = {renames.get(name, name): block.members[name] for name in kept}
        return block.having(members) if len(members) == len(kept) else None

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """Pairs old:new."""
    entries = items(options, "renames")
    for entry in entries:
        if len(entry.split(":")) != 2 or not all(entry.split(":")):
            yield "renames", invalid_value(prefix + "renames", entries, f"Invalid rename mapping: {entry}")


def _fields(options: Options) -> Fields:
    yield from of_lists("exclude", "include")(options)
    for pair in items(options, "renames"):
        yield "renames", (pair.partition(":")[0],)


def _warnings(prefix: str, options: Options) -> Iterator[str]:
    both = set(items(options, "include")) & set(items(options, "exclude"))
    if both:
        names = ", ".join(sorted(both))
        yield f"{prefix}include names {names}, which {prefix}exclude leaves out: exclude wins"


REPLACE_FIELD = Transformation(
    name="ReplaceField",
    documentation="Leaves out, keeps or renames fields.",
    keys=(
        Key("exclude", "LIST", "Fields to leave out; wins over include.", default=()),
        Key("include", "LIST", "The only fields to keep.", default=()),
        Key("renames", "LIST", "Pairs old:new, applied to the fields that are kept.", default=()),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    warnings=_warnings,
    build=_build,
    fields=_fields,
    columns=_columns,
    of_json=True,
)
