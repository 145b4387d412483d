"""Compaction inside of a commit to a merge-on-read table, which so can lose against none of the commits around it."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.connectors.iceberg.changes.match import Candidate, Deletes
from frazil.pipeline.keys import Codes

FEWEST = 3
"""Files of a partition that are worth to become one."""
FEWEST_POSITIONS = 2
"""Files of positions that are worth to become one, with that of the commit."""
SHARE = 0.1
"""Share of deleted rows from which on a data file is written again without them."""
MOST_BYTES = 128 << 20
"""Most bytes of small files in one, and of all files that one commit writes again where these are several."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Stored:
    """A data file: `gone` of its rows are deleted, as far as is known. Those of one `place` may be written together."""

    path: str
    place: Hashable
    rows: int
    size: int
    gone: int


@dataclass(frozen=True)
class Positions:
    """A file of positions of deleted rows, with so many of them; `applies_to` are the paths of data files."""

    path: str
    place: Hashable
    rows: int
    applies_to: frozenset[str]


@dataclass(frozen=True)
class Need:
    """Work that is to be done: data files of a group become one, and so do the files of positions of a place.

    `folded` are paths of these; those without any data file that stays are among them.
    """

    groups: Sequence[Sequence[str]] = ()
    folded: frozenset[str] = frozenset()


def needed(files: Sequence[Stored], positions: Sequence[Positions], marked: frozenset[Hashable] = frozenset()) -> Need:
    """Tell what a table needs, to which a commit brings a file of positions for each place of `marked`."""
    groups = _affordable([*_small(files), *_holed(files)])
    written = {file.path for group in groups for file in group}
    folded = {each.path for each in positions if each.applies_to <= written}
    left = [each for each in positions if each.path not in folded]
    for place, of_place in _by_place(left, lambda each: each.place).items():
        new = [0] if place in marked else []
        ordered = sorted(of_place, key=lambda each: each.rows)
        count = run([*new, *(each.rows for each in ordered)], FEWEST_POSITIONS) - len(new)
        folded |= {each.path for each in ordered[: max(count, 0)]}
    return Need([[file.path for file in group] for group in groups], frozenset(folded))


def run(sizes: Sequence[int], fewest: int, most: int | None = None) -> int:
    """Length of the longest run of the smallest, at least `fewest`, whose last one is not larger than those before.

    `sizes` are in their order, `most` is how much they may be together; 0 where there is none.
    """
    found = total = 0
    for number, size in enumerate(sizes, 1):
        if most is not None and total + size > most:
            break
        if number >= fewest and size <= total:
            found = number
        total += size
    return found


def _small(files: Iterable[Stored]) -> list[list[Stored]]:
    """Small files of each place."""
    groups = []
    for of_place in _by_place(files, lambda file: file.place).values():
        ordered = sorted(of_place, key=lambda file: file.size)
        groups.append(ordered[: run([file.size for file in ordered], FEWEST, MOST_BYTES)])
    return [group for group in groups if group]


def _holed(files: Iterable[Stored]) -> list[list[Stored]]:
    """Files of which many rows are deleted, those with the largest share first."""
    holed = [file for file in files if file.gone >= max(SHARE * file.rows, 1)]
    return [[file] for file in sorted(holed, key=lambda file: -file.gone / file.rows)]


def _affordable(groups: Iterable[Sequence[Stored]]) -> list[Sequence[Stored]]:
    """Groups that one commit can write, each file once; the others are left to the commits that follow."""
    taken: list[Sequence[Stored]] = []
    written: set[str] = set()
    size = 0
    for group in groups:
        more = sum(file.size for file in group)
        if written.isdisjoint(file.path for file in group) and (not taken or size + more <= MOST_BYTES):
            taken.append(group)
            written |= {file.path for file in group}
            size += more
    return taken


def _by_place(items: Iterable[Item], place: Callable[[Item], Hashable]) -> Mapping[Hashable, list[Item]]:
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(place(item), []).append(item)
    return found


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
    deletes: Deletes,
    old: Sequence[Candidate],
    live: Sequence[Live],
    write: Callable[[Sequence[Sequence[Candidate]]], Sequence[DataFile]],
) -> Compaction:
    """Compact what needs it: `old` are all data files of the table, `live` those that stay.

    `write` writes groups of files again, without what is gone of them. Raises as `deletes` and `write` do.
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
        for each in deletes.with_gone(table.io, [*rewritten, *kept])
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
