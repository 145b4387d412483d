"""Change events of Debezium, which are told by their fields."""

from frazil.pipeline.transforms.record import (
    DataError,
    Json,
    Members,
    Record,
    is_null,
    looked_at,
    object_or_none,
    raw_bytes,
    text_of,
)
from frazil.pipeline.types import Scalar, Typed

PACKAGE = ("io.debezium.transforms",)
_TRUNCATE = b'"t"'


def is_change(event: Members) -> bool:
    """Whether an object is the change of a row, or of all rows, which may have neither state."""
    if "op" not in event or "source" not in event or is_null(event["op"]):
        return False
    return "after" in event or "before" in event or is_truncate(event)


def is_truncate(event: Members) -> bool:
    """Whether a change is that of all rows."""
    return raw_bytes(event["op"]) == _TRUNCATE


def is_postgres(source: Members) -> bool:
    """Whether an event is from PostgreSQL, whose deletes may have nothing but the key."""
    found = source.get("connector")
    return found is not None and text_of(found) == "postgresql"


def change_event(record: Record) -> Members | None:
    """Open the value of a record that is a change event; None for any other record."""
    value = looked_at(record, "value")
    event = None if value is None else object_or_none(value)
    if event is None or not is_change(event):
        return None
    record.value = event
    return event


def state(event: Members, name: str) -> Members | None:
    """Open the row before or after a change; None for null. Raises DataError for what is not an object."""
    found = event.get(name)
    if found is None or is_null(found):
        return None
    row = object_or_none(found)
    if row is None:
        raise DataError(f"{name} is not an object, as in events of MongoDB, which have a transformation of their own")
    return row


def field_text(row: Members, name: str, what: str) -> str:
    """Give a text of a row; empty for null. Raises DataError, which names `what`, for any other value."""
    value: Json | None = row.get(name)
    if value is None:
        raise DataError(f"{what} is missing")
    if isinstance(value, Typed) and not (isinstance(value.type, Scalar) and value.type.kind == "string"):
        raise DataError(f"{what} is no text")
    if is_null(value):
        return ""
    if raw_bytes(value)[:1] != b'"':
        raise DataError(f"{what} is no text")
    return text_of(value)
