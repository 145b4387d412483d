"""DebeziumTransform: the row of a change event at the top, and the change in `_cdc`."""

from __future__ import annotations

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


def _build(options: Options, part: Part) -> Apply:
    """The row is `after`, or `before` of a delete; an event without it is dropped."""
    pattern = text(options, "cdc.target.pattern") or "{db}.{table}"
    following, follows = Following(options), options.get(OPERATIONS) is True

    def apply(record: Record) -> bool | None:
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
        change: dict[str, Json] = {
            "op": quoted(operation),
            "ts": event.get("ts_ms", NULL),
            "offset": Raw(b"%d" % record.offset),
            "source": quoted(f"{database}.{table}"),
            "target": quoted(pattern.replace("{db}", database).replace("{table}", table)),
        }
        key = object_or_none(record.key) if not isinstance(record.key, bytes) else None
        if key is not None:
            change["key"] = copied(key)
        row["_cdc"] = change
        record.value_schema, record.value = UNNAMED, row
        if operation == "U":
            following.update(record, row, object_or_none(event.get("before")))
        elif operation == "D" and is_postgres(source):
            following.untold(row)
        return None

    return apply


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
