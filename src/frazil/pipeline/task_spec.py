"""Specification of the tasks of a batch: the tables, their records, and what writes their rows."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from frazil.clients.kafka.ranges import Range
from frazil.pipeline import offsets
from frazil.pipeline.changes import ChangeSpec
from frazil.pipeline.computed import Computed
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.envelope import Envelope
from frazil.pipeline.gaps import Before
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.route import Route
from frazil.pipeline.source import ranges_between
from frazil.pipeline.source_positions import SourcePositions, TakenRows
from frazil.pipeline.transforms.declaration import TransformChain, watching
from frazil.pipeline.transforms.keys import KeyConverter
from frazil.pipeline.transforms.plugin import OPERATION
from frazil.pipeline.types import STRING, Field, Struct, has_aliases

ANY_COLUMNS = DecodeSpec(Struct((Field("\0", STRING),)), evolve=True)
"""Finds the columns that records need for a table that does not exist: all their fields are unknown."""


class TableWriter(Protocol):
    """Writes the rows of one task to files."""

    @property
    def waiting_bytes(self) -> int:
        """Size of the rows that are not encoded yet."""

    def add(self, table: pa.Table) -> None:
        """Take rows to be written."""

    def encode_largest(self) -> None:
        """Encode the rows of one file, so that fewer bytes wait."""

    def rehearse(self) -> None:
        """Do what `close` does, but for storing files."""

    def close(self) -> list[Any]:
        """Finish the files; give descriptors of those that hold the rows, durable by now."""


@runtime_checkable
class TellsChanges(Protocol):
    """A writer for a table whose rows change."""

    def changes(self) -> pa.Table | None:
        """Tell the driver about the changes, after `close`; None when there were none."""


class Writer(Protocol):
    """Makes the writer of a task; picklable."""

    def open(self) -> TableWriter:
        """Open a writer for the rows of one task."""


@dataclass(frozen=True)
class Bounds:
    """Records from the floor to below the ceiling, by topic and partition."""

    floor: Offsets = field(default_factory=dict)
    ceiling: Offsets = field(default_factory=dict)


@dataclass(frozen=True)
class Judge:
    """Columns that a table might get: records which they cannot hold are dead letters, and bring no columns."""

    decode: DecodeSpec
    changes: ChangeSpec | None = None


@dataclass(frozen=True)
class TableSpec:
    """Table of a run, as its tasks need it; without `writer` its columns are only looked for.

    `refusal`: why the table cannot have any record. `changes`: how records change rows, where they do. `before`: rows
    as they were, which a run before this one wanted. `places`: rows have the columns of `PLACE`, as changes do.
    `judge`: what refuses records before the table's own columns do. `reached`: what the table has of the log of the
    records' source, where records bring their places in it; `taken`: when its rows were taken from there, if they were.
    `key`: how to read keys whose fields identify the rows, while there is no table.
    """

    name: str
    decode: DecodeSpec
    writer: Writer | None
    bounds: Bounds = Bounds()
    refusal: str = ""
    changes: ChangeSpec | None = None
    before: Before | None = None
    places: bool = False
    judge: Judge | None = None
    reached: SourcePositions | None = None
    taken: TakenRows | None = None
    key: KeyConverter | None = None


@dataclass(frozen=True)
class Routing:
    """Tables of records. `rest` bounds those that may be booked as belonging to none, if any may.

    `known` are all tables of the batch, also those that the run does without. `discover`: the columns of others
    are looked for with this, since they are to be made. `closed`: why records that name others are refused.
    """

    route: Route
    rest: Bounds | None
    known: frozenset[str] = frozenset()
    discover: DecodeSpec | None = None
    closed: str = ""


@dataclass(frozen=True)
class TaskSpec:
    """A run over a batch, as its tasks need it.

    Without `routing` every record goes to every table. `envelope`: how records come with their schemas. `computed`:
    the rows are no records, but computed from such. `in_order`: all records of the batch are of one partition.
    """

    tables: tuple[TableSpec, ...]
    transforms: TransformChain | None = None
    routing: Routing | None = None
    envelope: Envelope | None = None
    computed: Computed | None = None
    in_order: bool = False

    @property
    def truncates(self) -> bool:
        """Whether an event may empty a table: what comes before it is known, and that it is about this table."""
        return self.in_order and self.routing is None

    def ids_of(self, table: TableSpec) -> frozenset[str]:
        """The fields that say where in the table a row is, and whether it is in it, in lower case."""
        if table.changes is None or table.changes.log:
            return frozenset()
        route = self.routing.route.path[:1] if self.routing is not None else ()
        names = {path[0] for path in table.changes.keys} | {*route}
        return frozenset(name.lower() for name in names - {OPERATION[0]})

    def followed(self) -> TransformChain | None:
        """The transformations; those of change events know what rows are found by."""
        if self.transforms is None or not self.transforms.follows:
            return self.transforms
        changed = [table.decode for table in self.tables if table.changes is not None]
        renamed = any(one.any_case or one.mapper is not None or has_aliases(one.struct) for one in changed)
        ids = frozenset[str]().union(*map(self.ids_of, self.tables))
        return watching(self.transforms, ids, renamed=renamed, truncates=self.truncates)

    def ranges(self) -> list[Range]:
        """List the ranges of Kafka that the run has to read."""
        bounds = [table.bounds for table in self.tables]
        if self.routing is not None and self.routing.rest is not None:
            bounds.append(self.routing.rest)
        keys = {key for each in bounds for key in each.ceiling}
        floor = {key: min(each.floor.get(key, 0) for each in bounds) for key in keys}
        return ranges_between(floor, offsets.merge(*(each.ceiling for each in bounds)))
