"""The Iceberg sink's transformations of change events (iceberg-sink.md 4): the row at the top, the change in `_cdc`."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.declare.definition import Value
from frazil.pipeline.transforms.record import (
    NULL,
    Apply,
    DataError,
    Json,
    Members,
    Part,
    Raw,
    Record,
    copied,
    is_null,
    members,
    object_of,
    quoted,
    raw_bytes,
    text_of,
)
from frazil.pipeline.transforms.rules import text

_CDC = "_cdc"
_DMS = {"update": "U", "delete": "D"}
_DEBEZIUM = {"u": "U", "d": "D"}


def dms(options: Mapping[str, Value], part: Part) -> Apply:
    """AWS DMS: `data` at the top (S02); a record without `data` and `metadata` objects is dropped."""

    def apply(record: Record) -> bool | None:
        event = members(record, "value")
        if event is None:
            return None
        data, metadata = _object(event.get("data")), _object(event.get("metadata"))
        if data is None or metadata is None:
            return False
        operation = _required(metadata, "operation", "metadata.operation")
        source = f"{_text(metadata, 'schema-name')}.{_text(metadata, 'table-name')}"
        data[_CDC] = {
            "op": quoted(_DMS.get(operation, "I")),
            "ts": metadata.get("timestamp", NULL),
            "source": quoted(source),
        }
        record.value = data
        return None

    return apply


def debezium(options: Mapping[str, Value], part: Part) -> Apply:
    """Debezium: `after`, or `before` of a delete, at the top (S03); a record without it is dropped."""
    pattern = text(options, "cdc.target.pattern") or "{db}.{table}"

    def apply(record: Record) -> bool | None:
        event = members(record, "value")
        if event is None:
            return None
        operation = _DEBEZIUM.get(_required(event, "op", "op"), "I")
        row = _object(event.get("before" if operation == "D" else "after"))
        if row is None:
            return False
        source = _object(event.get("source"))
        if source is None:
            raise DataError("source is missing, or not an object")
        database = _required(source, "schema" if "schema" in source else "db", "source.schema or source.db")
        table = _required(source, "table", "source.table")
        change: dict[str, Json] = {
            "op": quoted(operation),
            "ts": event.get("ts_ms", NULL),
            "offset": Raw(b"%d" % record.offset),
            "source": quoted(f"{database}.{table}"),
            "target": quoted(pattern.replace("{db}", database).replace("{table}", table)),
        }
        key = _object(record.key) if record.key is not None and not isinstance(record.key, bytes) else None
        if key is not None:
            change["key"] = copied(key)
        row[_CDC] = change
        record.value = row
        return None

    return apply


def _object(value: Json | None) -> Members | None:
    """The members of an object, which may be changed; None for anything else."""
    return object_of(value, "") if value is not None and raw_bytes(value)[0] == 0x7B else None


def _required(found: Members, name: str, path: str) -> str:
    value = found.get(name)
    if value is None or is_null(value):
        raise DataError(f"{path} is missing")
    return text_of(value)


def _text(found: Members, name: str) -> str:
    return _required(found, name, f"metadata.{name}")
