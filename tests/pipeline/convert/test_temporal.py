from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.convert.temporal import date_to_days, time_to_micros, timestamp_to_nanos

EPOCH = datetime(1970, 1, 1)


@given(st.dates())
def test_days_count_from_the_epoch(day: date) -> None:
    assert EPOCH.date() + timedelta(days=date_to_days(day.isoformat())) == day


@given(st.times())
def test_times_keep_every_microsecond(time: datetime) -> None:
    micros = time_to_micros(time.isoformat())
    assert (EPOCH + timedelta(microseconds=micros)).time() == time


@given(st.datetimes(), st.sampled_from(["T", "t", " "]), st.integers(0, 999))
def test_timestamps_keep_every_nanosecond(moment: datetime, gap: str, nanos: int) -> None:
    text = f"{moment.isoformat(gap, 'microseconds')}{nanos:03}"
    expected = (moment - EPOCH) // timedelta(microseconds=1) * 1000 + nanos
    assert timestamp_to_nanos(text, apply_offset=True) == timestamp_to_nanos(f"{text}z", apply_offset=False) == expected


@given(st.datetimes(), st.integers(-1439, 1439), st.sampled_from(["", ":"]))
def test_an_offset_is_applied_or_dropped(moment: datetime, minutes: int, colon: str) -> None:
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    text = f"{moment.isoformat()}{sign}{size // 60:02}{colon}{size % 60:02}"
    dropped = timestamp_to_nanos(text, apply_offset=False)
    assert dropped == (moment - EPOCH) // timedelta(microseconds=1) * 1000
    assert dropped - timestamp_to_nanos(text, apply_offset=True) == minutes * 60 * 10**9


def test_midnight_at_the_end_of_a_day_is_the_next_day() -> None:
    next_day = timestamp_to_nanos("2025-03-01T00:00:00Z", apply_offset=True)
    assert timestamp_to_nanos("2025-02-28T24:00:00Z", apply_offset=True) == next_day


def test_digits_beyond_the_nanosecond_are_cut() -> None:
    assert timestamp_to_nanos("1970-01-01T00:00:00.1234567899", apply_offset=True) == 123_456_789
    assert time_to_micros("00:00:00.1234569") == 123_456


@pytest.mark.parametrize("text", ["24:00:01", "24:00:00.1", "23:60", "12:30:60", "25:00", "٠7:51", "07:51\n"])
def test_times_that_do_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match="time|hour"):
        time_to_micros(text)
    with pytest.raises(ValueError, match="timestamp|hour"):
        timestamp_to_nanos(f"2025-01-01T{text}", apply_offset=True)


@pytest.mark.parametrize("text", ["", "2025-1-05", "25-01-05", "+2025-01-05", "2025-01-05 ", "٢025-01-05"])
def test_texts_that_are_no_dates(text: str) -> None:
    with pytest.raises(ValueError, match="expected a date"):
        date_to_days(text)
