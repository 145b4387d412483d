from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from frazil.cdc.values import form_of

MOMENT = datetime(2026, 11, 29, 12, 0, 0, 123456, tzinfo=UTC)
MICROS = 1795953600123456


@pytest.mark.parametrize(
    ("kind", "alike"),
    [
        ("int4", [7, 7]),
        ("numeric", [Decimal("1.50"), Decimal("1.5"), "1.5", 1.5, {"scale": 2, "value": "AJY="}]),
        ("numeric", [Decimal("0.00"), Decimal(0), "0"]),
        ("numeric", [Decimal("NaN"), "NaN"]),
        ("float4", [0.1, 0.10000000149011612]),
        (
            "timestamptz",
            [MOMENT, "2026-11-29T12:00:00.123456Z", MICROS, MOMENT.astimezone(timezone(timedelta(hours=2)))],
        ),
        ("timestamp", [datetime(2026, 11, 29, 12, 0, 0, 123000), 1795953600123, 1795953600123000]),
        ("date", [date(1970, 1, 11), 10, "1970-01-11"]),
        ("time", [time(1, 0, 0, 5), 3_600_000_005, "01:00:00.000005"]),
        ("interval", [Decimal("37091106789000.00"), 37091106789000, "P1Y2M3DT4H5M6.789S"]),
        ("interval", [-2629801000000, "P-1MT-1S"]),
        ("_int4", [[[1], [None]], [[1], [None]]]),
        ("jsonb", [{"b": 1, "a": [None]}, '{"a":[null],"b":1}']),
        ("uuid", [UUID(int=5), "00000000-0000-0000-0000-000000000005"]),
        ("bytea", [b"ab", "YWI="]),
        ("bytea", [b"\xfb\xff", "+/8=", "-_8="]),
        ("timestamp", ["infinity", 9_223_372_036_825_200_000, 9_223_372_036_825_200]),
        ("timestamp", ["-infinity", -9_223_372_036_832_400_000, -9_223_372_036_832_400]),
        ("timestamptz", ["2026-11-29 12:00:00.123456+00", MICROS]),
        ("timestamptz", ["9999-12-31 23:59:59+00", datetime(9999, 12, 31, 23, 59, 59)]),
        ("timestamp", ["10000-01-01 00:00:00", 253_402_300_800_000_000]),
        ("timestamp", ["0001-12-31 00:00:00.5 BC", -62_135_683_199_500_000]),
        ("date", ["0001-12-31 BC", -719_163]),
        ("date", ["10000-01-01", 2_932_897]),
        ("date", ["infinity", "infinity"]),
        ("time", ["24:00:00", 86_400_000_000]),
        ("timetz", ["24:00:00+00", "24:00:00Z"]),
        ("time", ["23:59:59.5", 86_399_500_000]),
        ("bit", ["100000011", b"\x03\x01"]),
        ("bit", ["1", True, b"\x01"]),
        ("varbit", ["", b""]),
        ("hstore", ['"a b"=>"x\\\\\\"y", "n"=>NULL', '{"n":null,"a b":"x\\\\\\"y"}']),
        ("hstore", ["", "{}"]),
        ("point", ["(1.5,-2)", {"x": 1.5, "y": -2.0, "wkb": b"", "srid": None}]),
        ("vector", ["[1,0.1]", [1.0, 0.10000000149011612]]),
        ("_int4", [[1, None], [1, None]]),
        ("order_status", ["paid", "paid"]),
    ],
)
def test_one_value_has_one_form_whatever_it_came_through(kind: str, alike: list[Any]) -> None:
    form = form_of(kind)
    assert {repr(form(value)) for value in alike} == {repr(form(alike[0]))}


@pytest.mark.parametrize(
    ("kind", "number", "millis", "value"),
    [
        ("timestamp", 13_089_600_000_000, False, datetime(1970, 6, 1, 12)),
        ("timestamp", 13_089_600_000, True, datetime(1970, 6, 1, 12)),
        ("_timestamp", [13_089_600_000_000], False, [datetime(1970, 6, 1, 12)]),
        ("time", 30_000_000, False, time(0, 0, 30)),
        ("time", 30_000, True, time(0, 0, 30)),
    ],
)
def test_small_times_have_the_unit_that_is_known(kind: str, number: Any, millis: bool, value: Any) -> None:
    form = form_of(kind, millis=millis)
    assert form(number) == form(value)


def test_bytes_in_hexadecimal_are_read_where_it_is_known() -> None:
    form = form_of("bytea", of_hex=True)
    assert form("fb00ff5c") == form(b"\xfb\x00\xff\\") == b"\xfb\x00\xff\\"
    assert form("") == b""


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("numeric", Decimal("1.5"), Decimal("1.51")),
        ("timestamptz", MOMENT, MOMENT + timedelta(microseconds=1)),
        ("json", {"a": 1}, {"a": "1"}),
        ("text", "a", "a "),
        ("hstore", '"a"=>NULL', '"a"=>""'),
        ("varbit", "101", "111"),
    ],
)
def test_other_values_have_other_forms(kind: str, one: Any, other: Any) -> None:
    assert form_of(kind)(one) != form_of(kind)(other)
