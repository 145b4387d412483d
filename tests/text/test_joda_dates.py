"""Paths by time as Kafka Connect's partitioners lay them out, letters of patterns, and what is refused."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.text.joda_dates import JodaPattern, bucket_start

HOURLY = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
HOUR = 3_600_000
LA = "America/Los_Angeles"
SANTIAGO = "America/Santiago"


def encoded(pattern: str, zone: str, duration_ms: int, epoch_ms: int) -> str:
    return JodaPattern(pattern).format(bucket_start(epoch_ms, duration_ms, zone), zone)


def la(*parts: int) -> int:
    return round(dt.datetime(*parts, tzinfo=ZoneInfo(LA)).timestamp() * 1000)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("pattern", "zone", "duration", "time", "expected"),
    [
        (HOURLY, "UTC", HOUR, 1700000000000, "year=2023/month=11/day=14/hour=22"),
        (HOURLY, LA, HOUR, 1700000000000, "year=2023/month=11/day=14/hour=14"),
        (HOURLY, "Asia/Kolkata", HOUR, 1700000000000, "year=2023/month=11/day=15/hour=03"),
        ("'year'=YYYY/'month'=MM/'day'=dd", LA, 24 * HOUR, la(2014, 2, 1, 3), "year=2014/month=02/day=01"),
        (HOURLY, LA, HOUR, la(2014, 2, 1, 3), "year=2014/month=02/day=01/hour=03"),
        (HOURLY, SANTIAGO, HOUR, 1715224653000, "year=2024/month=05/day=08/hour=23"),
        (HOURLY, SANTIAGO, HOUR, 1706411853000, "year=2024/month=01/day=28/hour=00"),
        (
            "'year'=YYYY/'month'=M/'day'=d/'hour'=H",
            LA,
            2 * HOUR,
            la(2015, 4, 2, 1),
            "year=2015/month=4/day=2/hour=0",
        ),
        ("YYYY/MM/dd", "UTC", 24 * HOUR, 1735560000000, "2024/12/30"),
        (HOURLY, LA, HOUR, 1446366600000, "year=2015/month=11/day=01/hour=01"),
        (HOURLY, LA, HOUR, 1446370200000, "year=2015/month=11/day=01/hour=01"),
        (HOURLY, "UTC", 24 * HOUR, 1700000000000, "year=2023/month=11/day=14/hour=00"),
        ("YYYY-MM-dd/HH-mm", "UTC", 15 * 60_000, 1700000000000, "2023-11-14/22-00"),
    ],
)
def test_paths_by_time(pattern: str, zone: str, duration: int, time: int, expected: str) -> None:
    assert encoded(pattern, zone, duration, time) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yy yyy yyyy yyyyy Y", "24 2024 2024 02024 2024"),
        ("xxxx-ww e", "2025-01 1"),
        ("D DDD", "365 365"),
        ("M MM MMM MMMM", "12 12 Dec December"),
        ("E EEEE", "Mon Monday"),
        ("H HH k K KK h hh a", "0 00 24 0 00 12 12 AM"),
        ("m:ss.S SS SSS SSSSSS", "7:09.0 05 057 057000"),
        ("z Z ZZ ZZZ", "UTC +0000 +00:00 UTC"),
        ("G CC", "AD 20"),
        ("'it''s' ''d'' '", "it's '30' "),
        ("'open yyyy", "open yyyy"),
        ("/=-_.+0189ü", "/=-_.+0189ü"),
        ("", ""),
    ],
)
def test_letters(pattern: str, expected: str) -> None:
    moment = dt.datetime(2024, 12, 30, 0, 7, 9, 57_000, tzinfo=dt.UTC)
    assert JodaPattern(pattern).format(round(moment.timestamp() * 1000), "UTC") == expected


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("+05:30", "+0530 +05:30 +05:30"),
        ("-08", "-0800 -08:00 -08:00"),
        ("Asia/Kolkata", "+0530 +05:30 Asia/Kolkata"),
    ],
)
def test_zones(zone: str, expected: str) -> None:
    assert JodaPattern("Z ZZ ZZZ").format(1700000000000, zone) == expected


@pytest.mark.parametrize(
    ("pattern", "part"),
    [("year='YYYY'", "r"), ("'year'=YYYY/bb", "bb"), ("QQ", "QQ"), ("XXX", "XXX"), ("zzzz", "zzzz")],
)
def test_other_letters_are_refused(pattern: str, part: str) -> None:
    with pytest.raises(ValueError, match=f"pattern component: {part}"):
        JodaPattern(pattern)


def test_unknown_zones_are_refused() -> None:
    with pytest.raises(ValueError, match="^The datetime zone id 'LLL' is not recognised$"):
        JodaPattern("y").format(0, "LLL")


@pytest.mark.parametrize("time", [-(10**14), 10**15, 10**18, -(2**63), 2**63 - 1])
def test_instants_without_a_year_of_four_digits_are_refused(time: int) -> None:
    with pytest.raises(ValueError, match=f"^{time} ms is not in the years 1 to 9999$"):
        bucket_start(time, HOUR, "UTC")
    with pytest.raises(ValueError, match=f"^{time} ms is not in the years 1 to 9999$"):
        JodaPattern("y").format(time, "UTC")


def test_a_start_in_a_gap_moves_on() -> None:
    in_the_gap = la(2015, 3, 8, 3, 30)
    assert encoded(HOURLY, LA, 2 * HOUR, in_the_gap) == "year=2015/month=03/day=08/hour=03"


@given(
    st.integers(-(10**12), 4 * 10**12),
    st.sampled_from([60_000, 15 * 60_000, HOUR, 7 * HOUR, 24 * HOUR]),
    st.sampled_from(["UTC", LA, SANTIAGO, "Asia/Kolkata", "Australia/Lord_Howe", "+03:30"]),
)
def test_buckets_that_start_after_1970_hold_their_instants(time: int, duration: int, zone: str) -> None:
    start = bucket_start(time, duration, zone)
    slack = 2 * HOUR  # a change of the clock inside the bucket
    assert (
        start - slack <= time < start + duration + slack if time >= 24 * HOUR else abs(time - start) < duration + slack
    )
