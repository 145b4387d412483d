"""Compares a range of a topic with its objects: which records are missing, doubled or not what the topic has."""

from __future__ import annotations

import gzip
import io
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from frazil.config.object_sink import ObjectSinkConfig
from frazil.errors import ConfigError
from frazil.pipeline.offsets import Offsets
from frazil.sinks.checks.result import RangeCheck, Sum, digest
from frazil.sinks.objects.naming import extension
from frazil.sinks.objects.partitioners import Folders, Partitioner
from frazil.sinks.objects.prepare import Preparer
from frazil.sinks.objects.records import Records
from frazil.sinks.objects.rotation import Numbers

_METADATA = b'"_metadata":{"processing_timestamp":'
_OFFSET = re.compile(rb'"kafka_offset":([0-9]+),"kafka_timestamp":')


class ObjectReader(Protocol):
    """A bucket, to be looked at."""

    def names(self, prefix: str) -> Iterator[str]:
        """Names of objects that begin so, in order."""

    def get(self, name: str) -> bytes | None:
        """An object; None when there is none."""


class _Expected:
    """Records of a partition that are to be stored, and how often each was found.

    They are looked up by digest, or by folder where objects tell no texts.
    """

    def __init__(self, check: RangeCheck) -> None:
        self.check = check
        self.total, self.found = Sum(), Sum()
        self._offsets = array("q")
        self._digests = array("Q")
        self._folders: dict[str, array[int]] = defaultdict(lambda: array("q"))
        """Places among the offsets."""

    def add(self, offset: int, digest_: int) -> None:
        """Expect a record with this text."""
        self._offsets.append(offset)
        self._digests.append(digest_)
        self.total.add(digest_)

    def add_row(self, offset: int, folder: str) -> None:
        """Expect a record in this folder."""
        self._folders[folder].append(len(self._offsets))
        self._offsets.append(offset)

    def close(self) -> None:
        """No more are expected; from now on they stand in the order of their digests, equal ones in that of offsets."""
        offsets = np.frombuffer(self._offsets, np.int64) if self._offsets else np.zeros(0, np.int64)
        digests = np.frombuffer(self._digests, np.uint64) if self._digests else np.zeros(len(offsets), np.uint64)
        order = np.argsort(digests, kind="stable")
        self._sorted = digests[order]
        self.offsets = offsets[order]
        self.counts = np.zeros(len(offsets), np.uint32)

    def ranges(self, digests: Sequence[int]) -> list[tuple[int, int]]:
        """For each digest where its records stand."""
        wanted = np.array(digests, np.uint64)
        begin, end = (np.searchsorted(self._sorted, wanted, side) for side in ("left", "right"))
        return list(zip(begin.tolist(), end.tolist(), strict=True))

    def after(self, begin: int, end: int, last: int) -> int:
        """Of equal records the next one behind an offset that was not found yet; else the next, else the first."""
        place = begin + int(np.searchsorted(self.offsets[begin:end], last, side="right"))
        if place < end and not self.counts[place]:
            return place
        fresh = place + int(np.argmin(self.counts[place:end])) if place < end else end
        if fresh < end and not self.counts[fresh]:
            return fresh
        return place if place < end else begin

    def at(self, begin: int, end: int, offset: int) -> int | None:
        """Of equal records the one with this offset."""
        place = begin + int(np.searchsorted(self.offsets[begin:end], offset))
        return place if place < end and self.offsets[place] == offset else None

    def rows(self, folder: str, first: int, count: int) -> Numbers:
        """Places of so many records of a folder, from an offset on."""
        found = np.array(self._folders.get(folder, ()), np.int64)
        begin = int(np.searchsorted(self.offsets[found], first)) if len(found) else 0
        return found[begin : begin + count]


class ObjectCheck:
    """Takes the records of a range, then looks at the objects; see `RangeCheck` for what it finds.

    `dead` are the records that have dead letters. Raises ConfigError for a format whose records cannot be told apart.
    """

    def __init__(
        self,
        config: ObjectSinkConfig,
        begin: Offsets,
        end: Offsets,
        dead: Collection[tuple[str, int, int]],
        *,
        whole: bool = True,
    ) -> None:
        """With `whole` the range ends where the connector stands: no object begun in it has records behind it."""
        if config.format.kind == "bytes":
            raise ConfigError(
                f"connector {config.name} stores bytes, whose records cannot be told apart. Nothing was compared; "
                "count them with tools that know their format."
            )
        # What was refused has a dead letter; the schema of then may not be that of now.
        self._config = replace(config, json_schema=None)
        self._dead = frozenset(dead)
        self._whole = whole
        self._preparer = Preparer(self._config)
        self._folders = Folders()
        self._partitioner = Partitioner(self._config, self._folders, self._preparer.schemas)
        self._by_rows = config.format.kind == "parquet"
        self._ranges = {
            key: _Expected(RangeCheck(f"s3://{config.store.bucket}", *key, begin[key], end[key])) for key in begin
        }
        if self._by_rows and self._wallclock:
            raise ConfigError(
                f"connector {config.name} divides Parquet files by the wall clock, so what belongs in which cannot be "
                "told afterwards. Nothing was compared."
            )

    @property
    def _wallclock(self) -> bool:
        partitioning = self._config.partitioning
        return partitioning.duration_ms > 0 and partitioning.extractor == "Wallclock"

    def take(self, rows: pa.RecordBatch) -> None:
        """Take rows of one partition, in order."""
        key = rows.column("topic")[0].as_py(), rows.column("partition")[0].as_py()
        expected = self._ranges[key]
        check = expected.check
        check.read += rows.num_rows
        offsets = rows.column("offset").to_pylist()
        lost = [(*key, offset) in self._dead for offset in offsets]
        check.dead += sum(lost)
        rows = rows.filter(pa.array([not one for one in lost]))
        if not rows.num_rows:
            return
        prepared = self._preparer.prepare(rows, {})
        records = prepared.records
        check.skipped += len(prepared.dropped) + len(prepared.tombstones)
        for offset, error in prepared.failed.items():
            check.expected += 1
            check.missing.append(offset)
            if len(check.notes) < 1:
                check.notes.append(f"offset {offset} cannot be stored ({error}), and there is no dead letter for it")
        names = self._names_of(records) if self._by_rows else None
        for index, text in enumerate(records.texts.to_pylist()):
            offset = int(records.offsets[index])
            if text is None:
                check.skipped += 1
                continue
            check.expected += 1
            if names is not None:
                expected.add_row(offset, names[index])
            else:
                expected.add(offset, digest(_base(text) if self._config.metadata else text))

    def _names_of(self, records: Records) -> list[str]:
        divided = self._partitioner.divide(records)
        return [self._folders.names[code] if code >= 0 else "" for code in divided.codes]

    def finish(self, store: ObjectReader, advance: Callable[[str], None] = lambda name: None) -> list[RangeCheck]:
        """Look at the objects; `advance` gets the name of each. Raises as `ObjectReader` does."""
        for expected in self._ranges.values():
            expected.close()
        for name in store.names(self._prefix()):
            place = object_place(name, self._config)
            if place is None:
                continue
            folder, topic, partition, first = place
            of_partition = self._ranges.get((topic, partition))
            if of_partition is None or first >= of_partition.check.end:
                continue
            advance(name)
            data = store.get(name)
            if data is None:
                continue  # replaced by a lifecycle rule or by somebody since it was listed; its records are missing
            if self._by_rows:
                self._match_rows(of_partition, folder, first, pq.ParquetFile(io.BytesIO(data)).metadata.num_rows)
            else:
                self._match_lines(of_partition, first, gzip.decompress(data) if name.endswith(".gz") else data)
        return [self._concluded(expected) for expected in self._ranges.values()]

    def _prefix(self) -> str:
        layout = self._config.layout
        parts = [layout.topics_dir] if layout.topics_dir else []
        if layout.topic_folder and self._config.transforms is None and len(self._config.topics) == 1:
            parts += [self._config.topics[0]]
        return "".join(part + layout.directory_delimiter for part in parts)

    def _match_lines(self, expected: _Expected, first: int, data: bytes) -> None:
        lines = data.split(b"\n")[:-1]
        digests = [digest(_base(line) if self._config.metadata else line) for line in lines]
        last = first - 1
        for line, one, (begin, end) in zip(lines, digests, expected.ranges(digests), strict=True):
            place: int | None = None
            if self._config.metadata and begin < end:
                told = _OFFSET.search(line, line.rfind(_METADATA))
                place = expected.at(begin, end, int(told[1]) if told else -1)
            elif begin < end:
                place = expected.after(begin, end, last)
            if place is None:
                self._not_found(expected, first)
                continue
            last = max(last, int(expected.offsets[place]))
            expected.check.stored += 1
            expected.found.add(one)
            expected.counts[place] += 1

    def _match_rows(self, expected: _Expected, folder: str, first: int, count: int) -> None:
        places = expected.rows(folder, first, count)
        expected.counts[places] += 1
        expected.check.stored += len(places)
        for _ in range(count - len(places)):
            self._not_found(expected, first)

    def _not_found(self, expected: _Expected, first: int) -> None:
        check = expected.check
        if first < check.begin or not self._whole:
            check.unknown += 1
        else:
            check.stored += 1
            check.foreign += 1

    def _concluded(self, expected: _Expected) -> RangeCheck:
        check = expected.check
        check.missing = sorted([*check.missing, *expected.offsets[expected.counts == 0].tolist()])
        check.doubled = sorted(expected.offsets[expected.counts > 1].tolist())
        if self._by_rows:
            check.notes.append("columns of Parquet files are counted, not compared")
        else:
            check.expected_sum, check.stored_sum = str(expected.total), str(expected.found)
        return check


def object_place(name: str, config: ObjectSinkConfig) -> tuple[str, str, int, int] | None:
    """Folder, topic, Kafka partition and first offset of an object with data; None for any other object."""
    layout = config.layout
    ending = extension(config.format)
    if not name.endswith(ending):
        return None
    folder, _, base = name[: -len(ending)].rpartition(layout.directory_delimiter)
    parts = base.rsplit(layout.file_delimiter, 2)
    if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdigit() and parts[2].isascii() and parts[2].isdigit()):
        return None
    return folder + layout.directory_delimiter if folder else "", parts[0], int(parts[1]), int(parts[2])


def _base(text: bytes) -> bytes:
    """A record without where it came from, as it stands before that."""
    place = text.rfind(_METADATA)
    if place < 0:
        return text.rstrip()[:-1].rstrip()
    return text[:place].removesuffix(b",")
