"""Match inside a task: rows of a data file that have one of the keys looked for, and the file without them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO, _read_deletes
from pyiceberg.manifest import DataFile
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.utils.concurrent import ExecutorFactory

from frazil.clients.data_files import file_batches
from frazil.clients.store import store_errors
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter, Properties
from frazil.pipeline.changes import Path
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.keys import Codes, Keys, columns_of
from frazil.pipeline.task import MAX_WAITING_BYTES
from frazil.pipeline.versions import last_versions

_CHUNK_ROWS = 1 << 20
NOTHING: Codes = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Search:
    """Rows to look for. With `rewrite`, files that have them are written again without them."""

    rows: DataFileWriter
    paths: tuple[Path, ...]
    keys: Keys
    rewrite: bool


@dataclass(frozen=True)
class Candidate:
    """A data file and the delete files that apply to it; `positions` are rows to take out whatever their keys.

    `gone` are those that the delete files have taken out, once they were read.
    """

    file: DataFile
    deletes: Sequence[DataFile] = ()
    positions: Codes | None = None
    gone: Codes = field(default_factory=lambda: NOTHING)


class Deletes:
    """Reads delete files, each of them once."""

    def __init__(self) -> None:
        self._read: dict[str, Mapping[str, pa.ChunkedArray]] = {}

    def with_gone(self, io: FileIO, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Read the delete files of all candidates that were not read before; raises as `search` does."""
        files = {file.file_path: file for each in candidates for file in each.deletes}
        todo = {path: file for path, file in files.items() if path not in self._read}
        with _reading(next(iter(todo), "")):
            found = ExecutorFactory.get_or_create().map(partial(_read_deletes, io), todo.values())
            self._read |= dict(zip(todo, found, strict=True))
        return [replace(each, deletes=(), gone=self._gone(each)) for each in candidates]

    def _gone(self, candidate: Candidate) -> Codes:
        of_file = (self._read[file.file_path].get(candidate.file.file_path) for file in candidate.deletes)
        return np.unique(np.concatenate([NOTHING, *(np.asarray(each) for each in of_file if each is not None)]))


@dataclass(frozen=True)
class Found:
    """The rows of a candidate to take out, by position. `files` are what is left of it, written again.

    Without `files` and with `emptied` nothing is left.
    """

    positions: Codes
    emptied: bool = False
    files: Sequence[DataFile] = field(default=())


@dataclass(frozen=True)
class Lookup:
    """Rows to find, and the columns of them that are wanted; `last`: of versions those that no other has followed."""

    rows: DataFileWriter
    paths: tuple[Path, ...]
    keys: Keys
    columns: tuple[str, ...]
    last: bool = False


def search(what: Search, candidate: Candidate) -> Found:
    """Look through one data file. Raises ServiceUnavailable when the store fails, ConfigError when it refuses."""
    with _reading(candidate.file.file_path):
        return _search(what, candidate)


def write_again(rows: DataFileWriter, candidates: Sequence[Candidate]) -> list[DataFile]:
    """Write what is not gone of data files of a partition as one file; raises as `search` does."""
    with _reading(candidates[0].file.file_path):
        return _written(rows, candidates)


def look_up(what: Lookup, candidate: Candidate) -> pa.Table:
    """The rows of one data file with one of the keys: key columns under their numbers, and the columns.

    Raises as `search` does.
    """
    with _reading(candidate.file.file_path):
        metadata, io = _metadata(what.rows.metadata_json), _access(what.rows.io_properties)
        if not len(_matching(what, metadata, io, candidate.file)):
            return no_rows(what)
        schema = metadata.schema().select(*(".".join(path) for path in what.paths), *what.columns)
        found = [no_rows(what)]
        batches = file_batches(metadata, io, schema, candidate.file, _chunks(candidate.gone))
        for chunk in _in_chunks(batches):
            hits = pa.array(what.keys.find(columns_of(chunk, what.paths)) >= 0)
            rows = chunk.cast(arrow_schema(struct_of(schema))).filter(hits)
            found.append(_row_values(what, last_versions(rows) if what.last else rows))
        return pa.concat_tables(found)


def no_rows(what: Lookup) -> pa.Table:
    """Result of `look_up` where no row is found."""
    return _row_values(what, arrow_schema(struct_of(_metadata(what.rows.metadata_json).schema())).empty_table())


def _row_values(what: Lookup, rows: pa.Table) -> pa.Table:
    values = columns_of(rows, what.paths)
    for name in what.columns:
        values = values.append_column(name, rows.column(name))
    return values


def _reading(location: str) -> AbstractContextManager[None]:
    return store_errors(location, ("refused to read", "did not give"))


def _search(what: Search, candidate: Candidate) -> Found:
    metadata = _metadata(what.rows.metadata_json)
    io = _access(what.rows.io_properties)
    positions = candidate.positions
    if positions is None:
        positions = np.setdiff1d(_matching(what, metadata, io, candidate.file), candidate.gone)
    if not len(positions):
        return Found(positions)
    if len(positions) + len(candidate.gone) >= candidate.file.record_count:
        return Found(positions, emptied=True)
    if not what.rewrite:
        return Found(positions)
    left = replace(candidate, gone=np.concatenate([candidate.gone, positions]))
    return Found(positions, files=_written(what.rows, [left]))


def _written(rows: DataFileWriter, candidates: Sequence[Candidate]) -> list[DataFile]:
    metadata, io = _metadata(rows.metadata_json), _access(rows.io_properties)
    writer = rows.open()
    schema = arrow_schema(struct_of(metadata.schema()))
    for each in candidates:
        for batch in file_batches(metadata, io, metadata.schema(), each.file, _chunks(each.gone)):
            writer.add(pa.Table.from_batches([batch]).cast(schema))
            while writer.waiting_bytes > MAX_WAITING_BYTES:
                writer.encode_largest()
    return writer.close()


def _chunks(positions: Codes) -> list[pa.ChunkedArray]:
    """Positions as a reader takes them."""
    return [pa.chunked_array([pa.array(positions)])] if len(positions) else []


def _matching(what: Search | Lookup, metadata: TableMetadata, io: PyArrowFileIO, file: DataFile) -> Codes:
    """Positions of all rows with one of the keys, deleted ones too."""
    schema = metadata.schema().select(*(".".join(path) for path in what.paths))
    found: list[Codes] = [NOTHING]
    first = 0
    for chunk in _in_chunks(file_batches(metadata, io, schema, file)):
        codes = what.keys.find(columns_of(chunk, what.paths))
        found.append(np.flatnonzero(codes >= 0) + first)
        first += chunk.num_rows
    return np.concatenate(found)


def _in_chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows in tables of some size: looking keys up costs something for each table."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= _CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


@lru_cache(maxsize=8)
def _access(properties: Properties) -> PyArrowFileIO:
    return PyArrowFileIO(dict(properties))


@lru_cache(maxsize=8)
def _metadata(text: str) -> TableMetadata:
    return TableMetadataUtil.parse_raw(text)
