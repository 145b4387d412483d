"""What the clock changes, and what a replay finds of it."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.objects.clock import MAX_TICKS, Clock, Tick, next_boundary
from frazil.connectors.objects.positions import Metadata, copy_metadata, read_metadata
from tests.connectors.objects.samples import BY_TIME, sink_with

HOUR = 3_600_000
MINUTE = 60_000
LA = ZoneInfo("America/Los_Angeles")


def at(zone: dt.tzinfo, *parts: int) -> int:
    return round(dt.datetime(*parts, tzinfo=zone).timestamp() * 1000)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("now", "expected"),
    [((0, 0, 1), (1, 7)), ((23, 59, 59), (2, 0)), ((16, 59, 59), (1, 21)), ((7, 0, 0), (1, 14)), ((21, 0, 0), (2, 0))],
)
def test_boundaries_count_from_midnight(now: tuple[int, int, int], expected: tuple[int, int]) -> None:
    moment = at(dt.UTC, 2024, 5, 1, *now)
    assert next_boundary(moment, 7 * HOUR, "UTC") == at(dt.UTC, 2024, 5, *expected)


def test_a_day_of_25_hours() -> None:
    ten, eleven = at(LA, 2019, 11, 3, 22), at(LA, 2019, 11, 3, 23)
    assert next_boundary(ten, HOUR, "America/Los_Angeles") == eleven
    assert next_boundary(eleven, HOUR, "America/Los_Angeles") == at(LA, 2019, 11, 4)


@given(
    st.integers(0, 4 * 10**12),
    st.integers(1, 30 * HOUR),
    st.sampled_from(["UTC", "America/Santiago", "Asia/Kolkata", "Australia/Lord_Howe"]),
)
def test_boundaries_lie_ahead_and_not_too_far(now: int, period: int, zone: str) -> None:
    found = next_boundary(now, period, zone)
    assert now < found <= now + min(period, 26 * HOUR)


def scheduled() -> Clock:
    clock = Clock.of(sink_with({"rotate.schedule.interval.ms": str(10 * MINUTE), "timezone": "UTC"}))
    assert clock is not None
    return clock


def wall() -> Clock:
    clock = Clock.of(sink_with({**BY_TIME, "timestamp.extractor": "Wallclock", "rotate.interval.ms": str(HOUR)}))
    assert clock is not None
    return clock


@pytest.mark.parametrize("changes", [{}, BY_TIME, {**BY_TIME, "timestamp.extractor": "RecordField"}])
def test_what_depends_on_records_alone_has_no_clock(changes: dict[str, str]) -> None:
    assert Clock.of(sink_with(changes)) is None


def test_a_schedule_that_is_due_cuts_behind_the_last_record() -> None:
    clock = scheduled()
    assert clock.advance(0, MINUTE)
    assert not clock.advance(3, 2 * MINUTE)
    assert clock.advance(3, 12 * MINUTE)
    assert clock.cuts_behind(2, 3)
    assert clock.cuts(np.array([0, 1, 2]), -1) == []


def test_a_schedule_that_was_due_while_nothing_came() -> None:
    clock = scheduled()
    clock.advance(0, MINUTE)
    clock.advance(0, 12 * MINUTE)
    assert clock.ticks == [Tick(0, 12 * MINUTE, True)]
    clock.advance(3, 23 * MINUTE)
    assert clock.cuts(np.array([0, 1, 2, 3, 4]), -1) == [0, 3]
    clock.forget(3)
    assert clock.ticks == [Tick(3, 23 * MINUTE)]


def test_cuts_lie_before_the_first_record_from_an_offset_on() -> None:
    clock = Clock(schedule_ms=1, ticks=[Tick(0, 1), Tick(5, 2, True), Tick(7, 3, True), Tick(9, 4, True)])
    assert clock.cuts(np.array([3, 4, 8]), -1) == [2]
    assert clock.cuts(np.array([10, 11]), 8) == [0]
    assert clock.cuts(np.array([12]), 11) == []
    assert clock.cuts(np.array([], np.int64), 0) == []
    assert (clock.cuts_behind(8, 9), clock.cuts_behind(8, 8), clock.cuts_behind(9, 20)) == (True, False, False)


def test_the_clock_is_that_of_the_first_read() -> None:
    clock = wall()
    assert clock.advance(0, 0)
    assert not clock.advance(3, 1000)
    assert clock.advance(9, 2 * HOUR)
    assert clock.times(np.array([0, 8, 9, 100])).tolist() == [0, 0, 2 * HOUR, 2 * HOUR]
    assert clock.cuts(np.arange(20), -1) == []
    assert not clock.cuts_behind(0, 100)


def test_a_clock_that_is_set_back_changes_nothing() -> None:
    clock = wall()
    clock.advance(0, 5 * HOUR)
    assert not clock.advance(1, HOUR)
    assert clock.times(np.array([0, 1])).tolist() == [5 * HOUR] * 2


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_notes_of_an_earlier_release_are_read(zone: str) -> None:
    config = sink_with({"rotate.schedule.interval.ms": "1000", "timezone": zone})
    clock = Clock.of(config)
    assert clock is not None
    for second in range(5):
        clock.advance(second * 10, second * 1000)
    kept = msgspec.json.encode(Metadata(frazil=1, ticks=tuple(clock.ticks))).decode()
    again = Clock.of(config, read_metadata(kept).ticks)
    assert again == clock
    assert [tick.offset for tick in again.ticks if tick.cut] == [10, 20, 30, 40]


def test_a_new_bucket_is_noted_at_once() -> None:
    clock = wall()
    clock.advance(0, HOUR - 1000)
    assert not clock.advance(1, HOUR - 1)
    assert clock.advance(2, HOUR)


def test_a_copy_is_known_as_one() -> None:
    assert read_metadata(copy_metadata("c", "t")) == Metadata(frazil=2, cluster="c", topic="t")


@pytest.mark.parametrize("text", ["", "x", "{}", '{"frazil":3,"ticks":[]}', '{"frazil":1,"ticks":[[1]]}', "\x00"])
def test_what_others_stored_is_not_taken(text: str) -> None:
    assert read_metadata(text) == Metadata()


def test_notes_are_limited() -> None:
    clock = Clock(wallclock=True, step_ms=1)
    for number in range(MAX_TICKS):
        clock.advance(2**62 + number, 4 * 10**12 + number)
    assert not any(tick.cut for tick in clock.ticks)
    clock.advance(2**62 + MAX_TICKS, 5 * 10**12)
    assert clock.ticks[-1].cut
