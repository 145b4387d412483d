from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from frazil.errors import QueryError
from tests.sql.catalogs import computed


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        (
            "CAST('2025-01-31 10:00:00 Europe/Vienna' AS timestamp(3) with time zone)",
            datetime(2025, 1, 31, 9, tzinfo=UTC),
        ),
        ("CAST(TIMESTAMP '2025-01-31 10:00:00.6' AS timestamp(0))", datetime(2025, 1, 31, 10, 0, 1)),
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
        ("CAST(ARRAY[1, 2] AS array(bigint))", [1, 2]),
        ("CAST(NULL AS varchar)", None),
    ],
)
def test_casts(sql: str, value: Any) -> None:
    assert computed(f"SELECT {sql}") == [(value,)]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CAST('x' AS integer)", "Cannot cast 'x' to integer"),
        ("CAST(' 1' AS integer)", "Cannot cast"),
        ("CAST('' AS double)", "Cannot cast"),
        ("CAST(DATE '2025-01-01' AS bigint)", "CAST from date to bigint"),
        ("CAST(1 AS char(3))", r"the type char\(3\)"),
        ("CAST(1 AS ipaddress)", "the type ipaddress"),
        ("CAST(TIMESTAMP '2025-01-31 10:00:00' AS timestamp(9))", "the type"),
    ],
)
def test_what_cannot_be_read_says_so(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        computed(f"SELECT {sql}")
