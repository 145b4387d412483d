from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from frazil.errors import QueryError
from frazil.query.sql.casts import zone_of
from tests.query.catalogs import computed


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("TIMESTAMP '2025-01-31 10:00:00.123456'", datetime(2025, 1, 31, 10, 0, 0, 123456)),
        ("TIMESTAMP '2025-01-31'", datetime(2025, 1, 31)),
        ("TIMESTAMP '2025-01-31 10:00 +02:00'", datetime(2025, 1, 31, 8, tzinfo=UTC)),
        ("TIMESTAMP '2025-07-31 10:00:00 Europe/Vienna'", datetime(2025, 7, 31, 8, tzinfo=UTC)),
        (
            "CAST('2025-01-31 10:00:00 Europe/Vienna' AS timestamp(3) with time zone)",
            datetime(2025, 1, 31, 9, tzinfo=UTC),
        ),
        ("CAST(TIMESTAMP '2025-01-31 10:00:00.6' AS timestamp(0))", datetime(2025, 1, 31, 10, 0, 1)),
        ("DATE '2025-1-5'", date(2025, 1, 5)),
        ("DECIMAL '1.50'", Decimal("1.50")),
        ("CAST('2025-01-31 10:00' AS timestamp)", datetime(2025, 1, 31, 10)),
        (
            "CAST(x AS timestamp) FROM (VALUES '2025-01-31T10:00:00.5') AS t (x)",
            datetime(2025, 1, 31, 10, 0, 0, 500000),
        ),
        ("try_cast(x AS timestamp) FROM (VALUES 'yesterday') AS t (x)", None),
        ("try_cast(x AS integer) FROM (VALUES ' 1') AS t (x)", None),
        ("try_cast(x AS bigint) FROM (VALUES '1.5') AS t (x)", None),
        ("try_cast(x AS boolean) FROM (VALUES 'yes') AS t (x)", None),
        ("try_cast(3000000000 AS integer)", None),
        ("CAST(ROW(1, 'a') AS row(x bigint, y varchar))", {"x": 1, "y": "a"}),
        ("CAST(ARRAY[1, 2] AS array(bigint))", [1, 2]),
        ("CAST(NULL AS varchar)", None),
        ("INTERVAL '-1' DAY", "-1 00:00:00.000"),
        ("INTERVAL '1' YEAR + INTERVAL '2' MONTH", "1-2"),
        ("INTERVAL '1 2:03:04.5' DAY TO SECOND", "1 02:03:04.500"),
        ("INTERVAL '1-2' YEAR TO MONTH", "1-2"),
    ],
)
def test_literals_and_casts(sql: str, value: Any) -> None:
    assert computed(f"SELECT {sql}") == [(value,)]


def test_a_value_keeps_the_zone_that_it_was_written_in() -> None:
    [(shown,)] = computed("SELECT TIMESTAMP '2025-01-31 10:00:00 +05:30'")
    assert shown.utcoffset() == timedelta(hours=5, minutes=30)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CAST('x' AS integer)", "Cannot cast 'x' to integer"),
        ("CAST(' 1' AS integer)", "Cannot cast"),
        ("CAST('' AS double)", "Cannot cast"),
        ("TIMESTAMP 'yesterday'", "is not a timestamp"),
        ("TIMESTAMP '2025-02-30 00:00:00'", "is not a timestamp"),
        ("DATE '2025-02-30'", "is not a date"),
        ("CAST(DATE '2025-01-01' AS bigint)", "cannot be cast to bigint"),
        ("CAST(1 AS char(3))", r"the type char\(3\)"),
        ("CAST(1 AS ipaddress)", "the type ipaddress"),
        ("CAST(TIMESTAMP '2025-01-31 10:00:00' AS timestamp(9))", "the type"),
        ("INTERVAL '1' WEEK", "is not an interval"),
        ("INTERVAL 'x' DAY", "is not an interval"),
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
