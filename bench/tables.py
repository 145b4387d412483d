"""Destination tables: made afresh for each run, watched while they fill, and counted at the end."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.errors import TerminalError
from frazil.minio.records.kinds import TableKind
from frazil.minio.records.tables import PARTITION_SPECS, SCHEMAS, TABLE_PROPERTIES

_READS = 3


def reading_times(table: Table) -> list[float]:
    """Seconds of some reads of all rows and columns."""
    found = []
    for _ in range(_READS):
        begin = time.monotonic()
        for _batch in table.scan().to_arrow_batch_reader():
            pass
        found.append(time.monotonic() - begin)
    return found


@dataclass(frozen=True)
class Commit:
    """A snapshot as a reader sees it; moments in seconds since the epoch.

    `committed_at` is the writer's time, `visible_at` when this program first saw it.
    """

    snapshot_id: int
    committed_at: float
    visible_at: float
    total_records: int
    total_files: int


class WatchedTable:
    """A table, new and empty at first."""

    @classmethod
    def of_kind(cls, settings: Settings, name: str, kind: TableKind) -> WatchedTable:
        """Make one of the layout of a log kind, in the namespace of the settings."""
        identifier = f"{settings.namespace}.{name}"
        catalog = connect(settings.catalog_properties())
        catalog.create_namespace_if_not_exists(settings.namespace)
        if catalog.table_exists(identifier):
            raise TerminalError(f"table {identifier} exists already; figures need a fresh one")
        spec = PARTITION_SPECS[kind]
        return cls(catalog.create_table(identifier, SCHEMAS[kind], partition_spec=spec, properties=TABLE_PROPERTIES))

    def __init__(self, table: Table) -> None:
        self.identifier = ".".join(table.name())
        self._table = table
        self.commits: list[Commit] = []

    @property
    def rows(self) -> int:
        """Rows of the newest snapshot that was seen."""
        return self.commits[-1].total_records if self.commits else 0

    def look(self) -> None:
        """Read the table from the catalog and note the snapshots that are new."""
        self._table.refresh()
        now = time.time()
        known = {commit.snapshot_id for commit in self.commits}
        for snapshot in sorted(self._table.metadata.snapshots, key=lambda s: s.sequence_number or 0):
            if snapshot.snapshot_id not in known and snapshot.summary is not None:
                summary: Mapping[str, str] = snapshot.summary.additional_properties
                self.commits.append(
                    Commit(
                        snapshot.snapshot_id,
                        snapshot.timestamp_ms / 1000,
                        now,
                        int(summary["total-records"]),
                        int(summary["total-data-files"]),
                    )
                )

    def count(self) -> int:
        """Rows as the files in the manifests have them, which no summary can make up."""
        return self._table.refresh().scan().count()

    def files_by_commit(self) -> list[tuple[int, int, int]]:
        """Of each commit with files: its rows, its partition values, its files."""
        head = self._table.refresh().current_snapshot()
        rows, files = Counter[int](), Counter[int]()
        values: dict[int, set[str]] = defaultdict(set)
        for manifest in head.manifests(self._table.io) if head else ():
            for entry in manifest.fetch_manifest_entry(self._table.io):
                commit = entry.snapshot_id or 0
                rows[commit] += entry.data_file.record_count
                files[commit] += 1
                values[commit].add(repr(entry.data_file.partition))
        return [(rows[commit], len(values[commit]), files[commit]) for commit in rows]

    def distinct(self) -> int:
        """Different rows: every row is read and hashed over all its columns (64 bits)."""
        connection, hashes = duckdb.connect(), []
        for batch in self._table.refresh().scan().to_arrow_batch_reader():
            hashed = connection.from_arrow(pa.Table.from_batches([batch])).project("hash(*COLUMNS(*)) AS h")
            hashes.append(hashed.fetchnumpy()["h"])
        return len(np.unique(np.concatenate(hashes))) if hashes else 0

    def times_by_snapshot(self) -> dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """Values of the column `time`, in seconds since the epoch, by the id of the snapshot that added them."""
        return _times_by_snapshot(self._table.refresh())


def _times_by_snapshot(table: Table) -> dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    head = table.current_snapshot()
    parts: dict[int, list[np.ndarray[tuple[int], np.dtype[np.float64]]]] = defaultdict(list)
    for manifest in head.manifests(table.io) if head else ():
        for entry in manifest.fetch_manifest_entry(table.io):
            if entry.snapshot_id is None:
                raise TerminalError(f"{entry.data_file.file_path} does not say which snapshot added it")
            with table.io.new_input(entry.data_file.file_path).open() as file:
                column = pq.read_table(file, columns=["time"]).column("time")
            parts[entry.snapshot_id].append(column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy() / 1e6)
    return {snapshot_id: np.concatenate(arrays) for snapshot_id, arrays in parts.items()}


def warm_window(commits: Sequence[Commit], records: int, share: float = 0.95) -> tuple[Commit, Commit] | None:
    """The first commit, and the first one with `share` of all records; None when they are the same or absent.

    Between them a system runs warm; what it does with its last few records is told by the time to the last row.
    """
    last = next((commit for commit in commits if commit.total_records >= share * records), None)
    return (commits[0], last) if last is not None and last is not commits[0] else None
