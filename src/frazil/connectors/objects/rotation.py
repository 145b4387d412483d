"""Rotation: when the open objects of a Kafka partition are stored.

Each trigger stores all of them and starts afresh with the next record, so what is stored is a function of the records
since the last time, and of nothing else: a replay from there cuts at the same offsets.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from frazil.connectors.objects.config.object_sink import RotationConfig

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Changes = Callable[[int, int], bool]
"""Whether a record of the second schema needs another object than one of the first."""

_BLOCK = 256


@dataclass(frozen=True)
class Arrivals:
    """Consecutive records of one Kafka partition, as far as rotation looks at them.

    `codes` are numbers of folders. `times` are record times in epoch ms, where the partitioner tells them. `sizes` are
    bytes of values. `schemas` are numbers of schemas, where records have one. `tombstones` marks records without a
    value that have a folder of their own. `scheduled` are positions, ascending, before which the clock asks for a cut.
    `offsets` are there where a record may have several entries, which are stored at once.
    """

    codes: Numbers
    times: Numbers | None = None
    sizes: Numbers | None = None
    schemas: Numbers | None = None
    tombstones: Flags | None = None
    scheduled: Sequence[int] = ()
    offsets: Numbers | None = None

    @cached_property
    def moving(self) -> Numbers:
        """Positions of the records whose folders are compared with each other."""
        if self.tombstones is None:
            return np.arange(len(self.codes))
        return np.flatnonzero(~self.tombstones)

    @cached_property
    def moves(self) -> tuple[Numbers, Numbers]:
        """Positions of records in another folder than the record before them, and of these."""
        codes = self.codes[self.moving]
        changed = np.flatnonzero(codes[1:] != codes[:-1])
        return self.moving[changed + 1], self.moving[changed]

    @cached_property
    def sums(self) -> Numbers:
        """Bytes of the values up to each position, excluding it."""
        sizes = np.zeros(0, np.int64) if self.sizes is None else self.sizes
        return np.concatenate([[0], np.cumsum(sizes)])


@dataclass(frozen=True)
class Segment:
    """Records `begin` to below `end` go to the open objects; with `closes` these are stored then."""

    begin: int
    end: int
    closes: bool


class Rotation:
    """Divides the records of one Kafka partition; used for consecutive chunks of them."""

    def __init__(self, config: RotationConfig, changes: Changes = int.__ne__) -> None:
        self._config = config
        self._changes = changes
        self.start()

    def start(self) -> None:
        """Begin with the next record, as with the first one."""
        self.count = 0
        """Records in the open objects."""
        self._bytes = 0
        self._base = 0
        self._code = -1
        self._open: dict[int, int] = {}

    def split(self, arrivals: Arrivals) -> Iterator[Segment]:
        """The segments of a chunk, in order; all but the last one close."""
        count = len(arrivals.codes)
        begin = 0
        while begin < count:
            if not self.count and arrivals.times is not None:
                self._base = int(arrivals.times[begin])
            end, closes = self._next(arrivals, begin)
            yield Segment(begin, end, closes)
            if closes:
                self.start()
            else:
                self._take(arrivals, begin)
            begin = end

    def _take(self, arrivals: Arrivals, begin: int) -> None:
        """Remember the records that the chunk ends with."""
        self.count += len(arrivals.codes) - begin
        self._bytes += int(arrivals.sums[-1] - arrivals.sums[begin]) if arrivals.sizes is not None else 0
        if len(arrivals.moving) and arrivals.moving[-1] >= begin:
            self._code = int(arrivals.codes[arrivals.moving[-1]])
        if self._follows_folders(arrivals):
            for index in range(begin, len(arrivals.codes)):
                self._open.setdefault(int(arrivals.codes[index]), _schema(arrivals, index))

    def _follows_folders(self, arrivals: Arrivals) -> bool:
        return arrivals.schemas is not None or self._config.max_open_files is not None

    def _next(self, arrivals: Arrivals, begin: int) -> tuple[int, bool]:
        """Find the end of the segment from `begin`, and whether a trigger ends it."""
        config, count = self._config, len(arrivals.codes)
        end = begin + config.flush_size - self.count
        if config.max_bytes is not None and arrivals.sizes is not None:
            full = arrivals.sums[begin] + config.max_bytes - self._bytes
            end = min(end, max(int(np.searchsorted(arrivals.sums, full)), begin + 1))
        first = begin if self.count else begin + 1
        for find in (self._scheduled, self._moved, self._late, self._refused):
            found = find(arrivals, begin, first, min(end, count))
            end = end if found is None else min(end, found)
        if arrivals.offsets is not None and begin < end < count:
            end = int(np.searchsorted(arrivals.offsets, arrivals.offsets[end - 1], side="right"))
        return (end, True) if end <= count else (count, False)

    def _scheduled(self, arrivals: Arrivals, begin: int, first: int, stop: int) -> int | None:
        return next((position for position in arrivals.scheduled if first <= position < stop), None)

    def _moved(self, arrivals: Arrivals, begin: int, first: int, stop: int) -> int | None:
        """The first record whose folder is not that of the record before it."""
        if self._config.interval_ms is None or not self._config.on_partition_change or arrivals.times is None:
            return None
        if self._code >= 0 and begin == 0 and len(arrivals.moving):
            start = int(arrivals.moving[0])
            if start < stop and arrivals.codes[start] != self._code:
                return start
        here, before = arrivals.moves
        found = max(int(np.searchsorted(here, first)), int(np.searchsorted(before, begin)))
        return int(here[found]) if found < len(here) and here[found] < stop else None

    def _late(self, arrivals: Arrivals, begin: int, first: int, stop: int) -> int | None:
        """The first record whose time is an interval after that of the first record of the open objects."""
        if self._config.interval_ms is None or arrivals.times is None:
            return None
        limit, size = self._base + self._config.interval_ms, _BLOCK
        while first < stop:
            late = np.flatnonzero(arrivals.times[first : min(first + size, stop)] >= limit)
            if len(late):
                return first + int(late[0])
            first, size = first + size, 2 * size
        return None

    def _refused(self, arrivals: Arrivals, begin: int, first: int, stop: int) -> int | None:
        """The first record that the open object of its folder cannot take, or that would open one too many."""
        if not self._follows_folders(arrivals):
            return None
        limit = self._config.max_open_files
        opened = dict(self._open)
        for index in range(begin, stop):
            code, schema = int(arrivals.codes[index]), _schema(arrivals, index)
            known = opened.get(code)
            if known is None:
                if limit is not None and len(opened) >= limit:
                    return index
                opened[code] = schema
            elif known != schema and self._changes(known, schema):
                return index
        return None


def _schema(arrivals: Arrivals, index: int) -> int:
    return -1 if arrivals.schemas is None else int(arrivals.schemas[index])
