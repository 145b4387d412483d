"""ExtractNewRecordState: the row after a change in place of the change event."""

from dataclasses import dataclass

import msgspec

from frazil.declare.definition import Key, invalid_value
from frazil.declare.validators import one_of_any_case
from frazil.pipeline.transforms.debezium_event import (
    PACKAGE,
    change_event,
    field_text,
    is_postgres,
    is_truncate,
    state,
)
from frazil.pipeline.transforms.following import Following
from frazil.pipeline.transforms.plugin import (
    OPERATION,
    OPERATIONS,
    REPLACE_NULL,
    Options,
    Problems,
    Transformation,
    items,
    text,
)
from frazil.pipeline.transforms.record import (
    NULL,
    UNNAMED,
    Apply,
    DataError,
    Json,
    Members,
    Part,
    Record,
    copied,
    identity,
    is_null,
    object_or_none,
    quoted,
    raw_bytes,
    text_of,
)
from frazil.pipeline.transforms.shapes import Optionals
from frazil.pipeline.types import STRING, Typed, inner_types

_MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
_TO_TOMBSTONE = ("tombstone", "delete-to-tombstone")
_DELETED = "__deleted"
_OF_EVENT = ("op", "ts_ms", "ts_us", "ts_ns")
_OF_TRANSACTION = ("id", "data_collection_order", "total_order")
_UPDATE_OF_MONGO = "updateDescription"
_FORMER = {
    ("true", "drop"): "drop",
    ("true", "rewrite"): "rewrite",
    ("true", "none"): "delete-to-tombstone",
    ("false", "drop"): "tombstone",
    ("false", "rewrite"): "rewrite-with-tombstone",
    ("false", "none"): "delete-to-tombstone",
}
"""Modes by the keys that were there before Debezium 3: drop.tombstones and delete.handling.mode."""
_names = msgspec.json.Decoder(frozenset[str | None]).decode


@dataclass(frozen=True)
class _Reference:
    """A field of an event that is added under `name`; it lies in `parent`, or at the top when that is empty."""

    parent: str
    field: str
    name: str
    optionals: Optionals

    def of(self, event: Members) -> Json | None:
        """Find the field, else one at the top; None when there is neither."""
        holder = event.get(self.parent) if self.parent else event
        opened = None if holder is None else object_or_none(holder)
        if opened is not None and self.parent:
            event[self.parent] = opened
        if opened is not None and self.field in opened:
            return self._noted(copied(opened[self.field]))
        if opened is None and isinstance(holder, Typed):
            type_ = dict(inner_types(holder.type)).get(self.field)
            if type_ is not None:
                return self._noted(Typed(NULL, type_))
        if self.field in event:
            return NULL if opened is None and self.parent else copied(event[self.field])
        return NULL if holder is not None and opened is None else None

    def _noted(self, value: Json) -> Json:
        """Note that a value may be null where the object that it is from may be."""
        return value if self.parent in ("", "source") else self.optionals.member(value)


def _references(options: Options, name: str) -> list[_Reference]:
    optionals = Optionals()
    return [_reference(entry, text(options, f"{name}.prefix"), optionals) for entry in items(options, name)]


def _reference(entry: str, prefix: str, optionals: Optionals) -> _Reference:
    path, _, other = entry.partition(":")
    first, *rest = path.split(".")
    if rest:
        return _Reference(first, rest[0], prefix + (other or f"{first}_{rest[0]}"), optionals)
    return _Reference(_parent(first), first, prefix + (other or first), optionals)


def _parent(field: str) -> str:
    if field in _OF_EVENT:
        return ""
    if field == _UPDATE_OF_MONGO:
        return field
    return "transaction" if field in _OF_TRANSACTION else "source"


def _build(options: Options, part: Part) -> Apply:
    """Leave what is no change event as it is; drop a truncate, unless rows follow the database."""
    mode = text(options, "delete.tombstone.handling.mode").lower()
    marks = mode.startswith("rewrite")
    follows, following = options.get(OPERATIONS) is True, Following(options)
    fields, headers = _references(options, "add.fields"), _references(options, "add.headers")
    topic_field, listed = text(options, "route.by.field"), text(options, "drop.fields.header.name")

    def apply(record: Record) -> bool | None:
        event = change_event(record)
        if event is None:
            if record.value is not None:
                return None
            record.headers += [(one.name, quoted("d")) for one in headers if one.field == "op"]
            return None if mode == "rewrite-with-tombstone" else False
        found = ((one.name, one.of(event)) for one in headers)
        record.headers += [(name, value) for name, value in found if value is not None]
        schema = identity(event.get("after"))
        schema = identity(event.get("before")) if schema == UNNAMED else schema
        after, before = state(event, "after"), state(event, "before")
        row = before if after is None else after
        if row is None and follows and mode != "drop" and is_truncate(event):
            following.truncate(record, {})
            return None
        if row is None or (after is None and mode == "drop"):
            return False
        if topic_field:
            record.topic = field_text(row, topic_field, f"{topic_field}, which gives the topic,") or record.topic
        if after is None and mode in _TO_TOMBSTONE:
            record.value = row | {OPERATION[0]: {OPERATION[1]: quoted("D")}} if follows else None
            if isinstance(record.value, dict) and is_postgres(object_or_none(event["source"]) or {}):
                following.untold(record.value)
            return None
        if marks:
            mark = quoted("true" if after is None else "false")
            row[_DELETED] = Typed(mark, STRING) if record.typed else mark
        for one in fields:
            value = one.of(event)
            if value is not None:
                _add(row, one.name, value)
        record.value_schema, record.value = schema, row
        if follows and mode in _TO_TOMBSTONE and text_of(event["op"]) == "u":
            following.update(record, row, before)
            for left in record.others if topic_field else ():
                left.topic = field_text(before or row, topic_field, f"{topic_field} of before") or left.topic
        if listed:
            names = _listed(record, listed)
            record.value = {name: value for name, value in row.items() if name not in names}
        return None

    return apply


def _add(row: Members, name: str, value: Json) -> None:
    if name in row:
        raise DataError(f"add.fields: the row has a field {name} already")
    row[name] = value


def _listed(record: Record, header: str) -> frozenset[str | None]:
    value = next((value for name, value in record.headers if name == header), None)
    if value is None or isinstance(value, bytes) or is_null(value):
        return frozenset()
    try:
        return _names(raw_bytes(value))
    except msgspec.MsgspecError:
        raise DataError(f"the header {header} is no list of names") from None


def _check(prefix: str, options: Options) -> Problems:
    for name in ("add.fields", "add.headers"):
        for entry in items(options, name):
            if entry.count(":") > 1 or not entry.partition(":")[0]:
                yield name, invalid_value(prefix + name, options[name], f"Unexpected field name: {entry}")
    yield from _former(prefix, options)
    if text(options, "drop.fields.header.name") and options.get("drop.fields.keep.schema.compatible") is True:
        name = "drop.fields.keep.schema.compatible"
        reason = "Only optional fields would go, which are not known here. With false all fields of the list go"
        yield name, invalid_value(prefix + name, True, reason)


def _former(prefix: str, options: Options) -> Problems:
    """Name the mode that former keys stand for: Debezium 3 does not read them."""
    drop, handling = (options.get(name) for name in ("drop.tombstones", "delete.handling.mode"))
    mode = _FORMER.get((str(drop or "true").lower(), str(handling or "drop").lower()))
    for name, value in (("drop.tombstones", drop), ("delete.handling.mode", handling)):
        if value is not None:
            meant = f"={mode}" if mode else ""
            reason = f"Debezium has not read it since version 3. Set {prefix}delete.tombstone.handling.mode{meant}"
            yield name, invalid_value(prefix + name, value, reason)


def _added(what: str) -> list[Key]:
    return [
        Key(
            f"add.{what}",
            "LIST",
            f"Fields of the event to be added as {what}: op, ts_ms, table, lsn, source.ts_ms, transaction.id and the "
            "like; field:name gives another name.",
            default=(),
            importance="LOW",
        ),
        Key(f"add.{what}.prefix", "STRING", f"Text before the names of these {what}.", default="__", importance="LOW"),
    ]


EXTRACT_NEW_RECORD_STATE = Transformation(
    name="ExtractNewRecordState",
    documentation="Debezium: puts the fields of after in place of the change event. Leaves other records as they are. "
    "Beside iceberg.tables.upsert-mode-enabled, a delete deletes the row where it would become a tombstone.",
    keys=(
        Key(
            "delete.tombstone.handling.mode",
            "STRING",
            "What becomes of a delete and of the tombstone behind it. drop: both go; tombstone and "
            "delete-to-tombstone: the delete becomes a tombstone, the other one goes; rewrite: the row before, and "
            "__deleted in all rows; rewrite-with-tombstone: this and the tombstone.",
            default="tombstone",
            validator=one_of_any_case(*_MODES),
        ),
        *_added("fields"),
        *_added("headers"),
        Key("route.by.field", "STRING", "Field whose text becomes the topic.", default="", importance="LOW"),
        Key(
            "drop.fields.header.name",
            "STRING",
            "Header with a list of fields to leave out, as ExtractChangedRecordState makes it.",
            default=None,
            importance="LOW",
        ),
        Key(
            "drop.fields.from.key",
            "BOOLEAN",
            "Whether to leave them out of the key too.",
            default=False,
            importance="LOW",
            no_effect="keys are not stored",
        ),
        Key(
            "drop.fields.keep.schema.compatible",
            "BOOLEAN",
            "Whether required fields stay; must be false beside drop.fields.header.name.",
            default=True,
            importance="LOW",
        ),
        REPLACE_NULL,
        Key("drop.tombstones", "STRING", "Former key; refused with the mode to set.", default=None, importance="LOW"),
        Key(
            "delete.handling.mode",
            "STRING",
            "Former key; refused with the mode to set.",
            default=None,
            importance="LOW",
        ),
    ),
    packages=PACKAGE,
    check=_check,
    build=_build,
    writes_operation=True,
    reads_headers=lambda options: bool(text(options, "drop.fields.header.name")),
)
