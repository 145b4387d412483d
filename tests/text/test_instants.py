from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.text.instants import instant, shown


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_number_is_shown(epoch_ms: int) -> None:
    moment = instant(epoch_ms)
    assert shown(epoch_ms) == (f"{epoch_ms} ms" if moment is None else moment.isoformat(timespec="seconds"))


@pytest.mark.parametrize(
    ("epoch_ms", "moment", "text"),
    [
        (1_772_323_200_000, datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T00:00:00+00:00"),
        (-1, datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC), "1969-12-31T23:59:59+00:00"),
        (1_772_323_200_000_000, None, "1772323200000000 ms"),
        (-(2**63), None, "-9223372036854775808 ms"),
    ],
)
def test_what_no_calendar_has_is_a_number(epoch_ms: int, moment: datetime | None, text: str) -> None:
    assert (instant(epoch_ms), shown(epoch_ms)) == (moment, text)
