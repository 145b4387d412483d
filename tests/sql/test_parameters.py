from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from frazil.errors import UsageError
from frazil.sql.parameters import Value, parse_parameter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=", ("a", "")),
        ("a=b=c", ("a", "b=c")),
        ("a=5", ("a", "5")),
        ("a:int=-5", ("a", -5)),
        ("a:double=1e300", ("a", 1e300)),
        ("a:decimal=1.50", ("a", Decimal("1.50"))),
        (f"a:decimal={'9' * 38}", ("a", Decimal("9" * 38))),
        ("a:boolean=True", ("a", True)),
        ("a:date=2025-01-15", ("a", date(2025, 1, 15))),
        ("a:timestamp=2025-01-15T10:30:00+01:00", ("a", datetime(2025, 1, 15, 9, 30, tzinfo=UTC))),
        ("bucket_1=x:y", ("bucket_1", "x:y")),
    ],
)
def test_assignments(text: str, expected: tuple[str, Value]) -> None:
    assert parse_parameter(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "expected name=value"),
        ("=x", "expected name=value"),
        ("1a=x", "expected name=value"),
        ("a:uuid=x", "there is no type uuid; there are string, int"),
        ("a:int=1.5", "'1.5' is no int"),
        ("a:double=nan", "is no double"),
        ("a:decimal=x", "is no decimal"),
        ("a:boolean=yes", "is no boolean"),
        ("a:date=2025-13-01", "is no date"),
        ("a:timestamp=now", "is no timestamp"),
        ("a:decimal=1E+999999999", "is no decimal"),
        ("a:decimal=1E-999999999", "is no decimal"),
        ("a:timestamp=0001-01-01T00:00:00+14:00", "is no timestamp"),
        ("a:timestamp=9999-12-31T23:59:59-14:00", "is no timestamp"),
        ("a=x\0", "is no string"),
        ("a=\udcff", "is no string"),
    ],
)
def test_what_is_no_parameter(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_parameter(text)
