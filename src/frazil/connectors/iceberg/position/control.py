"""Events on the control topic of Kafka Connect's Iceberg sink, as far as they name files.

An event is two magic bytes, the Avro schema of the event as text behind its length (two bytes), and the event in Avro.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastavro import parse_schema, schemaless_reader

from frazil.errors import TerminalError

_MAGIC = b"\xc2\x01"
_DATA_WRITTEN = 1


@dataclass(frozen=True)
class Written:
    """Files of one table that a task has announced, and where on the control topic. `rows` counts deletes too."""

    group: str
    table: str
    files: int
    rows: int
    partition: int
    offset: int


def written_files(value: bytes, partition: int, offset: int) -> Written | None:
    """The files that a message announces; None for any other event and for what is no event.

    Raises TerminalError for an event that cannot be read.
    """
    if value[:2] != _MAGIC:
        return None
    start = 4 + int.from_bytes(value[2:4], "big")
    try:
        event: Any = schemaless_reader(io.BytesIO(value[start:]), _schema(value[4:start]), None)
        # Until 0.6 the first generation wrote names of its own.
        if event["type"] != _DATA_WRITTEN:
            return None
        payload = event["payload"]
        name = payload.get("table_reference") or payload["tableName"]
        files = [
            file
            for field in ("data_files", "delete_files", "dataFiles", "deleteFiles")
            for file in payload.get(field) or ()
        ]
        return Written(
            group=event.get("group_id") or event["groupId"],
            table=".".join([*name["namespace"], name["name"]]),
            files=len(files),
            rows=sum(file["record_count"] for file in files),
            partition=partition,
            offset=offset,
        )
    except Exception as error:
        raise TerminalError(
            f"the event at offset {offset} of partition {partition} of the control topic of Kafka Connect's sink "
            f"cannot be read ({type(error).__name__}: {error}), so it is not known whether all of its files are in the "
            "table. Nothing was read. When the connector was stopped there after its last commit, set "
            "iceberg.control.topic to a topic that does not exist."
        ) from error


@lru_cache(64)
def _schema(text: bytes) -> Any:
    return parse_schema(_short_names(json.loads(text)))


def _short_names(schema: Any) -> Any:
    """The schema without namespaces: Java refers to a type that has none as if it were in that around it."""
    if isinstance(schema, list):
        return [_short_names(each) for each in schema]
    if isinstance(schema, str):
        return schema.rpartition(".")[2]
    inside = {key: _short_names(schema[key]) for key in ("type", "items", "values", "name", "fields") if key in schema}
    return {key: inside.get(key, value) for key, value in schema.items() if key != "namespace"}
