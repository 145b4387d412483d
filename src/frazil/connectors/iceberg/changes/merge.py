"""The changes of a batch into one table, on the driver: which rows they replace, and the snapshot that does it.

Rows that have one of the changed keys are looked for in all data files of the branch head, whatever their partition,
and taken out; the new rows come in with the same snapshot. `write.merge.mode` of the table says how rows are taken
out: `copy-on-write` (Iceberg's default) writes their files again without them, `merge-on-read` adds position delete
files.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.types import (
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from frazil.connectors.iceberg.changes.changes import FILE, POSITION
from frazil.connectors.iceberg.changes.compaction import Compaction, Live, compaction
from frazil.connectors.iceberg.changes.deletes import write_deletes
from frazil.connectors.iceberg.changes.match import (
    NOTHING,
    Candidate,
    Deletes,
    Found,
    Lookup,
    Search,
    look_up,
    no_rows,
    search,
    write_again,
)
from frazil.connectors.iceberg.changes.replace import Replacement, stage_replacement
from frazil.connectors.iceberg.table.commit import COMPACTED
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.errors import ConfigError
from frazil.pipeline.changes import PLACE, Path, last_changes
from frazil.pipeline.gaps import WantedRows
from frazil.pipeline.keys import Codes, Keys

MERGE_MODE = "write.merge.mode"
MERGE_MODES = ("copy-on-write", "merge-on-read")

_Name = tuple[str, frozenset[str]]
Item = TypeVar("Item")
Result = TypeVar("Result")


class RunTasks(Protocol):
    """Applies a function to items, several at the same time, here or on other machines; results in their order."""

    def __call__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]: ...


def rewrites(table: Table) -> bool:
    """Whether rows are deleted by writing their files again.

    Raises ConfigError for a table whose format is too old, or that has another `write.merge.mode` than Iceberg knows.
    """
    name = ".".join(table.name())
    if table.metadata.format_version < 2:
        raise ConfigError(
            f"{name} has format version 1, which cannot be changed row by row. Nothing was written. Upgrade it (ALTER "
            f"TABLE {name} SET TBLPROPERTIES ('format-version'='2') in Spark), then restart the connector; or remove "
            "iceberg.tables.upsert-mode-enabled and iceberg.tables.cdc-field to append every record."
        )
    mode = table.properties.get(MERGE_MODE, MERGE_MODES[0])
    if mode not in MERGE_MODES:
        raise ConfigError(f"{name} has {MERGE_MODE}={mode}; set it to {' or '.join(MERGE_MODES)}. Nothing was written.")
    return mode == MERGE_MODES[0]


class Merge:
    """The changes of one run. A merge is planned for a branch head, and for what is new when the head has moved."""

    def __init__(
        self,
        files: Sequence[DataFile],
        keys: Keys,
        lost: Mapping[str, Codes],
        paths: tuple[Path, ...],
        writer_for: Callable[[Table], DataFileWriter],
        run: RunTasks,
        *,
        compacts: bool = False,
    ) -> None:
        """`files` are new, and have rows `lost` that are not to be; other rows with one of the `keys` go.

        `writer_for` gives the writer of a table's files. With `compacts` a merge-on-read table is compacted by need.
        """
        self._compacts = compacts
        self._paths = paths
        self._writer_for = writer_for
        self._run = run
        self._new = files
        self._deletes = Deletes()
        self._keys = keys
        self._lost = lost
        self._found: dict[_Name, tuple[DataFile, Found | None]] = {}
        self._gone: dict[_Name, int] = {}
        self._again: dict[frozenset[_Name], list[DataFile]] = {}

    def stage(self, transaction: Transaction, table: Table, branch: str, summary: Mapping[str, str]) -> None:
        """Add the snapshot to a transaction on `table`.

        Raises ServiceUnavailable, or ConfigError for a table with equality deletes, which Kafka Connect's sink writes.
        """
        change = self._plan(table, branch)
        stage_replacement(transaction, table.io, branch, summary, change)

    def _plan(self, table: Table, branch: str) -> Replacement:
        rewrite = rewrites(table)
        old = candidates(table, branch)
        new = [Candidate(file, (), self._lost[file.file_path]) for file in self._new if file.file_path in self._lost]
        self._search(table, [*old, *new], rewrite=rewrite)
        return self._replacement(table, old, new, compacts=self._compacts and not rewrite)

    def _search(self, table: Table, candidates: Sequence[Candidate], *, rewrite: bool) -> None:
        """Look through the files that were not looked through before."""
        ranges = KeyRanges(table.schema(), self._paths, self._keys.values())
        todo: list[Candidate] = []
        for candidate in candidates:
            key = _name(candidate)
            if key in self._found:
                continue
            if candidate.positions is None and not ranges.may_hold(candidate.file):
                self._found[key] = candidate.file, None
            else:
                todo.append(candidate)
        what = Search(self._writer_for(table), self._paths, self._keys, rewrite)
        ready = self._deletes.with_gone(table.io, todo)
        for candidate, each, found in zip(todo, ready, self._run(partial(search, what), ready), strict=True):
            self._gone[_name(candidate)] = len(each.gone)
            self._found[_name(candidate)] = candidate.file, found if len(found.positions) else None

    def _replacement(
        self, table: Table, old: Sequence[Candidate], new: Sequence[Candidate], *, compacts: bool
    ) -> Replacement:
        added = {file.file_path: file for file in self._new}
        removed: list[DataFile] = []
        marked: list[tuple[DataFile, Codes]] = []
        rewritten: list[DataFile] = []
        live: list[Live] = []
        for candidate in (*old, *new):
            file, found = self._found[_name(candidate)]
            positions = NOTHING if found is None else found.positions
            if found is not None and (found.files or found.emptied):
                if added.pop(file.file_path, None) is None:
                    removed.append(file)
                rewritten += found.files
            elif compacts and file.file_path not in added:
                live.append(Live(candidate, positions, self._gone.get(_name(candidate), 0)))
            elif len(positions):
                marked.append((file, positions))
        done = Compaction()
        if compacts:
            done = compaction(table, self._deletes, old, live, partial(self._write_again, table))
        told = f"{len(done.removed)} data files to {len(done.added)}, {len(done.positions)} delete files"
        return Replacement(
            [*removed, *done.removed],
            [*added.values(), *rewritten, *done.added],
            write_deletes(table, [*marked, *done.marked]),
            done.positions,
            {COMPACTED: told} if done.removed or done.positions else {},
        )

    def _write_again(self, table: Table, groups: Sequence[Sequence[Candidate]]) -> list[DataFile]:
        """Write groups of data files again, those alone that were not written in an attempt before."""
        rows = self._writer_for(table)
        names = [frozenset(map(_name, group)) for group in groups]
        todo = {name: group for name, group in zip(names, groups, strict=True) if name not in self._again}
        written = self._run(partial(write_again, rows), list(todo.values())) if todo else []
        self._again |= dict(zip(todo, written, strict=True))
        return [file for name in names for file in self._again[name]]


def look_up_all(
    table: Table,
    branch: str,
    paths: tuple[Path, ...],
    wanted: WantedRows,
    writer: DataFileWriter,
    run: RunTasks,
    *,
    last: bool = False,
) -> pa.Table:
    """The rows of a branch with one of the keys: key columns under their numbers, and the columns.

    With `last` those of the versions that no other has followed. Raises as `Merge.stage` does.
    """
    keys = Keys(wanted.keys)
    ranges = KeyRanges(table.schema(), paths, keys.values())
    what = Lookup(writer, paths, keys, wanted.columns, last)
    wanted_in = [each for each in candidates(table, branch) if ranges.may_hold(each.file)]
    found = run(partial(look_up, what), Deletes().with_gone(table.io, wanted_in))
    return pa.concat_tables([no_rows(what), *found])


def stage_truncation(transaction: Transaction, table: Table, branch: str, summary: Mapping[str, str]) -> None:
    """Add a snapshot without any row to a transaction on `table`; raises as `Merge.stage` does."""
    files = [each.file for each in candidates(table, branch)]
    stage_replacement(transaction, table.io, branch, summary, Replacement(removed=files))


def candidates(table: Table, branch: str) -> list[Candidate]:
    """The data files of a branch. Raises ConfigError for a table with equality deletes."""
    head = table.metadata.snapshot_by_name(branch)
    try:
        tasks = [] if head is None else list(table.scan(snapshot_id=head.snapshot_id).plan_files())
    except ValueError as error:
        if "equality deletes" not in str(error):
            raise
        name = ".".join(table.name())
        raise ConfigError(
            f"{name} has equality deletes, which the upserts of Kafka Connect's sink leave and which are not read "
            "here. Nothing was written. Compact the table with Spark (CALL <catalog>.system.rewrite_data_files("
            f"table => '{name}', options => map('delete-file-threshold','1'))), then restart the connector."
        ) from error
    return [Candidate(task.file, tuple(task.delete_files)) for task in tasks]


def _name(candidate: Candidate) -> _Name:
    """Key of a result: files never change, but delete files may come to them."""
    return candidate.file.file_path, frozenset(file.file_path for file in candidate.deletes)


def sorted_out(tasks: Sequence[pa.Table]) -> tuple[Keys, dict[str, Codes]]:
    """The keys that tasks change, and by file the rows that a later change of another task has replaced."""
    changes = pa.concat_tables(tasks)
    keys = Keys(changes.select([name for name in changes.column_names if name.isdecimal()]))
    lost = np.ones(changes.num_rows, bool)
    lost[last_changes(keys.codes, changes.select(PLACE))] = False
    rows = changes.filter(pa.array(lost)).select([FILE, POSITION])
    by_file: dict[str, list[int]] = {}
    for path, position in zip(rows.column(FILE).to_pylist(), rows.column(POSITION).to_pylist(), strict=True):
        if path is not None:
            by_file.setdefault(path, []).append(position)
    return keys, {path: np.sort(np.array(positions, np.int64)) for path, positions in by_file.items()}


_NUMBERS: dict[type[IcebergType], pa.DataType] = {
    IntegerType: pa.int64(),
    LongType: pa.int64(),
    DateType: pa.int32(),
    TimestampType: pa.int64(),
    TimestamptzType: pa.int64(),
}
"""Types whose bounds are numbers, and the Arrow type that shows values as these numbers."""


class KeyRanges:
    """The values of keys in order, for the columns whose types can be compared with a file's bounds."""

    def __init__(self, schema: Schema, paths: Sequence[Path], values: Sequence[pa.Array]) -> None:
        self._columns: list[tuple[int, PrimitiveType, list[Any]]] = []
        for path, array in zip(paths, values, strict=True):
            field = schema.find_field(".".join(path))
            type_ = field.field_type
            if isinstance(type_, StringType):
                self._columns.append((field.field_id, type_, sorted(array.to_pylist())))
            elif type(type_) in _NUMBERS and isinstance(type_, PrimitiveType):
                numbers = array.cast(_NUMBERS[type(type_)])
                self._columns.append((field.field_id, type_, sorted(numbers.to_pylist())))

    def may_hold(self, file: DataFile) -> bool:
        """Whether a key can be in the file."""
        return all(self._overlap(file, *column) for column in self._columns)

    @staticmethod
    def _overlap(file: DataFile, field_id: int, type_: PrimitiveType, values: list[Any]) -> bool:
        lower, upper = (file.lower_bounds or {}).get(field_id), (file.upper_bounds or {}).get(field_id)
        if lower is None or upper is None:
            return True
        # An upper bound of a long text is a text that is longer or greater than all; both compare as they are.
        first = bisect_left(values, from_bytes(type_, lower))
        return first < len(values) and bool(values[first] <= from_bytes(type_, upper))
