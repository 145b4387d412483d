from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from frazil.errors import UsageError
from frazil.text.times import point_in_time, seconds

NOW = datetime(2026, 3, 1, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", datetime(2026, 3, 1, 0, 28, 30, tzinfo=UTC)),
        ("45m", datetime(2026, 2, 28, 23, 45, tzinfo=UTC)),
        ("24h", datetime(2026, 2, 28, 0, 30, tzinfo=UTC)),
        ("7d", datetime(2026, 2, 22, 0, 30, tzinfo=UTC)),
        ("2w", datetime(2026, 2, 15, 0, 30, tzinfo=UTC)),
        ("2026-02-28", datetime(2026, 2, 28, tzinfo=UTC)),
        ("2026-02-28T10:30", datetime(2026, 2, 28, 10, 30, tzinfo=UTC)),
        (" 2026-02-28 10:30:00.123456Z ", datetime(2026, 2, 28, 10, 30, 0, 123456, tzinfo=UTC)),
        ("2026-02-28T10:30:00+05:30", datetime(2026, 2, 28, 5, 0, tzinfo=UTC)),
    ],
)
def test_ages_and_times(text: str, expected: datetime) -> None:
    found = point_in_time(text, NOW)
    assert found == expected
    assert found.tzinfo is UTC


def test_an_age_counts_from_now_in_any_zone() -> None:
    assert point_in_time("1h", NOW.astimezone(timezone(timedelta(hours=9)))) == NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "24", "h", "-1h", "1.5h", "2026-13-01", "99999999h", "999999w", "1y"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time; write an age such as"):
        point_in_time(text, NOW)


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("90", 90), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("2h", 7200)]
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "-1", "1.5h", "nan", "1e9", "ten", "5y"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration; write seconds, or 90s, 10m, 2h"):
        seconds(text)
