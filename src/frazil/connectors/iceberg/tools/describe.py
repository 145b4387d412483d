"""A table as people look at it: snapshots, figures, history of its columns, and the connectors that write to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from frazil.connectors.iceberg.table.commit import COMPACTED, CONNECTOR, OFFSETS, summary_of
from frazil.connectors.iceberg.tools.replayed import DEADLETTERS
from frazil.text.amounts import counted
from frazil.text.lists import listed

_TOTALS = {
    "rows": "total-records",
    "data_files": "total-data-files",
    "delete_files": "total-delete-files",
    "bytes": "total-files-size",
}
_DIGITS = 20


@dataclass(frozen=True)
class ShownSnapshot:
    """A snapshot, and the connector that made it, if one did; `positions` are the offsets that it stands for, and
    `compacted` tells the files that its commit has made into fewer beside its rows. A `replay` has rows of dead
    letters.
    """

    id: int
    parent: int | None
    at_ms: int
    operation: str
    added: int
    deleted: int
    files: int
    connector: str
    positions: str
    compacted: str
    replay: bool

    @property
    def author(self) -> str:
        """Name of the connector that made it, or of the one whose dead letters a replay has stored."""
        return f"{self.connector} (replay)".lstrip() if self.replay else self.connector


def shown_snapshot(snapshot: Snapshot) -> ShownSnapshot:
    """Take what is shown from a snapshot; whoever writes its summary may write anything."""
    told = summary_of(snapshot)
    return ShownSnapshot(
        snapshot.snapshot_id,
        snapshot.parent_snapshot_id,
        snapshot.timestamp_ms,
        snapshot.summary.operation.value if snapshot.summary else "",
        _count(told, "added-records"),
        _count(told, "deleted-records"),
        _count(told, "added-data-files"),
        told.get(CONNECTOR, ""),
        told.get(OFFSETS, ""),
        told.get(COMPACTED, ""),
        DEADLETTERS in told,
    )


def newest_first(table: Table) -> list[Snapshot]:
    """The snapshots of a table, of all its branches, the newest first."""
    return sorted(table.snapshots(), key=lambda one: (-one.timestamp_ms, -(one.sequence_number or 0)))


def totals(snapshot: Snapshot | None) -> dict[str, int]:
    """Rows, files and bytes by name, as far as a snapshot tells them; a table without one has none of them."""
    if snapshot is None:
        return dict.fromkeys(_TOTALS, 0)
    told = summary_of(snapshot)
    return {name: _count(told, key) for name, key in _TOTALS.items() if key in told}


def told_rows(figures: Mapping[str, int]) -> str:
    """Tell the rows of `totals`: at most so many where delete files take some of them away."""
    return f"{'at most ' if figures.get('delete_files') else ''}{counted(figures.get('rows', 0), 'row')}"


def partition_terms(table: Table) -> list[str]:
    """Partition fields of a table with their transforms and columns."""
    schema = table.schema()
    return [
        f"{field.name} = {field.transform}({schema.find_column_name(field.source_id)})" for field in table.spec().fields
    ]


def committers(table: Table) -> dict[str, list[str]]:
    """Branches by connector that has committed to them: the table keeps the position of each."""
    found: dict[str, list[str]] = {}
    for key in table.properties:
        if key.startswith(f"{OFFSETS}."):
            connector, _, branch = key.removeprefix(f"{OFFSETS}.").rpartition(".")
            found.setdefault(connector, []).append(branch)
    return found


def writers(table: Table, configs: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Names of the connectors that have committed to a table, or whose configurations name it."""
    name = ".".join(table.name())
    named = {connector for connector, config in configs.items() if name in named_tables(config)}
    return sorted(named | committers(table).keys())


def named_tables(config: Mapping[str, str]) -> list[str]:
    """Tables that a stored configuration names."""
    return list(listed(config.get("iceberg.tables", "")))


def own_properties(table: Table) -> dict[str, str]:
    """Properties of a table without the positions of connectors."""
    return {key: value for key, value in sorted(table.properties.items()) if not key.startswith(f"{OFFSETS}.")}


@dataclass(frozen=True)
class SchemaVersion:
    """A schema that a table had, what is other than in the one before it, and when it was first written with."""

    id: int
    changes: tuple[str, ...]
    since_ms: int | None


def schema_history(table: Table) -> list[SchemaVersion]:
    """All schemas of a table, the oldest first."""
    since: dict[int, int] = {}
    for snapshot in table.snapshots():
        if snapshot.schema_id is not None:
            since[snapshot.schema_id] = min(snapshot.timestamp_ms, since.get(snapshot.schema_id, snapshot.timestamp_ms))
    found: list[SchemaVersion] = []
    before: dict[int, _Column] = {}
    for id_, schema in sorted(table.schemas().items()):
        columns = _columns(schema)
        changes = tuple(_changes(before, columns)) if found else (f"{len(schema.fields)} columns",)
        found.append(SchemaVersion(id_, changes, since.get(id_)))
        before = columns
    return found


_Key = TypeVar("_Key", int, str)
"""Id of a column, or its path."""


@dataclass(frozen=True)
class _Column:
    path: str
    type: str
    required: bool


def _columns(schema: Schema) -> dict[int, _Column]:
    def walk(type_: IcebergType, path: str) -> Iterator[tuple[int, _Column]]:
        match type_:
            case StructType():
                for field in type_.fields:
                    name = f"{path}.{field.name}" if path else field.name
                    yield field.field_id, _Column(name, _kind(field.field_type), field.required)
                    yield from walk(field.field_type, name)
            case ListType():
                yield type_.element_id, _Column(f"{path}.element", _kind(type_.element_type), type_.element_required)
                yield from walk(type_.element_type, f"{path}.element")
            case MapType():
                yield type_.value_id, _Column(f"{path}.value", _kind(type_.value_type), type_.value_required)
                yield from walk(type_.value_type, f"{path}.value")

    return dict(walk(schema.as_struct(), ""))


def _kind(type_: IcebergType) -> str:
    """A type without what is in it, which has lines of its own."""
    names = {StructType: "struct", ListType: "list", MapType: "map"}
    return names.get(type(type_), str(type_))


def _changes(before: Mapping[_Key, _Column], after: Mapping[_Key, _Column]) -> Iterator[str]:
    for id_, column in after.items():
        old = before.get(id_)
        if old is None:
            yield f"+ {column.path} {column.type}"
            continue
        if old.path != column.path:
            yield f"{old.path} → {column.path}"
        if old.type != column.type:
            yield f"{column.path}: {old.type} → {column.type}"
        if old.required != column.required:
            yield f"{column.path}: {'required' if column.required else 'optional'}"
    for id_ in before.keys() - after.keys():
        yield f"- {before[id_].path}"


def differences(before: Table, after: Table) -> Iterator[str]:
    """Lines for what a table has otherwise than another: columns by their names, partitions, properties."""
    columns = ({one.path: one for one in _columns(table.schema()).values()} for table in (before, after))
    yield from _changes(*columns)
    old, new = (", ".join(one.name for one in table.spec().fields) or "none" for table in (before, after))
    if old != new:
        yield f"partitions: {old} → {new}"
    properties, others = own_properties(before), own_properties(after)
    yield from (f"- property {key}={value}" for key, value in properties.items() if others.get(key) != value)
    yield from (f"+ property {key}={value}" for key, value in others.items() if properties.get(key) != value)


def _count(summary: Mapping[str, str], key: str) -> int:
    text = summary.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _DIGITS else 0
