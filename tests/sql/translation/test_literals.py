from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from frazil.errors import QueryError
from frazil.sql.translation.literals import zone_of
from tests.sql.catalogs import computed


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("TIMESTAMP '2025-01-31 10:00:00.123456'", datetime(2025, 1, 31, 10, 0, 0, 123456)),
        ("TIMESTAMP '2025-01-31'", datetime(2025, 1, 31)),
        ("TIMESTAMP '2025-1-5 9:05'", datetime(2025, 1, 5, 9, 5)),
        ("TIMESTAMP '2025-01-31 10:00 +02:00'", datetime(2025, 1, 31, 8, tzinfo=UTC)),
        ("TIMESTAMP '2025-07-31 10:00:00 Europe/Vienna'", datetime(2025, 7, 31, 8, tzinfo=UTC)),
        ("DATE '2025-1-5'", date(2025, 1, 5)),
        ("DECIMAL '1.50'", Decimal("1.50")),
        ("INTERVAL '-1' DAY", "-1 00:00:00.000"),
        ("INTERVAL '1' YEAR + INTERVAL '2' MONTH", "1-2"),
    ],
)
def test_literals(sql: str, value: Any) -> None:
    assert computed(f"SELECT {sql}") == [(value,)]


def test_a_value_keeps_the_zone_that_it_was_written_in() -> None:
    [(shown,)] = computed("SELECT TIMESTAMP '2025-01-31 10:00:00 +05:30'")
    assert shown.utcoffset() == timedelta(hours=5, minutes=30)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("TIMESTAMP 'yesterday'", "is not a timestamp"),
        ("TIMESTAMP '2025-02-30 00:00:00'", "is not a timestamp"),
        ("TIMESTAMP '2025-01-31 10:00:00.1234567'", r"the type timestamp\(7\)"),
        ("CAST('2025-01-31 10:00:00.1234567' AS timestamp)", "more than 6 digits of a second"),
        ("DATE '2025-02-30'", "is not a date"),
        ("INTERVAL '1' WEEK", "write an interval like"),
        ("INTERVAL 'x' DAY", "write an interval like"),
        ("INTERVAL '1 2:03:04.5' DAY TO SECOND", "write an interval like"),
        ("99999999999999999999", "out of the range of bigint"),
    ],
)
def test_what_cannot_be_read_says_so(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        computed(f"SELECT {sql}")


def test_zones() -> None:
    assert zone_of("Z") == ("UTC", UTC)
    assert zone_of("-3") == ("-03:00", timezone(timedelta(hours=-3)))
    assert zone_of("Europe/Vienna")[0] == "Europe/Vienna"
    with pytest.raises(QueryError, match="no time zone '../etc/passwd'"):
        zone_of("../etc/passwd")
