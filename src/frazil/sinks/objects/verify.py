"""Compares a range of a topic with its objects: which records are missing, doubled or not what the topic has."""

from __future__ import annotations

import gzip
import io
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

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

_METADATA = b'"_metadata":{"processing_timestamp":'
_OFFSET = re.compile(rb'"kafka_offset":([0-9]+),"kafka_timestamp":')


class ObjectReader(Protocol):
    """A bucket, to be looked at."""

    def names(self, prefix: str) -> Iterator[str]:
        """Names of objects that begin so, in order."""

    def get(self, name: str) -> bytes | None:
        """An object; None when there is none."""


@dataclass
class _Expected:
    """Records of a partition that are to be stored: offsets by digest, and by folder where objects tell no texts."""

    check: RangeCheck
    by_digest: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_folder: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    offsets: list[int] = field(default_factory=list)
    total: Sum = field(default_factory=Sum)
    seen: dict[int, int] = field(default_factory=dict)
    """How often each offset was found."""
    found: Sum = field(default_factory=Sum)


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
            expected.offsets.append(offset)
            if names is not None:
                expected.by_folder[names[index]].append(offset)
                continue
            one = digest(_base(text) if self._config.metadata else text)
            expected.by_digest[one].append(offset)
            expected.total.add(one)

    def _names_of(self, records: Records) -> list[str]:
        divided = self._partitioner.divide(records)
        return [self._folders.names[code] if code >= 0 else "" for code in divided.codes]

    def finish(self, store: ObjectReader, advance: Callable[[str], None] = lambda name: None) -> list[RangeCheck]:
        """Look at the objects; `advance` gets the name of each. Raises as `ObjectReader` does."""
        for name in store.names(self._prefix()):
            place = object_place(name, self._config)
            if place is None:
                continue
            folder, topic, partition, first = place
            expected = self._ranges.get((topic, partition))
            if expected is None or first >= expected.check.end:
                continue
            advance(name)
            data = store.get(name)
            if data is None:
                continue  # replaced by a lifecycle rule or by somebody since it was listed; its records are missing
            if self._by_rows:
                self._match_rows(expected, folder, first, pq.ParquetFile(io.BytesIO(data)).metadata.num_rows)
            else:
                self._match_lines(expected, first, gzip.decompress(data) if name.endswith(".gz") else data)
        return [self._concluded(expected) for expected in self._ranges.values()]

    def _prefix(self) -> str:
        layout = self._config.layout
        parts = [layout.topics_dir] if layout.topics_dir else []
        if layout.topic_folder and self._config.transforms is None and len(self._config.topics) == 1:
            parts += [self._config.topics[0]]
        return "".join(part + layout.directory_delimiter for part in parts)

    def _match_lines(self, expected: _Expected, first: int, data: bytes) -> None:
        last = first - 1
        for line in data.split(b"\n")[:-1]:
            one = digest(_base(line) if self._config.metadata else line)
            offset = self._offset_of(expected, one, line, last)
            if offset is None:
                self._not_found(expected, first)
                continue
            last = max(last, offset)
            expected.check.stored += 1
            expected.found.add(one)
            expected.seen[offset] = expected.seen.get(offset, 0) + 1

    def _offset_of(self, expected: _Expected, one: int, line: bytes, last: int) -> int | None:
        candidates = expected.by_digest.get(one, ())
        if self._config.metadata:
            told = _OFFSET.search(line, line.rfind(_METADATA))
            offset = int(told[1]) if told else -1
            return offset if offset in candidates else None
        begin = bisect_left(candidates, last + 1)
        for place in range(begin, len(candidates)):
            if candidates[place] not in expected.seen:
                return candidates[place]
        return candidates[min(begin, len(candidates) - 1)] if candidates else None

    def _match_rows(self, expected: _Expected, folder: str, first: int, count: int) -> None:
        offsets = expected.by_folder.get(folder, [])
        found = offsets[bisect_left(offsets, first) :][:count]
        for offset in found:
            expected.seen[offset] = expected.seen.get(offset, 0) + 1
        expected.check.stored += len(found)
        for _ in range(count - len(found)):
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
        check.missing = sorted([*check.missing, *(one for one in expected.offsets if one not in expected.seen)])
        check.doubled = sorted(offset for offset, count in expected.seen.items() if count > 1)
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
