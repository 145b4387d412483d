"""InsertField: where a record is from, its time, or a constant as fields."""

from collections.abc import Mapping
from dataclasses import replace

from frazil.declare.definition import Key, invalid_value
from frazil.pipeline.schemas.connect import TIMESTAMP, ConnectSchema, as_optional
from frazil.pipeline.transforms.columns import ApplyToBlock, Block, Member
from frazil.pipeline.transforms.plugin import KEY_OR_VALUE, REPLACE_NULL, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import COORDINATES, Apply, Part, Record, coordinate, members, quoted, rebuilt
from frazil.pipeline.types import Scalar, Typed

_TYPES: Mapping[str, Scalar] = {
    "topic": Scalar("string", told=ConnectSchema("string").to_json()),
    "partition": Scalar("int", told=ConnectSchema("int32").to_json()),
    "offset": Scalar("long", told=ConnectSchema("int64").to_json()),
    "timestamp": Scalar(
        "timestamptz", origin=TIMESTAMP, told=ConnectSchema("int64", name=TIMESTAMP, version=1).to_json()
    ),
    "static": Scalar("string", told=ConnectSchema("string").to_json()),
}
"""Types that a record with a schema gets, where its fields are required."""


def _wanted(options: Options) -> dict[str, tuple[str, Scalar]]:
    """Give names and types of the fields, by what they hold."""
    found = {}
    for source, type_ in _TYPES.items():
        name = text(options, f"{source}.field")
        if name:
            own = type_ if name[-1] == "!" else replace(type_, told=as_optional(type_.told))
            found[source] = name[:-1] if name[-1] in ("!", "?") else name, own
    return found


def _build(options: Options, part: Part) -> Apply:
    wanted = _wanted(options)
    constant = quoted(text(options, "static.value"))

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        for source, (name, type_) in wanted.items():
            value = constant if source == "static" else coordinate(record, source)
            found[name] = Typed(value, type_) if record.typed else value
        rebuilt(record, part)

    return apply


def _columns(options: Options) -> ApplyToBlock:
    wanted = _wanted(options)

    def apply(block: Block) -> Block:
        import pyarrow as pa

        values = {
            "topic": lambda: pa.array(block.topics, pa.string()),
            "partition": lambda: block.constant(block.partition, pa.int32()),
            "offset": lambda: pa.array(block.offsets),
            "timestamp": lambda: pa.array(block.stamps),
            "static": lambda: block.constant(text(options, "static.value"), pa.string()),
        }
        added: dict[str, Member] = {name: (values[source](), type_) for source, (name, type_) in wanted.items()}
        return block.having(block.members | added)

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """Check for at least one field, and a value for the static one."""
    if not any(options.get(f"{source}.field") is not None for source in (*COORDINATES, "static")):
        yield "topic.field", "No field insertion configured"
    elif options.get("static.field") is not None and options.get("static.value") is None:
        reason = f"No value specified for static field: {options['static.field']}"
        yield "static.value", invalid_value(prefix + "static.value", None, reason)


def _field(name: str, what: str) -> Key:
    documentation = f"Name of the field for {what}. It is required with a `!` at its end; that and a `?` are dropped."
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
