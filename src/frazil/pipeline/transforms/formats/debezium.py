"""Change events of Debezium for databases with tables."""

from collections.abc import Sequence

import msgspec

from frazil.pipeline.transforms.debezium_event import is_change, is_postgres
from frazil.pipeline.transforms.formats.change import Change, Format, Operation
from frazil.pipeline.transforms.record import (
    NULL,
    DataError,
    Json,
    Members,
    Raw,
    Record,
    is_null,
    object_or_none,
    raw_bytes,
    text_of,
)

OPERATIONS: dict[str, Operation] = {"c": "I", "r": "I", "u": "U", "d": "D", "t": "T"}
_HEARTBEAT = {"ts_ms"}
_TRANSACTION = {"status", "id", "event_count", "data_collections"}
_SCHEMA_CHANGE = {"tableChanges", "databaseName"}


def is_event(value: Members) -> bool:
    """Whether an object is a change, a heartbeat, the begin or end of a transaction or a change of a schema."""
    return is_change(value) or _is_about_no_row(value)


def _is_about_no_row(event: Members) -> bool:
    """Whether it is a heartbeat, the begin or end of a transaction, a change of a schema, or a logical message."""
    names = event.keys()
    return (
        names == _HEARTBEAT
        or {"status", "id"} <= names <= {*_TRANSACTION, "ts_ms"}
        or names >= _SCHEMA_CHANGE
        or {"op", "message", "source"} <= names
    )


def operation_of(event: Members) -> Operation | None:
    """Read what an event does; None for one about no row. Raises DataError for what is unknown."""
    if not is_change(event):
        return None
    operation = text_of(event["op"])
    if operation == "m":
        return None
    told = OPERATIONS.get(operation)
    if told is None:
        raise DataError(f"op is {operation!r}, which is no operation of Debezium")
    return told


def source_name(source: Members, *names: str) -> str:
    """Write the name of a table or collection."""
    found = (source.get(name) for name in names)
    return ".".join(text_of(one) for one in found if one is not None and not is_null(one))


def _changes(event: Members, record: Record) -> Sequence[Change]:
    told = operation_of(event)
    if told is None:
        return ()
    name = "before" if told == "D" else "after"
    row = {} if told == "T" else object_or_none(event.get(name, NULL))
    if row is None:
        hint = (
            ". Events of MongoDB need frazil.cdc.format=mongo" if raw_bytes(event.get(name, NULL))[:1] == b'"' else ""
        )
        raise DataError(f"{name} is missing, or not an object, in an event with op={text_of(event['op'])}{hint}")
    source = object_or_none(event["source"]) or {}
    name = source_name(source, "db", "schema", "table")
    before = object_or_none(event.get("before", NULL)) if told == "U" else None
    at = event.get("ts_ms", NULL)
    postgres = is_postgres(source)
    position, made = _position(source) if postgres else NULL, source.get("ts_ms", NULL)
    read = text_of(event["op"]) == "r"
    return (Change(told, row, at, name, position, before, partial=postgres, at=made, read=read),)


def _position(source: Members) -> Json:
    """The event's place in the log of PostgreSQL, as `EventPosition` has it; null where it has none."""
    lsn = source.get("lsn")
    if lsn is None or is_null(lsn):
        return NULL
    sequence, told = source.get("sequence"), source.get("snapshot")
    commit = None
    if sequence is not None and not is_null(sequence):
        commit = msgspec.json.decode(text_of(sequence), type=list[str | None])[0]
    # An incremental snapshot reads rows while changes come: its rows stand between them.
    snapshot = told is not None and text_of(told) not in ("false", "incremental", "null")
    at = source.get("ts_ms", NULL)
    places = commit.encode() if commit else b"null", raw_bytes(lsn), raw_bytes(at), b"true" if snapshot else b"false"
    return Raw(b"[%b,%b,%b,%b,%b]" % (*places, raw_bytes(source.get("txId", NULL))))


DEBEZIUM_FORMAT = Format(is_event=is_event, changes=_changes)
