"""Versions of rows: each change begins one, and ends the one before it.

What decides is the place of a change in the source, of which the table keeps those that began a version and that
deleted its row: a change that comes again, or late, finds itself or a later one there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil.pipeline.changes import DELETED, PLACE, TIMESTAMP, Path, in_order
from frazil.pipeline.keys import columns_of
from frazil.pipeline.transforms.plugin import (
    CHANGE_OP,
    CHANGE_POSITION,
    CHANGE_TS,
    CURRENT,
    DELETE_POSITION,
    READ,
    VALID_FROM,
    VALID_TO,
)
from frazil.pipeline.types import STRING, Scalar, Type

LOG_COLUMNS: Mapping[tuple[str, ...], Type] = {
    (CHANGE_OP,): STRING,
    (CHANGE_TS,): Scalar("timestamptz"),
    (CHANGE_POSITION,): Scalar("long"),
}
"""Columns of a table that keeps each change."""
HISTORY_COLUMNS: Mapping[tuple[str, ...], Type] = {
    **LOG_COLUMNS,
    (VALID_FROM,): Scalar("timestamptz"),
    (VALID_TO,): Scalar("timestamptz"),
    (CURRENT,): Scalar("boolean"),
    (DELETE_POSITION,): Scalar("long"),
}
"""Columns of a table that keeps each version."""
MODE_COLUMNS: Mapping[str, Mapping[tuple[str, ...], Type]] = {
    "replica": {},
    "append": LOG_COLUMNS,
    "history": HISTORY_COLUMNS,
}
NOTES = (CHANGE_OP, CHANGE_TS)
"""Columns that records bring."""
WRITTEN = frozenset(path[0] for path in HISTORY_COLUMNS) - {*NOTES}
"""Columns that are made when rows are written."""


@dataclass
class _Version:
    """A version: number of its row, place and time of the change that began it, until when it counts.

    `deleted` is the place of the change that deleted the row, `cause` the number of the change that made it so.
    """

    row: int
    position: int
    ts: int
    until: int | None = None
    deleted: int | None = None
    cause: int = 0

    @property
    def is_current(self) -> bool:
        return self.until is None

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Order of the versions of a row that no other has followed."""
        return self.is_current, self.until or 0, self.deleted or 0

    def is_after(self, position: int, ts: int) -> bool:
        """Whether what is known of the row is later than a change. A database that was restored has later times."""
        return position < (self.position if self.deleted is None else self.deleted) and ts <= (
            self.ts if self.until is None else self.until
        )


def last_versions(rows: pa.Table) -> pa.Table:
    """Leave out the versions that another one has followed."""
    return rows.filter(pc.or_(rows.column(CURRENT), pc.is_valid(rows.column(DELETE_POSITION))))


class Versions:
    """The last version of each row, while changes come; `before` are those of the table, `schema` is its own."""

    def __init__(self, schema: pa.Schema, keys: Sequence[Path], before: pa.Table) -> None:
        self._schema, self._keys = schema, keys
        self._rows = _widened(before, schema)
        self._last: dict[tuple[Any, ...], _Version] = {}
        for row, (key, position, ts, until, deleted) in enumerate(
            zip(
                _key_tuples(self._rows, keys),
                *(_numbers(self._rows, name) for name in (CHANGE_POSITION, CHANGE_TS, VALID_TO, DELETE_POSITION)),
                strict=True,
            )
        ):
            version = _Version(row, position, ts, until, deleted)
            other = self._last.get(key)
            if other is None or other.rank < version.rank:
                self._last[key] = version

    def follow(self, changes: pa.Table) -> pa.Table:
        """Take changes, and give the versions that are new or have ended, as changes of rows of the table."""
        first = self._rows.num_rows
        rows = pa.concat_tables([self._rows, _widened(changes, self._schema)]).combine_chunks()
        columns = [rows.column(f.name).combine_chunks() for f in self._schema if (f.name,) not in HISTORY_COLUMNS]
        keys = _key_tuples(changes, self._keys)
        positions, times = _numbers(changes, TIMESTAMP), _numbers(changes, CHANGE_TS)
        deletes, operations = changes.column(DELETED).to_pylist(), changes.column(CHANGE_OP).to_pylist()
        found: dict[tuple[Any, ...], _Version] = {}
        for number in in_order(changes.select(PLACE)).tolist():
            key, position, ts = keys[number], positions[number], times[number]
            last = self._last.get(key)
            if last is not None and last.is_after(position, ts):
                continue
            new = _Version(first + number, position, ts, cause=number)
            if last is not None and last.is_current:
                again = position == last.position and not deletes[number]
                if (again or operations[number] == READ) and _equal(columns, last.row, new.row):
                    continue
                if not again:
                    deleted = position if deletes[number] else None
                    ended = replace(last, until=ts, deleted=deleted, cause=number)
                    found[*key, last.position] = self._last[key] = ended
            if not deletes[number]:
                found[*key, position] = self._last[key] = new
        result = self._written(rows, list(found.values()), changes)
        self._rows = rows.take(pa.array([one.row for one in self._last.values()], pa.int64()))
        for row, version in enumerate(self._last.values()):
            version.row = row
        return result

    def _written(self, rows: pa.Table, versions: Sequence[_Version], changes: pa.Table) -> pa.Table:
        table = rows.take(pa.array([one.row for one in versions], pa.int64()))
        since = [one.ts if one.until is None else min(one.ts, one.until) for one in versions]
        for name, values in (
            (CHANGE_POSITION, [one.position for one in versions]),
            (VALID_FROM, since),  # a snapshot has read rows later than the changes that follow it were made
            (VALID_TO, [one.until for one in versions]),
            (CURRENT, [one.is_current for one in versions]),
            (DELETE_POSITION, [one.deleted for one in versions]),
        ):
            place = self._schema.get_field_index(name)
            field = self._schema.field(place)
            column = pa.array(values, pa.bool_() if name == CURRENT else pa.int64()).cast(field.type)
            table = table.set_column(place, field, column)
        table = table.append_column(DELETED, pa.repeat(pa.scalar(False), table.num_rows))
        places = changes.select(PLACE).take(pa.array([one.cause for one in versions], pa.int64()))
        for name in PLACE:
            table = table.append_column(name, places.column(name))
        return table


def ended(versions: pa.Table, schema: pa.Schema, position: int, ms: int) -> pa.Table:
    """Make changes that end versions, at the place of a change and its moment in epoch milliseconds."""
    rows, count = _widened(versions, schema), versions.num_rows
    at = pa.repeat(pa.scalar(ms * 1000), count).cast(schema.field(VALID_TO).type)
    since = rows.column(VALID_FROM)
    for name, column in (
        (VALID_FROM, pc.if_else(pc.less(since, at), since, at)),
        (VALID_TO, at),
        (CURRENT, pa.repeat(pa.scalar(False), count)),
        (DELETE_POSITION, pa.repeat(pa.scalar(position, pa.int64()), count)),
    ):
        rows = rows.set_column(schema.get_field_index(name), schema.field(name), column)
    rows = rows.append_column(DELETED, pa.repeat(pa.scalar(False), count))
    places = (pa.scalar(""), pa.scalar(0, pa.int32()), pa.scalar(0), pa.scalar(0))
    for name, place in zip(PLACE, places, strict=True):
        rows = rows.append_column(name, pa.repeat(place, count))
    return rows


def with_positions(changes: pa.Table, schema: pa.Schema) -> pa.Table:
    """Make rows of changes, each with its place in the source."""
    field = schema.field(CHANGE_POSITION)
    rows = _widened(changes, schema)
    return rows.set_column(schema.get_field_index(CHANGE_POSITION), field, changes.column(TIMESTAMP).cast(field.type))


def _widened(changes: pa.Table, schema: pa.Schema) -> pa.Table:
    """Take the columns of a table, with nulls where changes have none."""
    names, count = set(changes.column_names), changes.num_rows
    columns = [changes.column(f.name).cast(f.type) if f.name in names else pa.nulls(count, f.type) for f in schema]
    return pa.table(columns, schema=schema)


def _key_tuples(table: pa.Table, keys: Sequence[Path]) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in columns_of(table, keys).columns), strict=True))


def _numbers(table: pa.Table, name: str) -> list[Any]:
    column = table.column(name)
    return column.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


def _equal(columns: Sequence[pa.Array], one: int, other: int) -> bool:
    for column in columns:
        left, right = column[one].as_py(), column[other].as_py()
        if left != right and (left == left or right == right):  # a NaN is as good as another
            return False
    return True
