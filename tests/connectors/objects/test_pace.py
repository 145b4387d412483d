"""When an object may be complete: never too late for one that is, and not at each poll for one that is not."""

from __future__ import annotations

import pytest

from frazil.connectors.objects.clock import Clock, Tick
from frazil.connectors.objects.pace import LOOK_MS, Seen, is_due, useful_end
from tests.connectors.objects.samples import BY_TIME, sink_with

HOUR = 3_600_000
TIMED = {**BY_TIME, "flush.size": "1000", "rotate.interval.ms": "60000"}


def due(
    end: int, seen: Seen | None, now: int = 0, clock: Clock | None = None, changes: dict[str, str] | None = None
) -> bool:
    config = sink_with({"flush.size": "1000"} | (changes or {}))
    return is_due(config, 100, end, now, seen, clock)


def test_nothing_new_is_never_due() -> None:
    assert not due(100, None)
    assert not due(110, Seen(110, 10, 0))


def test_the_first_run_and_one_that_was_too_short() -> None:
    assert due(101, None)
    assert due(200, Seen(150, 50, 0, limited=True))


@pytest.mark.parametrize(("end", "expected"), [(1099, False), (1100, True)])
def test_flush_size(end: int, expected: bool) -> None:
    assert due(end, Seen(110, 10, 0)) == expected


def test_skipped_records_do_not_count() -> None:
    assert not due(5000, Seen(4900, 10, 0))


def test_a_look_at_records_that_are_too_few_for_an_object() -> None:
    """Each is at twice as many as the last one at least."""
    assert not due(101, Seen(100, 0, 0), LOOK_MS - 1)
    assert due(101, Seen(100, 0, 0), LOOK_MS)
    assert not due(119, Seen(110, 10, 0), LOOK_MS)
    assert due(120, Seen(110, 10, 0), LOOK_MS)


@pytest.mark.parametrize(
    ("end", "seen", "expected"),
    [
        (1099, None, 1099),
        (3199, None, 3100),
        (1109, Seen(110, 10, 0), 1100),
        (1099, Seen(110, 10, 0), 1099),
        (2100, Seen(110, 10, 0), 2100),
        (9000, Seen(5000, 10, 0), 8990),
        (3299, Seen(110, 10, 0, left_out=0.01), 3160),
        (1109, Seen(110, 10, 0, left_out=0.01), 1109),
        (9000, Seen(110, 10, 0, left_out=1.0), 6080),
    ],
)
def test_where_reading_may_end(end: int, seen: Seen | None, expected: int) -> None:
    assert useful_end(sink_with({"flush.size": "1000"}), 100, end, seen) == expected


def test_where_other_triggers_count_everything_is_read() -> None:
    assert useful_end(sink_with(TIMED), 100, 3199, None) == 3199


def test_looks_for_what_may_not_have_come_take_a_part_of_the_time() -> None:
    seen = Seen(110, 10, 0, at_ms=1000, took_ms=200)
    assert not due(120, seen, 1599, changes={"frazil.rotate.bytes": "5"})
    assert due(120, seen, 1600, changes={"frazil.rotate.bytes": "5"})


@pytest.mark.parametrize(("now", "expected"), [(HOUR + 59_999, False), (HOUR + 60_000, True)])
def test_record_time(now: int, expected: bool) -> None:
    assert due(120, Seen(110, 10, HOUR), now, changes=TIMED) == expected


def test_the_next_folder() -> None:
    slow = {**TIMED, "rotate.interval.ms": str(10 * HOUR)}
    assert not due(120, Seen(110, 10, HOUR), 2 * HOUR - 1, changes=slow)
    assert due(120, Seen(110, 10, HOUR), 2 * HOUR, changes=slow)
    assert not due(120, Seen(110, 10, HOUR), 2 * HOUR, changes=slow | {"rotate.file.on.partition.change": "false"})


def test_times_of_fields_may_be_any() -> None:
    assert due(120, Seen(110, 10, HOUR), HOUR, changes={**TIMED, "timestamp.extractor": "RecordField"})


@pytest.mark.parametrize("key", ["frazil.rotate.bytes", "partitioner.max.open.files"])
def test_triggers_that_only_records_tell(key: str) -> None:
    assert due(120, Seen(110, 10, 0), changes={key: "5"})


def test_a_schedule_is_due_without_new_records() -> None:
    clock = Clock(schedule_ms=1000, ticks=[Tick(100, 0), Tick(110, 1500, True)])
    assert due(110, Seen(110, 10, 0), 2000, clock)
    clock.forget(110)
    assert not due(110, Seen(110, 10, 0), 2000, clock)


def test_the_wall_clock() -> None:
    clock = Clock(wallclock=True, ticks=[Tick(100, 0)])
    wall = {**TIMED, "timestamp.extractor": "Wallclock"}
    assert not due(120, Seen(110, 10, -1), 59_999, clock, changes=wall)
    assert due(120, Seen(110, 10, -1), 60_000, clock, changes=wall)
