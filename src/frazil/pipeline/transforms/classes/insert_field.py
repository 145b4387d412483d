"""InsertField: where a record is from, its time, or a constant as fields."""

from collections.abc import Mapping

from frazil.declare.definition import Key, invalid_value
from frazil.pipeline.schemas.connect import TIMESTAMP
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, REPLACE_NULL, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import COORDINATES, Apply, Part, Record, coordinate, members, quoted
from frazil.pipeline.types import STRING, Scalar, Type, Typed

_TYPES: Mapping[str, Type] = {
    "topic": STRING,
    "partition": Scalar("int"),
    "offset": Scalar("long"),
    "timestamp": Scalar("timestamptz", origin=TIMESTAMP),
}
"""Types that a record with a schema gets."""


def _build(options: Options, part: Part) -> Apply:
    names = {source: text(options, f"{source}.field") for source in (*COORDINATES, "static")}
    wanted = {source: name[:-1] if name[-1:] in ("!", "?") else name for source, name in names.items() if name}
    static_name = wanted.pop("static", "")
    constant = quoted(text(options, "static.value")) if options.get("static.field") is not None else None

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        for source, name in wanted.items():
            value = coordinate(record, source)
            found[name] = Typed(value, _TYPES[source]) if record.typed else value
        if constant is not None:
            found[static_name] = Typed(constant, STRING) if record.typed else constant

    return apply


def _columns(options: Options) -> ApplyToBlock:
    names = {source: text(options, f"{source}.field") for source in (*COORDINATES, "static")}
    wanted = {source: name[:-1] if name[-1:] in ("!", "?") else name for source, name in names.items() if name}

    def apply(block: Block) -> Block:
        import pyarrow as pa

        values = {
            "topic": lambda: (pa.array(block.topics, pa.string()), _TYPES["topic"]),
            "partition": lambda: block.constant(block.partition, _TYPES["partition"], pa.int32()),
            "offset": lambda: (pa.array(block.offsets), _TYPES["offset"]),
            "timestamp": lambda: (pa.array(block.stamps), _TYPES["timestamp"]),
            "static": lambda: block.constant(text(options, "static.value"), STRING, pa.string()),
        }
        return block.having(block.members | {name: values[source]() for source, name in wanted.items()})

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """Check for at least one field, and a value for the static one."""
    if not any(options.get(f"{source}.field") is not None for source in (*COORDINATES, "static")):
        yield "topic.field", "No field insertion configured"
    elif options.get("static.field") is not None and options.get("static.value") is None:
        reason = f"No value specified for static field: {options['static.field']}"
        yield "static.value", invalid_value(prefix + "static.value", None, reason)


def _field(name: str, what: str) -> Key:
    documentation = f"Name of the field for {what}. A `!` or `?` at its end is dropped: fields are always optional."
    return Key(name, "STRING", documentation, default=None)


INSERT_FIELD = Transformation(
    name="InsertField",
    documentation="Adds where the record comes from, its time, or a constant.",
    keys=(
        _field("topic.field", "the topic"),
        _field("partition.field", "the partition"),
        _field("offset.field", "the offset"),
        _field("timestamp.field", "the record's timestamp in epoch milliseconds"),
        _field("static.field", "static.value"),
        Key("static.value", "STRING", "Text of the static field.", default=None),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    build=_build,
    columns=_columns,
    of_json=True,
)
