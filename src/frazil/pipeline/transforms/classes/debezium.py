"""DebeziumTransform: the row of a change event at the top, and the change in `_cdc`."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import msgspec

from frazil.declare.definition import Key
from frazil.pipeline.transforms.debezium_event import is_postgres, is_truncate
from frazil.pipeline.transforms.following import Following
from frazil.pipeline.transforms.plugin import ICEBERG, OPERATIONS, Options, Transformation, text
from frazil.pipeline.transforms.record import (
    NULL,
    UNNAMED,
    Apply,
    DataError,
    Json,
    Members,
    Part,
    Raw,
    Record,
    copied,
    members,
    object_or_none,
    quoted,
    required_text,
)

_OPERATIONS = {"u": "U", "d": "D"}
_MOST_NAMES = 1024

_Change: TypeAlias = tuple[str, Members, Members | None, Json, str, str, bool]
"""Operation, row, row before it, time, database or schema, table, and whether the event is from PostgreSQL."""


class _Source(msgspec.Struct):
    """The table that a change is of."""

    table: str
    db: str | msgspec.UnsetType = msgspec.UNSET
    schema: str | msgspec.UnsetType = msgspec.UNSET
    connector: str | None = None


class _Event(msgspec.Struct):
    """A change, as far as it is looked at."""

    op: str
    source: _Source
    before: dict[str, Raw] | None = None
    after: dict[str, Raw] | None = None
    ts_ms: Raw = NULL


_event = msgspec.json.Decoder(_Event).decode


def _build(options: Options, part: Part) -> Apply:
    """The row is `after`, or `before` of a delete; an event without it is dropped."""
    pattern = text(options, "cdc.target.pattern") or "{db}.{table}"
    following, follows = Following(options), options.get(OPERATIONS) is True

    @lru_cache(_MOST_NAMES)
    def names(database: str, table: str) -> tuple[Raw, Raw]:
        target = pattern.replace("{db}", database).replace("{table}", table)
        return quoted(f"{database}.{table}"), quoted(target)

    def carry_out(record: Record, change: _Change) -> None:
        operation, row, before, ts, database, table, postgres = change
        source, target = names(database, table)
        told: dict[str, Json] = {
            "op": quoted(operation),
            "ts": ts,
            "offset": Raw(b"%d" % record.offset),
            "source": source,
            "target": target,
        }
        key = object_or_none(record.key) if not isinstance(record.key, bytes) else None
        if key is not None:
            told["key"] = copied(key)
        row["_cdc"] = told
        record.value_schema, record.value = UNNAMED, row
        if operation == "U":
            following.update(record, row, before)
        elif operation == "D" and postgres:
            following.untold(row)

    def apply(record: Record) -> bool | None:
        usual = _usual(record)
        if usual is not None:
            carry_out(record, usual)
            return None
        event = members(record, "value")
        if event is None:
            return None
        operation = _OPERATIONS.get(required_text(event, "op", "op"), "I")
        if follows and is_truncate(event):
            following.truncate(record, {})
            return None
        row = object_or_none(event.get("before" if operation == "D" else "after"))
        if row is None:
            return False
        source = object_or_none(event.get("source"))
        if source is None:
            raise DataError("source is missing, or not an object")
        database = required_text(source, "schema" if "schema" in source else "db", "source.schema or source.db")
        table = required_text(source, "table", "source.table")
        before = object_or_none(event.get("before")) if operation == "U" else None
        ts, postgres = event.get("ts_ms", NULL), is_postgres(source)
        carry_out(record, (operation, row, before, ts, database, table, postgres))
        return None

    return apply


def _usual(record: Record) -> _Change | None:
    """Read a change as Debezium writes it in JSON without a schema; None for any other record."""
    value = record.value
    if not isinstance(value, bytes) or b"\\u" in value:
        return None
    try:
        if not value.isascii():
            value.decode()
        event = _event(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    operation, source = _OPERATIONS.get(event.op, "I"), event.source
    row: Members | None = event.before if operation == "D" else event.after  # type: ignore[assignment]
    database = source.db if source.schema is msgspec.UNSET else source.schema
    if row is None or event.op == "t" or database is msgspec.UNSET:
        return None
    before: Members | None = event.before  # type: ignore[assignment]
    return operation, row, before, event.ts_ms, database, source.table, source.connector == "postgresql"


DEBEZIUM = Transformation(
    name="DebeziumTransform",
    documentation="Debezium: puts the fields of after (before, for a delete) at the top, and op, ts, offset, source, "
    "target and key into _cdc. Drops records without them.",
    keys=(
        Key(
            "cdc.target.pattern",
            "STRING",
            "What _cdc.target is; {db} and {table} are replaced.",
            default=None,
        ),
    ),
    packages=ICEBERG,
    build=_build,
    writes_operation=True,
    reads_keys=lambda options: True,
)
