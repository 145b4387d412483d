"""When records are due for a sink without open objects, against a model of what waits."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
import pytest
from hypothesis import given

from frazil.connectors import sink
from frazil.connectors.sink import CommitInterval, Due
from frazil.pipeline.offsets import Offsets

KEYS = [("t", 0), ("t", 1), ("u", 0)]
A, B, C = KEYS


@dataclass
class Clock:
    """Seconds that pass when the test says so."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_first_records_are_due_at_once() -> None:
    pace = CommitInterval(10_000, 500_000, Clock())
    assert pace.due({A: 5}, {A: 7, B: 0}, 42) == Due({A: 7, B: 0}, frozenset(), 42)


def test_few_records_wait_for_the_interval_which_begins_with_the_batch_before() -> None:
    clock = Clock()
    pace = CommitInterval(10_000, 500_000, clock)
    pace.began()
    clock.now += 9.9
    assert pace.due({}, {A: 99_999}, 0) == Due()
    clock.now += 0.1
    assert pace.due({}, {A: 99_999}, 0).ends == {A: 99_999}


def test_after_idling_the_first_record_is_due_at_once() -> None:
    clock = Clock()
    pace = CommitInterval(10_000, 500_000, clock)
    pace.began()
    clock.now += 60
    assert pace.due({A: 3}, {A: 3}, 0) == Due()
    assert pace.due({A: 3}, {A: 4}, 0).ends == {A: 4}


@pytest.mark.parametrize(("max_records", "burst"), [(500_000, 100_000), (1000, 1000)])
def test_a_burst_is_due_before_the_interval_is_over(max_records: int, burst: int) -> None:
    pace = CommitInterval(10_000, max_records, Clock())
    pace.began()
    assert pace.due({}, {A: burst - 1}, 0) == Due()
    assert pace.due({}, {A: burst - 1, B: 1}, 0).ends == {A: burst - 1, B: 1}


def test_of_a_backlog_each_partition_has_its_share() -> None:
    due = CommitInterval(10_000, 500_000, Clock()).due({A: 0, B: 100, C: 7}, {A: 900_000, B: 300_100, C: 7}, 3)
    assert due == Due({A: 375_000, B: 125_100, C: 7}, frozenset([A, B]), 3)


POSITIONS = st.fixed_dictionaries({key: st.integers(0, 1000) for key in KEYS})
WAITING = st.fixed_dictionaries({key: st.integers(0, 500) for key in KEYS})


@given(POSITIONS, WAITING, st.integers(1, 600))
def test_a_batch_of_a_backlog_is_as_long_as_it_may_be_and_no_partition_starves(
    position: Offsets, waiting: Offsets, max_records: int
) -> None:
    ends = {key: position[key] + waiting[key] for key in KEYS}
    due = CommitInterval(0, max_records, Clock()).due(position, ends, 0)
    total = sum(waiting.values())
    if not total:
        assert due == Due()
        return
    taken = {key: due.ends[key] - position[key] for key in KEYS}
    assert due.ends.keys() == ends.keys()
    assert all(0 <= taken[key] <= waiting[key] for key in KEYS)
    assert due.more == {key for key in KEYS if taken[key] < waiting[key]}
    assert all(taken[key] for key in KEYS if waiting[key]), "a partition with few records would wait for ever"
    assert all(taken[key] >= min(max_records / total, 1) * waiting[key] for key in KEYS), "less than its share"
    assert min(total, max_records) <= sum(taken.values()) < max_records + len(KEYS)


ARRIVALS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 40), st.floats(0, 3)), min_size=1, max_size=30)


@given(ARRIVALS, st.integers(1, 60), st.integers(0, 5000))
def test_all_records_come_in_time_and_in_order(
    arrivals: list[tuple[tuple[str, int], int, float]], max_records: int, interval_ms: int
) -> None:
    """A look comes with each arrival, and many when no more arrive; batches take no time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sink, "_BURST_RECORDS", 30)
        clock = Clock()
        pace = CommitInterval(interval_ms, max_records, clock)
        position, ends = dict.fromkeys(KEYS, 0), dict.fromkeys(KEYS, 0)
        began = None
        for key, count, pause in [*arrivals, *[(A, 0, 6.0)] * 1200]:
            ends[key] += count
            clock.now += pause
            due = pace.due(position, ends, round(clock.now * 1000))
            waiting = sum(ends.values()) - sum(position.values())
            over = began is None or clock.now - began >= interval_ms / 1000
            assert bool(due.ends) == (waiting > 0 and (over or waiting >= min(30, max_records)))
            if due.ends:
                began = clock.now
                pace.began()
                assert all(position[each] <= due.ends[each] <= ends[each] for each in KEYS)
                position = due.ends
        assert position == ends
