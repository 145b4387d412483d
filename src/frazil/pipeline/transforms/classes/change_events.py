"""ChangeEvents: records that tell of changes in a database, as the rows that they give, with the change in `_cdc`.

It stands before a connector's transformations when `frazil.cdc.format` is set; no configuration has to name it.
"""

from __future__ import annotations

import msgspec

from frazil.declare.definition import Key
from frazil.declare.validators import one_of
from frazil.pipeline.transforms.debezium_event import TRUNCATED, is_change
from frazil.pipeline.transforms.plugin import Options, Transformation, text
from frazil.pipeline.transforms.record import (
    NULL,
    Apply,
    DataError,
    Json,
    Members,
    Part,
    Raw,
    Record,
    is_null,
    members,
    object_or_none,
    quoted,
    raw_bytes,
    text_of,
)

FORMATS = ("none", "auto", "debezium")

_OPERATIONS = {"c": "I", "r": "I", "u": "U", "d": "D"}
_HEARTBEAT = {"ts_ms"}
_TRANSACTION = {"status", "id", "event_count", "data_collections"}
_SCHEMA_CHANGE = {"tableChanges", "databaseName"}
_NO_EVENT = "is no change event of Debezium: it has no op. Set frazil.cdc.format=auto for topics with other records too"
_POSTGRES = "postgresql"


def _build(options: Options, part: Part) -> Apply:
    """The row is `after`, or `before` of a delete. Events about no row are dropped."""
    every = text(options, "format") == "debezium"

    def apply(record: Record) -> bool | None:
        event = members(record, "value")
        if event is None:
            return None
        if not is_change(event):
            if _is_about_no_row(event):
                return False
            if every:
                raise DataError(_NO_EVENT)
            return None
        operation = text_of(event["op"])
        if operation == "m":
            return False
        if operation == "t":
            raise DataError(TRUNCATED)
        told = _OPERATIONS.get(operation)
        if told is None:
            raise DataError(f"op is {operation!r}, which is no operation of Debezium")
        name = "before" if told == "D" else "after"
        row = object_or_none(event.get(name))
        if row is None:
            raise DataError(f"{name} is missing, or not an object, in an event with op={operation}")
        source = object_or_none(event["source"]) or {}
        row["_cdc"] = {
            "op": quoted(told),
            "ts": event.get("ts_ms", NULL),
            "source": quoted(".".join(_names(source))),
            "position": _position(source),
        }
        record.value = row
        return None

    return apply


def _is_about_no_row(event: Members) -> bool:
    """Whether it is a heartbeat, the begin or end of a transaction, a change of a schema, or a logical message."""
    names = event.keys()
    return (
        names == _HEARTBEAT
        or {"status", "id"} <= names <= {*_TRANSACTION, "ts_ms"}
        or names >= _SCHEMA_CHANGE
        or {"op", "message", "source"} <= names
    )


def _names(source: Members) -> list[str]:
    found = (source.get(name) for name in ("db", "schema", "table"))
    return [text_of(one) for one in found if one is not None and not is_null(one)]


def _position(source: Members) -> Json:
    """The event's place in the log of PostgreSQL, as `EventPosition` has it; null for other databases."""
    connector, lsn = source.get("connector"), source.get("lsn")
    if connector is None or lsn is None or is_null(lsn) or text_of(connector) != _POSTGRES:
        return NULL
    sequence, told = source.get("sequence"), source.get("snapshot")
    commit = None
    if sequence is not None and not is_null(sequence):
        commit = msgspec.json.decode(text_of(sequence), type=list[str | None])[0]
    # An incremental snapshot reads rows while changes come: its rows stand between them.
    snapshot = told is not None and text_of(told) not in ("false", "incremental", "null")
    at = source.get("ts_ms", NULL)
    return Raw(
        b"[%b,%b,%b,%b]"
        % (commit.encode() if commit else b"null", raw_bytes(lsn), raw_bytes(at), b"true" if snapshot else b"false")
    )


CHANGE_EVENTS = Transformation(
    name="ChangeEvents",
    documentation="Debezium's change events: puts the fields of after (before, for a delete) at the top, and op, ts, "
    "source and position into _cdc. Drops heartbeats and other records about no row.",
    keys=(Key("format", "STRING", "Which records are change events.", default="debezium", validator=one_of(*FORMATS)),),
    packages=("frazil",),
    build=_build,
    writes_operation=True,
)
