"""Files that Kafka Connect's Iceberg sink has not committed for a connector that is taken over from it.

Its tasks announce their data files on the control topic, and move the consumer group in the same transaction; the files
reach the table with a later commit of its coordinator. In between the group is ahead of the table, and who started from
there would lose these records.
"""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastavro import parse_schema, schemaless_reader
from pyiceberg.catalog import Catalog

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka.ranges import stored_records
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position.start_position import control_offsets
from frazil.connectors.iceberg.table.commit import Floor, TableBranch, summary_of
from frazil.errors import NotFound, ServiceUnavailable, TerminalError

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


def check(bootstrap: str, config: IcebergSinkConfig, catalog: Catalog, floors: Mapping[str, Floor]) -> None:
    """Raise ServiceUnavailable while the sink runs, or while data files of its tasks are not in their tables.

    It is tried again: the connector starts when the sink has committed everything and was stopped. Raises as
    `TableBranch.load` does too.
    """
    members = kafka_groups.group_members(bootstrap, config.group_id)
    if members:
        raise ServiceUnavailable(
            f"consumer group {config.group_id} has {len(members)} members: connector {config.name} still runs in Kafka "
            "Connect, or what ran it died less than a minute ago. Nothing was read. Stop it there: PUT "
            f"/connectors/{config.name}/stop. This one starts by itself then"
        )
    if floors and all(floor.offsets and not floor.superseded for floor in floors.values()):
        return
    sink = config.connect_sink
    groups = [group for group in sink.groups if control_offsets(bootstrap, group)]
    try:
        begin = kafka_offsets.begin_offsets(bootstrap, [sink.control_topic]) if groups else {}
    except NotFound:
        return
    for group in groups:
        _check_group(bootstrap, config, catalog, group, begin)


def _check_group(
    bootstrap: str, config: IcebergSinkConfig, catalog: Catalog, group: str, begin: Mapping[tuple[str, int], int]
) -> None:
    done = kafka_groups.group_offsets(bootstrap, f"{group}-coord", begin)
    starts = {key: max(offset, done.get(key, offset)) for key, offset in begin.items()}
    committed: dict[str, Mapping[int, int] | None] = {}
    pending: list[Written] = []
    for written in _announced(bootstrap, starts, group):
        if written.table not in committed:
            committed[written.table] = _committed(config, catalog, group, written.table)
        position = committed[written.table]
        if position is not None and written.offset >= position.get(written.partition, 0):
            pending.append(written)
    if not pending:
        return
    files, rows = sum(one.files for one in pending), sum(one.rows for one in pending)
    raise ServiceUnavailable(
        f"Kafka Connect's sink has written {files} files with {rows} rows for "
        f"{' and '.join(sorted({one.table for one in pending}))} and not committed them yet: only its control topic "
        f"{config.connect_sink.control_topic} names them, from offset {pending[0].offset} of partition "
        f"{pending[0].partition} on, and its consumer group {group} is past their records. Nothing was read. Resume "
        f"connector {config.name} in Kafka Connect until the rows are in the table, then stop it there again. This one "
        "starts by itself then"
    )


def _announced(bootstrap: str, starts: Mapping[tuple[str, int], int], group: str) -> Iterator[Written]:
    for message in stored_records(bootstrap, starts):
        written = written_files(message.value() or b"", message.partition() or 0, message.offset() or 0)
        if written is not None and written.group == group and written.rows:
            yield written


def _committed(config: IcebergSinkConfig, catalog: Catalog, group: str, name: str) -> Mapping[int, int] | None:
    """The next offset of each partition of the control topic that a table has.

    None without a table: the coordinator drops the files of one that is gone.
    """
    target = TableBranch(catalog, name, config.branch_of(name))
    try:
        table = target.load()
    except NotFound:
        return None
    for snapshot in target.history(table):
        text = summary_of(snapshot).get(config.connect_sink.property_of(group))
        if text:
            return {int(partition): int(offset) for partition, offset in json.loads(text).items()}
    return {}
