"""Rotation, compared with one record by record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.objects.config.object_sink import RotationConfig
from frazil.connectors.objects.rotation import Arrivals, Changes, Rotation

HOUR = 3_600_000
MINUTE = 60_000
File = tuple[int, list[int]]


@dataclass(frozen=True)
class Arrival:
    """One record: folder, time, bytes, schema, and whether it has no value, or the clock asks for a cut before it."""

    code: int = 0
    time: int = 0
    size: int = 1
    schema: int = 0
    tombstone: bool = False
    scheduled: bool = False


def arrivals(records: Sequence[Arrival], timed: bool = True) -> Arrivals:
    return Arrivals(
        np.array([r.code for r in records], np.int64),
        np.array([r.time for r in records], np.int64) if timed else None,
        np.array([r.size for r in records], np.int64),
        np.array([r.schema for r in records], np.int64),
        np.array([r.tombstone for r in records], np.bool_) if any(r.tombstone for r in records) else None,
        [index for index, r in enumerate(records) if r.scheduled],
    )


def generations(
    config: RotationConfig,
    records: Sequence[Arrival],
    *,
    changes: Changes = int.__ne__,
    timed: bool = True,
    chunks: Sequence[int] = (),
) -> tuple[list[list[int]], list[int]]:
    """The offsets that are stored together, and those that stay open; `chunks` are where chunks end."""
    rotation = Rotation(config, changes)
    stored: list[list[int]] = []
    waiting: list[int] = []
    bounds = [0, *sorted(set(chunks) | {len(records)})]
    for low, high in zip(bounds, bounds[1:], strict=False):
        for segment in rotation.split(arrivals(records[low:high], timed)):
            waiting += range(low + segment.begin, low + segment.end)
            if segment.closes:
                stored.append(waiting)
                waiting = []
        assert rotation.count == len(waiting)
    return stored, waiting


def files(config: RotationConfig, records: Sequence[Arrival]) -> tuple[list[File], list[int]]:
    """Stored objects as (folder, offsets), in order of their first offset, and the offsets that stay open."""
    stored, waiting = generations(config, records)
    found: list[File] = []
    for group in stored:
        found += [(code, [i for i in group if records[i].code == code]) for code in {records[i].code: 0 for i in group}]
    return sorted(found, key=lambda file: file[1][0]), waiting


def test_flush_size_counts_over_all_folders() -> None:
    found, waiting = files(RotationConfig(9), [Arrival(16 + i % 3) for i in range(18)])
    assert [(code, offsets[0], len(offsets)) for code, offsets in found] == [
        (16, 0, 3),
        (17, 1, 3),
        (18, 2, 3),
        (16, 9, 3),
        (17, 10, 3),
        (18, 11, 3),
    ]
    assert waiting == []


@pytest.mark.parametrize("folder_of", [lambda hour: hour, lambda hour: 0], ids=["r2 hourly", "r3 daily"])
def test_record_time(folder_of: object) -> None:
    assert callable(folder_of)
    records = [
        Arrival(folder_of(hour), hour * HOUR + i * 20_000) for hour, count in ((10, 9), (12, 9)) for i in range(count)
    ]
    found, waiting = files(RotationConfig(1000, interval_ms=MINUTE), records)
    assert [offsets[0] for _, offsets in found] == [0, 3, 6, 9, 12]
    assert waiting == [15, 16, 17]


R4 = [Arrival(h, h * HOUR + m * MINUTE) for h, m in ((10, 0), (9, 58), (10, 9), (9, 55), (10, 10))]


def test_folders_side_by_side() -> None:
    found, waiting = files(RotationConfig(100, interval_ms=10 * MINUTE, on_partition_change=False), R4)
    assert found == [(10, [0, 2]), (9, [1, 3])]
    assert waiting == [4]


def test_folders_one_after_the_other() -> None:
    found, waiting = files(RotationConfig(100, interval_ms=10 * MINUTE), R4)
    assert [offsets for _, offsets in found] == [[0], [1], [2], [3]]
    assert waiting == [4]


def test_times_that_go_back_trigger_nothing() -> None:
    times = [10 * HOUR, 8 * HOUR, 31 * HOUR, 29 * HOUR, 34 * HOUR]
    records = [Arrival(time // HOUR, time) for time in times]
    config = RotationConfig(100, interval_ms=24 * HOUR, on_partition_change=False)
    assert files(config, records[:4]) == ([], [0, 1, 2, 3])
    assert [offsets for _, offsets in files(config, records)[0]] == [[0], [1], [2], [3]]


def test_most_open_objects() -> None:
    found, waiting = files(RotationConfig(10, max_open_files=5), [Arrival(i) for i in range(6)])
    assert found == [(i, [i]) for i in range(5)]
    assert waiting == [5]


def test_any_number_of_open_objects() -> None:
    assert [offsets[0] for _, offsets in files(RotationConfig(10), [Arrival()] * 20)[0]] == [0, 10]


def test_without_record_times_the_interval_never_counts() -> None:
    records = [Arrival(0, i * HOUR) for i in range(9)]
    assert generations(RotationConfig(10, interval_ms=MINUTE), records, timed=False) == ([], list(range(9)))


def test_flush_size_rotates_whatever_the_chunks() -> None:
    stored, waiting = generations(RotationConfig(3), [Arrival()] * 10, chunks=[3, 5, 6])
    assert [group[0] for group in stored] == [0, 3, 6]
    assert waiting == [9]


def later_or_other(mode: str) -> Changes:
    """Versions are the numbers of schemas."""
    newer = mode in ("BACKWARD", "FULL")
    return lambda file, record: record > file if newer else record < file


@pytest.mark.parametrize(
    ("case", "schemas", "changes", "sizes"),
    [
        ("S1", [1, 2, 1, 2, 1, 2, 1], int.__ne__, [1, 1, 1, 1, 1, 1]),
        ("S2", [1, 2, 1, 2, 1, 2, 1], later_or_other("BACKWARD"), [1, 2, 2, 2]),
        ("S3", [2, 1, 2, 1, 2, 1, 2], later_or_other("FORWARD"), [1, 2, 2, 2]),
    ],
)
def test_schemas(case: str, schemas: list[int], changes: Changes, sizes: list[int]) -> None:
    stored, _ = generations(RotationConfig(2), [Arrival(schema=s) for s in schemas], changes=changes)
    assert [len(group) for group in stored] == sizes, case


@pytest.mark.parametrize(
    ("kinds", "sizes"), [("t" + "r" * 9, [1, 3, 3, 3]), ("r" * 9 + "tr", [3, 3, 3, 1]), ("ttt", [3])]
)
def test_tombstones_in_the_folder_of_records(kinds: str, sizes: list[int]) -> None:
    stored, _ = generations(RotationConfig(3), [Arrival(schema=1 + (kind == "t")) for kind in kinds])
    assert [len(group) for group in stored] == sizes


def test_tombstones_in_their_folder_are_no_change_of_folder() -> None:
    records = [Arrival(1), Arrival(9, tombstone=True), Arrival(1), Arrival(9, tombstone=True), Arrival(2)]
    config = RotationConfig(100, interval_ms=HOUR)
    assert generations(config, records) == ([[0, 1, 2, 3]], [4])
    assert generations(config, records, chunks=[1, 2, 3, 4]) == ([[0, 1, 2, 3]], [4])


def test_bytes() -> None:
    records = [Arrival(size=size) for size in (40, 60, 10, 100, 250, 1)]
    assert generations(RotationConfig(100, max_bytes=100), records) == ([[0, 1], [2, 3], [4]], [5])


def test_a_schedule_with_nothing_open_stores_nothing() -> None:
    records = [Arrival(scheduled=True), Arrival(), Arrival(scheduled=True), Arrival()]
    assert generations(RotationConfig(100), records) == ([[0, 1]], [2, 3])


def by_hand(config: RotationConfig, records: Sequence[Arrival]) -> tuple[list[list[int]], list[int]]:
    """Section 4, record by record."""
    stored: list[list[int]] = []
    group: list[int] = []
    for index, record in enumerate(records):
        if group:
            first = records[group[0]]
            opened: dict[int, int] = {}
            for other in group:
                opened.setdefault(records[other].code, records[other].schema)
            before = [records[other].code for other in group if not records[other].tombstone]
            moved = bool(before) and not record.tombstone and before[-1] != record.code
            late = config.interval_ms is not None and (
                record.time - first.time >= config.interval_ms or (moved and config.on_partition_change)
            )
            schema = record.code in opened and opened[record.code] != record.schema
            full = record.code not in opened and len(opened) == (config.max_open_files or -1)
            if late or schema or full or record.scheduled:
                stored.append(group)
                group = []
        group.append(index)
        size = sum(records[other].size for other in group)
        if len(group) >= config.flush_size or (config.max_bytes is not None and size >= config.max_bytes):
            stored.append(group)
            group = []
    return stored, group


RECORD = st.builds(
    Arrival,
    st.sampled_from([0, 0, 0, 1, 2]),
    st.integers(0, 60),
    st.integers(1, 9),
    st.sampled_from([0, 0, 0, 0, 1]),
    st.just(False),
    st.sampled_from([False, False, False, True]),
)
TOMBSTONE = st.builds(Arrival, st.just(7), st.integers(0, 60), st.just(0), st.just(0), st.just(True))
CONFIG = st.builds(
    RotationConfig,
    st.integers(1, 30),
    st.none() | st.integers(1, 50),
    st.none(),
    st.just("UTC"),
    st.booleans(),
    st.none() | st.integers(1, 3),
    st.none() | st.integers(1, 60),
)


@given(CONFIG, st.lists(RECORD | TOMBSTONE, max_size=60), st.lists(st.integers(1, 59), max_size=6))
def test_however_records_are_divided_into_chunks(
    config: RotationConfig, records: list[Arrival], chunks: list[int]
) -> None:
    expected = by_hand(config, records)
    assert generations(config, records, chunks=[c for c in chunks if c < len(records)]) == expected


@given(CONFIG, st.lists(RECORD | TOMBSTONE, min_size=1, max_size=60))
def test_a_replay_from_any_cut_cuts_at_the_same_places(config: RotationConfig, records: list[Arrival]) -> None:
    stored, waiting = generations(config, records)
    for number in range(len(stored)):
        start = stored[number][0]
        again, rest = generations(config, records[start:])
        assert [[start + i for i in group] for group in again] == stored[number:]
        assert [start + i for i in rest] == waiting
