"""Events as the tasks of Kafka Connect's Iceberg sink write them, with the fields that count here."""

from __future__ import annotations

import io
import json
from typing import Any

from fastavro import schemaless_writer

FILE = {
    "type": "record",
    "name": "org.apache.iceberg.GenericDataFile",
    "fields": [{"name": "file_path", "type": "string"}, {"name": "record_count", "type": "long"}],
}
NAME = [{"name": "namespace", "type": {"type": "array", "items": "string"}}, {"name": "name", "type": "string"}]


def event(type_: int, group: str, payload_fields: list[dict[str, Any]], payload: object, group_field: str) -> bytes:
    """An event with the given fields of its payload."""
    schema = {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": "id", "type": {"type": "fixed", "name": "uuid_fixed", "size": 16, "namespace": ""}},
            {"name": "type", "type": "int"},
            {"name": "commit_id", "type": "uuid_fixed"},
            {"name": group_field, "type": "string"},
            {"name": "payload", "type": {"type": "record", "name": "Payload", "fields": payload_fields}},
        ],
    }
    # As Java writes it: a type without a namespace is referred to inside one that has a namespace.
    text = json.dumps({**schema, "namespace": "org.apache.iceberg.connect.events"}).encode()
    out = io.BytesIO()
    out.write(b"\xc2\x01" + len(text).to_bytes(2, "big") + text)
    fields = {"id": bytes(16), "type": type_, "commit_id": bytes(16), group_field: group, "payload": payload}
    schemaless_writer(out, schema, fields)
    return out.getvalue()


def data_written(group: str, table: str, *rows: int, deletes: tuple[int, ...] = ()) -> bytes:
    """An event that announces files with so many rows each."""
    *namespace, name = table.split(".")

    def files(counts: tuple[int, ...]) -> list[dict[str, object]]:
        return [{"file_path": f"s3://b/{n}.parquet", "record_count": count} for n, count in enumerate(counts)]

    fields: list[dict[str, Any]] = [
        {"name": "table_reference", "type": {"type": "record", "name": "TableReference", "fields": NAME}},
        {"name": "data_files", "type": ["null", {"type": "array", "items": FILE}]},
        {"name": "delete_files", "type": ["null", {"type": "array", "items": "org.apache.iceberg.GenericDataFile"}]},
    ]
    payload = {
        "table_reference": {"namespace": namespace, "name": name},
        "data_files": files(rows),
        "delete_files": files(deletes) or None,
    }
    return event(1, group, fields, payload, "group_id")


def data_written_before_0_6(group: str, table: str, *rows: int) -> bytes:
    """The same in the words that the first generation used at first."""
    namespace, _, name = table.partition(".")
    fields: list[dict[str, Any]] = [
        {"name": "tableName", "type": {"type": "record", "name": "TableName", "fields": NAME}},
        {"name": "dataFiles", "type": ["null", {"type": "array", "items": FILE}]},
    ]
    files = [{"file_path": "f", "record_count": count} for count in rows]
    return event(
        1, group, fields, {"tableName": {"namespace": [namespace], "name": name}, "dataFiles": files}, "groupId"
    )


def data_complete(group: str) -> bytes:
    """An event without files."""
    return event(2, group, [{"name": "commit", "type": "int"}], {"commit": 1}, "group_id")
