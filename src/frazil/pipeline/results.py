"""Results that the tasks of a run over a batch hand to the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from frazil.pipeline import offsets
from frazil.pipeline.convert import infer
from frazil.pipeline.gaps import WantedRows
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.source_positions import Reached
from frazil.pipeline.types import Type

SkipReason = Literal["tombstone", "transform", "unrouted", "replayed", "statement", "state"]
"""Reason why a record gives no row: it has no value, a transformation dropped it, no table wants it, the table has
what it says, the statement of the connector has no row for it, or it has gone into the state of the statement."""


@dataclass(frozen=True)
class State:
    """State of a statement behind a batch: its manifest's location, rows and bytes, the watermark in epoch ms.

    `late` are rows of the batch that were behind the watermark, which the state does not have.
    """

    manifest: str
    rows: int
    size: int
    watermark_ms: int
    late: int


@dataclass
class TableResult:
    """Result for the records that one table was to have, or for those that no table was to have.

    `read == stored.total() + len(dead) + skipped.total()`, unless `overflow`: then the batch must be divided and
    read again. Of a statement the rows are stored, and the records are read. `unknown` and `absent` are what the
    table lacks for records, `seen` says for how many (see `Decoded`); with any of them there are no files.
    `doubtful`: some of these records may not fit the columns that they lack. `wanted` are rows of the table as they
    were, without which there are no files either. `changes` is what the driver has to know about changes of rows;
    `reached` are positions in the source's log, `anew` tells of a snapshot behind others, `key_fields` are the
    names of the fields of record keys. `truncates` are the offsets of records that empty the table, of one
    partition. `again`: the rows were computed with records that are refused by now, and have to be computed again.
    `state` is that of a statement behind the records.
    `write_s` is the time in seconds that went into storing files.
    """

    read: int = 0
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    dead: list[DeadLetter] = field(default_factory=list)
    unknown: dict[infer.Path, Type] = field(default_factory=dict)
    seen: infer.Seen = field(default_factory=Counter)
    absent: set[infer.Path] = field(default_factory=set)
    doubtful: bool = False
    wanted: list[WantedRows] = field(default_factory=list)
    files: list[Any] = field(default_factory=list)
    changes: list[pa.Table] = field(default_factory=list)
    reached: dict[TopicPartition, Reached] = field(default_factory=dict)
    anew: bool = False
    key_fields: set[tuple[str, ...]] = field(default_factory=set)
    truncates: set[int] = field(default_factory=set)
    next_offsets: Offsets = field(default_factory=dict)
    last_timestamps: Offsets = field(default_factory=dict)
    overflow: bool = False
    again: bool = False
    state: State | None = None
    write_s: float = 0.0

    @property
    def lacks(self) -> bool:
        """Whether the table has to change before it can have the records."""
        return bool(self.absent or (self.unknown and infer.typed(self.unknown)))

    def add(self, other: TableResult) -> None:
        """Take in what another task has of the same table."""
        self.read += other.read
        self.skipped.update(other.skipped)
        self.stored.update(other.stored)
        self.dead += other.dead
        self.unknown = infer.merge_all([self.unknown, other.unknown])
        self.seen.update(other.seen)
        self.absent |= other.absent
        self.doubtful |= other.doubtful
        self.wanted += other.wanted
        self.files += other.files
        self.changes += other.changes
        self.reached |= other.reached
        self.anew |= other.anew
        self.key_fields |= other.key_fields
        self.truncates |= other.truncates
        self.next_offsets = offsets.merge(self.next_offsets, other.next_offsets)
        self.last_timestamps = offsets.merge(self.last_timestamps, other.last_timestamps)
        self.overflow |= other.overflow
        self.again |= other.again
        self.write_s = max(self.write_s, other.write_s)


@dataclass
class NewColumns:
    """Columns that a table would need which a run does not know, and how many records show them (see `Decoded`).

    `doubtful`: some of these records may not fit them. `key_fields` are the names of the fields of their keys.
    """

    fields: dict[infer.Path, Type] = field(default_factory=dict)
    seen: infer.Seen = field(default_factory=Counter)
    doubtful: bool = False
    key_fields: set[tuple[str, ...]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.fields)

    def add(self, other: NewColumns) -> None:
        """Take in what other records show."""
        self.fields = infer.merge_all([self.fields, other.fields])
        self.seen.update(other.seen)
        self.doubtful |= other.doubtful
        self.key_fields |= other.key_fields


@dataclass
class TaskResult:
    """Results by table; `rest` is that of the records that no table was to have.

    `missing` are tables that records name and the run does not know, with the columns that their records would need.
    `bytes_read` is the size of all values.
    """

    tables: dict[str, TableResult] = field(default_factory=dict)
    rest: TableResult = field(default_factory=TableResult)
    missing: dict[str, NewColumns] = field(default_factory=dict)
    bytes_read: int = 0


def combine(results: Iterable[TaskResult]) -> TaskResult:
    """The results of all tasks of a run in one."""
    whole = TaskResult()
    for part in results:
        whole.rest.add(part.rest)
        whole.bytes_read += part.bytes_read
        for name, result in part.tables.items():
            whole.tables.setdefault(name, TableResult()).add(result)
        for name, columns in part.missing.items():
            whole.missing.setdefault(name, NewColumns()).add(columns)
    return whole
