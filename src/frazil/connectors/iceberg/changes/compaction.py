"""Compaction inside of a commit to a merge-on-read table, which so can lose against none of the commits around it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.connectors.iceberg.changes.match import Candidate, with_gone
from frazil.connectors.iceberg.changes.need import Positions, Stored, needed
from frazil.pipeline.keys import Codes


@dataclass(frozen=True)
class Live:
    """A data file that stays: `marked` are the rows that the commit takes out, `gone` counts those before, if known."""

    candidate: Candidate
    marked: Codes
    gone: int


@dataclass(frozen=True)
class Compaction:
    """Data files `removed` and `added`, files of `positions` that go, and the rows `marked` of the files that stay."""

    removed: Sequence[DataFile] = ()
    added: Sequence[DataFile] = ()
    positions: Sequence[DataFile] = ()
    marked: Sequence[tuple[DataFile, Codes]] = ()


def compaction(
    table: Table,
    old: Sequence[Candidate],
    live: Sequence[Live],
    write: Callable[[Sequence[Sequence[Candidate]]], Sequence[DataFile]],
) -> Compaction:
    """Compact what needs it: `old` are all data files of the table, `live` those that stay.

    `write` writes groups of files again, without what is gone of them. Raises as `with_gone` and `write` do.
    """
    files = {each.candidate.file.file_path: each for each in live}
    of_spec = [each for each in live if each.candidate.file.spec_id == table.metadata.default_spec_id]
    touched = frozenset(_place(each.candidate.file) for each in live if len(each.marked))
    positions = {file.file_path: file for candidate in old for file in candidate.deletes}
    need = needed([_stored(each) for each in of_spec], _positions(positions, live), touched)
    written = {path for group in need.groups for path in group}
    rewritten = [files[path].candidate for path in written]
    kept = [
        replace(each.candidate, deletes=[file for file in each.candidate.deletes if file.file_path in need.folded])
        for path, each in files.items()
        if path not in written
    ]
    gone = {
        each.file.file_path: np.union1d(each.gone, files[each.file.file_path].marked)
        for each in (*with_gone(table.io, rewritten), *with_gone(table.io, kept))
    }
    return Compaction(
        removed=[each.file for each in rewritten],
        added=write([[replace(files[path].candidate, gone=gone[path]) for path in group] for group in need.groups]),
        positions=[positions[path] for path in need.folded],
        marked=[(each.file, gone[each.file.file_path]) for each in kept if len(gone[each.file.file_path])],
    )


def _place(file: DataFile) -> tuple[int, tuple[object, ...]]:
    return file.spec_id, tuple(file.partition[number] for number in range(len(file.partition)))


def _stored(live: Live) -> Stored:
    file = live.candidate.file
    gone = live.gone + len(live.marked)
    return Stored(file.file_path, _place(file), file.record_count, file.file_size_in_bytes, gone)


def _positions(files: dict[str, DataFile], live: Sequence[Live]) -> list[Positions]:
    applies_to: dict[str, set[str]] = {path: set() for path in files}
    for each in live:
        for file in each.candidate.deletes:
            applies_to[file.file_path].add(each.candidate.file.file_path)
    return [
        Positions(path, _place(file), file.record_count, frozenset(applies_to[path])) for path, file in files.items()
    ]
