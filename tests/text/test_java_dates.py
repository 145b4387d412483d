from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.text.java_dates import JavaDateFormat

ISO = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
NANOS = st.integers(-62_135_596_800, 253_402_300_799).map(lambda seconds: seconds * 1_000_000_000)


@pytest.mark.parametrize(
    ("pattern", "text", "nanos", "written"),
    [
        (ISO, "2026-01-31T10:30:00.123+02:00", 1_769_848_200_123_000_000, "2026-01-31T08:30:00.123Z"),
        (ISO, "2026-01-31T10:30:00.5Z", 1_769_855_400_500_000_000, "2026-01-31T10:30:00.500Z"),
        (ISO, "2026-01-31T10:30:00.123456Z", 1_769_855_400_123_456_000, "2026-01-31T10:30:00.123Z"),
        ("yyyyMMddHHmmssSSS", "20260131103000123", 1_769_855_400_123_000_000, "20260131103000123"),
        (
            "EEEE, d MMMM yyyy h:mm a",
            "saturday, 31 january 2026 12:05 pm",
            1_769_861_100_000_000_000,
            "Saturday, 31 January 2026 12:05 PM",
        ),
        (
            "EEE, dd MMM yyyy hh:mm a",
            "Sat, 31 Jan 2026 12:05 AM",
            1_769_817_900_000_000_000,
            "Sat, 31 Jan 2026 12:05 AM",
        ),
        (
            "dd/MMM/yyyy:HH:mm:ss Z",
            "31/Jan/2026:10:30:00 -0130",
            1_769_860_800_000_000_000,
            "31/Jan/2026:12:00:00 +0000",
        ),
        ("yyyy-MM-dd HH:mm:ss z", "2026-01-31 10:30:00 GMT+1", 1_769_851_800_000_000_000, "2026-01-31 09:30:00 UTC"),
        ("yy-M-d", "68-1-3", 3_092_774_400_000_000_000, "68-1-3"),
        ("yy-M-d", "69-1-3", -31_363_200_000_000_000, "69-1-3"),
        ("yyyy.DDD", "2024.366", 1_735_603_200_000_000_000, "2024.366"),
        ("kk:mm K", "24:30 0", 1_800_000_000_000, "24:30 0"),
        ("''yyyy'year'''", "'2026year'", 1_767_225_600_000_000_000, "'2026year'"),
        ("yyyy-MM-dd", "2026-01-31T23:59:59Z", 1_769_817_600_000_000_000, "2026-01-31"),
        ("yyyy", "2026", 1_767_225_600_000_000_000, "2026"),
    ],
)
def test_text_to_instant_and_back(pattern: str, text: str, nanos: int, written: str) -> None:
    form = JavaDateFormat(pattern)

    assert form.parse(text) == nanos
    assert form.format(nanos) == written
    assert form.parse(written) == nanos - nanos % 1_000_000


@pytest.mark.parametrize(
    ("pattern", "text", "reason"),
    [
        (ISO, "2026-13-31T10:30:00.123Z", "13 for M"),
        (ISO, "2026-02-30T10:30:00.123Z", "day is out of range"),
        (ISO, "2026-01-31T24:00:00.000Z", "24 for H"),
        (ISO, "2026-01-31T10:60:00.000Z", "60 for m"),
        (ISO, "2026-01-31T10:30:00.123", "does not match"),
        ("yyyy-MM-dd HH:mm", "2026-01-31 10:30+02:00", "zone offset that the pattern"),
        ("yyyy-MM-dd HH:mm:ss", "2026-01-31 10:30:00.5 -0800", "zone offset that the pattern"),
        ("yyyy.DDD", "2023.366", "366 for D"),
        ("yyyy", "12345", "12345 for y"),
        ("yyyy", "", "does not match"),
        ("HH", "٣", "does not match"),
    ],
)
def test_texts_that_are_no_time_of_the_pattern(pattern: str, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        JavaDateFormat(pattern).parse(text)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("yyyy-bb", "Illegal pattern character 'b'"),
        ("yyyy'", "Unterminated quote"),
        ("XXXX", "invalid ISO 8601 format: length=4"),
        ("YYYY-ww", "'Y' is not supported"),
    ],
)
def test_patterns_that_cannot_be_used(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        JavaDateFormat(pattern)


@given(NANOS, st.integers(0, 999_999_999))
def test_every_instant_comes_back(seconds: int, fraction: int) -> None:
    form = JavaDateFormat("yyyy-MM-dd HH:mm:ss.SSSSSSSSSXX")

    assert form.parse(form.format(seconds + fraction)) == seconds + fraction


def test_a_format_travels() -> None:
    assert pickle.loads(pickle.dumps(JavaDateFormat("yyyy"))).format(0) == "1970"  # noqa: S301


def test_the_end_of_the_calendar() -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        JavaDateFormat("yyyy").format(1 << 80)
