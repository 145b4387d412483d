"""Compares a range of a topic with its objects: which records are missing, doubled or not what the topic has."""

from __future__ import annotations

import gzip
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

import fastavro
import pyarrow.parquet as pq

from frazil.connectors.checks.compare import Part, Progress
from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck, digest
from frazil.connectors.objects.config.object_sink import FormatConfig, FormatKind, ObjectSinkConfig
from frazil.connectors.objects.formats.avro import has_other_names
from frazil.connectors.objects.naming import ENDINGS
from frazil.connectors.objects.partitioners import Folders, Partitioner
from frazil.connectors.objects.prepare import Preparer
from frazil.connectors.objects.provenance import MEMBER
from frazil.connectors.objects.records import Records
from frazil.declare.converters import JSON_CONVERTER
from frazil.errors import NotComparable
from frazil.pipeline.rows import Rows


class Judged(ABC):
    """Takes records as the connector prepares them, into ranges by topic and Kafka partition.

    What was refused has a dead letter, so that the JSON Schema is left out: that of then may not be that of now.
    """

    def __init__(self, config: ObjectSinkConfig, target: str, part: Part) -> None:
        self._config, self._part = config, part
        self._preparer = Preparer(replace(config, json_schema=None))
        self._ranges = {key: Expected(RangeCheck(target, *key, part.begin[key], part.end[key])) for key in part.begin}

    def take(self, rows: Rows) -> None:
        """Take rows of one partition, in order."""
        expected = self._ranges[rows.topic, rows.partition]
        check = expected.check
        check.read += len(rows)
        rows, dead = self._part.divided(rows)
        check.dead += len(dead)
        if not len(rows):
            return
        prepared = self._preparer.prepare(rows, {})
        check.skipped += len(prepared.dropped) + len(prepared.tombstones)
        for offset, error in prepared.failed.items():
            check.refuse(offset, error)
        self._expect(expected, prepared.records)

    @abstractmethod
    def _expect(self, expected: Expected, records: Records) -> None:
        """Note records that are to be stored; one without a value among them is one to store the key of."""

    @abstractmethod
    def finish(self, progress: Progress) -> list[RangeCheck]:
        """Look at what is stored, once all records are taken."""


_METADATA = b'"_metadata":{"processing_timestamp":'
_OFFSET = re.compile(rb'"kafka_offset":([0-9]+),"kafka_timestamp":')


class ObjectReader(Protocol):
    """A bucket, to be looked at."""

    def names(self, prefix: str) -> Iterator[str]:
        """Names of objects that begin so, in order."""

    def get(self, name: str) -> bytes | None:
        """An object; None when there is none."""


class ObjectCheck(Judged):
    """Compares records with the objects of a bucket; see `RangeCheck` for what it finds."""

    def __init__(self, config: ObjectSinkConfig, part: Part, store: ObjectReader) -> None:
        """Raises NotComparable for a connector whose records cannot be told apart.

        A part that ends where the connector stands has all records of the objects that begin in it.
        """
        if config.format.kind == "bytes":
            raise NotComparable(
                f"connector {config.name} stores bytes, whose records cannot be told apart. Nothing was compared; "
                "count them with tools that know their format."
            )
        super().__init__(config, f"s3://{config.store.bucket}", part)
        self._store = store
        found = {place.kind for place in self._places() if (place.topic, place.partition) in self._ranges}
        self._has_lines = "json" in found or config.format.kind == "json"
        """Whether there are JSON Lines; they and files with columns lie side by side after a change of the format."""
        self._has_rows = found != {"json"} if found else config.format.kind != "json"
        if self._has_lines:  # which has records that no column can hold
            written = replace(config, format=FormatConfig("json", numeric_decimals=config.format.numeric_decimals))
            self._preparer = Preparer(replace(written, json_schema=None))
        self._folders = Folders()
        self._partitioner = Partitioner(config, self._folders, self._preparer.schemas)
        self._by_values = config.value_converter == JSON_CONVERTER and not config.schemas_enable
        """Columns of a schema do not tell the JSON that they were made from, such as a date from its number."""
        self._counted = False
        self._renamed = 0
        partitioning = config.partitioning
        if self._has_rows and partitioning.duration_ms > 0 and partitioning.extractor == "Wallclock":
            raise NotComparable(
                f"connector {config.name} divides files with columns by the wall clock, so what belongs in which "
                "cannot be told afterwards. Nothing was compared."
            )

    def _expect(self, expected: Expected, records: Records) -> None:
        check = expected.check
        names = self._names_of(records) if self._has_rows else None
        for index, text in enumerate(records.texts.to_pylist()):
            offset = int(records.offsets[index])
            if text is None:
                check.skipped += 1
                continue
            check.expected += 1
            one = digest(_base(text) if self._config.metadata else text)
            if names is not None:
                expected.add_row(offset, one, names[index], text)
            else:
                expected.add(offset, one)

    def _names_of(self, records: Records) -> list[str]:
        divided = self._partitioner.divide(records)
        return [self._folders.names[code] if code >= 0 else "" for code in divided.codes]

    def finish(self, progress: Progress) -> list[RangeCheck]:
        """See `Judged`. Raises as `ObjectReader` does."""
        for expected in self._ranges.values():
            expected.close()
        for place in self._places():
            of_partition = self._ranges.get((place.topic, place.partition))
            if of_partition is None or place.first >= of_partition.check.end:
                continue
            progress(f"object {place.name}", 0, 0)
            data = self._store.get(place.name)
            if data is None:
                continue  # replaced by a lifecycle rule or by somebody since it was listed; its records are missing
            if place.kind != "json":
                self._match_rows(of_partition, place, FileRows(data, place.kind))
            else:
                lines = gzip.decompress(data) if place.name.endswith(".gz") else data
                self._match_lines(of_partition, place.first, lines)
        return [self._concluded(expected) for expected in self._ranges.values()]

    def _places(self) -> Iterator[ObjectPlace]:
        """List the objects with data that the connector may have written, in whatever format it had then."""
        for name in self._store.names(self._prefix()):
            place = object_place(name, self._config)
            if place is not None:
                yield place

    def _prefix(self) -> str:
        layout = self._config.layout
        parts = [layout.topics_dir] if layout.topics_dir else []
        if layout.topic_folder and self._config.transforms is None and len(self._config.topics) == 1:
            parts += [self._config.topics[0]]
        return "".join(part + layout.directory_delimiter for part in parts)

    def _match_lines(self, expected: Expected, first: int, data: bytes) -> None:
        lines = data.split(b"\n")[:-1]
        digests = [digest(_base(line) if self._config.metadata else line) for line in lines]
        last = first - 1
        for line, (begin, end) in zip(lines, expected.ranges(digests), strict=True):
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
            expected.count(place)

    def _match_rows(self, expected: Expected, found: ObjectPlace, file: FileRows) -> None:
        first = found.first
        places = expected.rows(found.folder, first, file.count).tolist()
        for place, row in zip(places, file.rows(), strict=False) if self._by_values else ():
            text = expected.text(place)
            if not holds(row, text):
                if found.kind != "avro" or not has_other_names(json.loads(text)):
                    self._not_found(expected, first)
                    continue
                self._renamed += 1
            expected.count(place)
        if not self._by_values:
            self._counted = True
            expected.check.stored += int((expected.counts[places] == 0).sum())
            expected.counts[places] += 1
        for _ in range(file.count - len(places)):
            self._not_found(expected, first)

    def _not_found(self, expected: Expected, first: int) -> None:
        check = expected.check
        if first < check.begin or self._part.limits.end is not None:
            check.unknown += 1
        else:
            check.foreign += 1

    def _concluded(self, expected: Expected) -> RangeCheck:
        check = expected.conclude(compared=not self._counted)
        if self._counted:
            check.notes.append("rows of files with columns of a schema are counted, not compared")
        if self._renamed:
            check.notes.append("records with names that Avro does not have are counted, not compared")
        return check


@dataclass(frozen=True)
class ObjectPlace:
    """An object with data, as its name tells it. `first` is the offset of its first record."""

    name: str
    folder: str
    topic: str
    partition: int
    first: int
    kind: FormatKind


def object_place(name: str, config: ObjectSinkConfig) -> ObjectPlace | None:
    """Read the name of an object with JSON Lines or columns; None for any other object."""
    layout = config.layout
    for ending, kind in ENDINGS.items():
        if not name.endswith(ending):
            continue
        folder, _, base = name[: -len(ending)].rpartition(layout.directory_delimiter)
        parts = base.rsplit(layout.file_delimiter, 2)
        if len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts[1:]):
            before = folder + layout.directory_delimiter if folder else ""
            return ObjectPlace(name, before, parts[0], int(parts[1]), int(parts[2]), kind)
    return None


def _base(text: bytes) -> bytes:
    """A record without where it came from, as it stands before that."""
    place = text.rfind(_METADATA)
    if place < 0:
        return text.rstrip()[:-1].rstrip()
    return text[:place].removesuffix(b",")


TEXT_COLUMN = "value"
"""The only column of files whose records have no member with a value."""


def holds(row: Mapping[str, Any], text: bytes) -> bool:
    """Whether a row has the values of a record, each as it is or, in a column of text, as its JSON.

    Members that are null, and objects and arrays without values, may have no column.
    """
    sent = json.loads(text, parse_float=Decimal)
    return _same(row, sent) or (row.keys() == {TEXT_COLUMN} and row[TEXT_COLUMN] == text.decode())


def _same(stored: Any, sent: Any) -> bool:
    if stored is None:
        return not _has_values(sent)
    if isinstance(stored, str):
        return stored == sent if isinstance(sent, str) else _is_text_of(stored, sent)
    if isinstance(stored, dict):
        return isinstance(sent, dict) and all(
            _same(stored.get(name), sent.get(name)) for name in stored.keys() | sent.keys()
        )
    if isinstance(stored, list):
        return isinstance(sent, list) and len(stored) == len(sent) and all(map(_same, stored, sent))
    if isinstance(stored, bool) or isinstance(sent, bool):
        return stored is sent
    return isinstance(sent, int | Decimal) and (float(sent) == stored if isinstance(stored, float) else sent == stored)


def _is_text_of(stored: str, sent: Any) -> bool:
    try:
        return bool(json.loads(stored, parse_float=Decimal) == sent)
    except ValueError:
        return False


def _has_values(sent: Any) -> bool:
    if isinstance(sent, dict):
        return any(map(_has_values, sent.values()))
    return any(map(_has_values, sent)) if isinstance(sent, list) else sent is not None


_ROWS = 4096


class FileRows:
    """The rows of a Parquet or Avro file that is held in memory."""

    def __init__(self, data: bytes, kind: FormatKind) -> None:
        self._data = data
        self._kind = kind

    @property
    def count(self) -> int:
        """Number of rows."""
        if self._kind == "avro":
            return sum(block.num_records for block in fastavro.block_reader(io.BytesIO(self._data)))
        return int(pq.ParquetFile(io.BytesIO(self._data)).metadata.num_rows)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows as values by column, without where the record came from (`_metadata`)."""
        rows: Iterable[Any] = fastavro.reader(io.BytesIO(self._data)) if self._kind == "avro" else self._parquet()
        for row in rows:
            yield {name: value for name, value in row.items() if name != MEMBER}

    def _parquet(self) -> Iterator[dict[str, Any]]:
        for batch in pq.ParquetFile(io.BytesIO(self._data)).iter_batches(_ROWS):
            yield from batch.to_pylist()
