from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import pytest

from frazil.pipeline.convert import scalars
from frazil.pipeline.types import STRING, Scalar
from tests.pipeline.convert import oracle

INT, LONG, FLOAT, DOUBLE = Scalar("int"), Scalar("long"), Scalar("float"), Scalar("double")
BOOLEAN, BINARY, DATE, TIME = Scalar("boolean"), Scalar("binary"), Scalar("date"), Scalar("time")
UTC, LOCAL = Scalar("timestamptz"), Scalar("timestamp")


def decimal(precision: int, scale: int) -> Scalar:
    return Scalar("decimal", precision=precision, scale=scale)


def convert(type_: Scalar, raw: str) -> Any:
    return scalars.converter(type_)(raw.encode())


def micros(text: str) -> int:
    return int(oracle.instant(None, text, apply_offset=True)) // 1000


SAME_TEXTS = ["2023-05-18T11:22:33Z", "2023-05-18 11:22:33Z", "2023-05-18T11:22:33+00", "2023-05-18T11:22:33+00:00"]
SAME_TEXTS += ["2023-05-18 11:22:33+0000", "2023-05-18T11:22:33", "2023-05-18 11:22:33"]
MICRO_TEXTS = [f"2026-03-31{gap}03:17:37.260514{zone}" for gap in "T " for zone in ("+00:00", "+0000", "Z", "")]
ELEVEN = micros("2023-05-18T11:22:33Z")

ACCEPTED: list[tuple[Scalar, str, Any]] = [
    *[(INT, raw, 123) for raw in ('"123"', "123.0", "123", "1.23e2")],
    (INT, '"-123"', -123),
    *[(LONG, raw, 123) for raw in ('"123"', "123.0")],
    (LONG, "9223372036854775807", 2**63 - 1),
    (LONG, '"-9223372036854775808"', -(2**63)),
    *[(type_, raw, 123.0) for type_ in (FLOAT, DOUBLE) for raw in ('"123"', "123")],
    *[(type_, '"1.5"', 1.5) for type_ in (FLOAT, DOUBLE)],
    *[(DOUBLE, f'"{text}"', 1e300) for text in ("1e300", "1e+300", "1E300", "1.0E300")],
    *[(DOUBLE, f'"{text}"', 1e-7) for text in ("1e-07", "1e-7", "1.0E-7", "0.0000001")],
    (DOUBLE, '"-0.0"', -0.0),
    *[(DOUBLE, raw, 2.0**53) for raw in ("9007199254740992", '"9007199254740992"', "9007199254740992.0")],
    (DOUBLE, "18446744073709552000", 2.0**64),
    *[(type_, raw, 0.0) for type_ in (FLOAT, DOUBLE) for raw in ("0", "0.000", "0e-999")],
    (DOUBLE, "5e-324", 5e-324),
    (FLOAT, "1.4e-45", 2.0**-149),
    (DOUBLE, "0.10000000000000000555", 0.1),
    *[(FLOAT, raw, 16777216.0) for raw in ("16777216", '"16777216"', "16777216.0")],
    *[(FLOAT, raw, 0.10000000149011612) for raw in ("0.1", "0.100000001", "0.10000000149011612", '"0.1"')],
    *[(decimal(10, 2), raw, Decimal("123.45")) for raw in ('"123.45"', "123.45")],
    *[(decimal(10, 0), raw, Decimal(123)) for raw in ('"123"', "123")],
    *[(decimal(9, 2), raw, Decimal("-0.50")) for raw in ('"-0.5"', '"-0.50"', "-0.500", "-5e-1")],
    (decimal(9, 2), "1e2", Decimal("100.00")),
    (decimal(38, 0), "1e20", Decimal(10**20)),
    (decimal(38, 0), "9" * 38, Decimal("9" * 38)),
    *[(BOOLEAN, raw, True) for raw in ("true", '"true"')],
    *[(BOOLEAN, raw, False) for raw in ("false", '"false"')],
    *[(STRING, raw, raw) for raw in ("5", "true", "-0.10")],
    (STRING, "1e10", "1e10"),
    (STRING, '"\\u00e9\\ud840\\udc00\\u0000"', "é\U00020000\0"),
    (STRING, '{"a": 1,"b":[2]}', '{"a": 1,"b":[2]}'),
    (STRING, '[1.0,"x"]', '[1.0,"x"]'),
    (
        Scalar("uuid"),
        '"f47ac10b-58cc-4372-a567-0e02b2c3d479"',
        bytes.fromhex("f47ac10b58cc4372a5670e02b2c3d479"),
    ),
    (Scalar("uuid"), '"1-1-1-1-1"', bytes.fromhex("00000001000100010001000000000001")),
    *[(type_, '"AQID"', b"\1\2\3") for type_ in (BINARY, Scalar("fixed", length=3))],
    *[(BINARY, raw, b"\1") for raw in ('"AQ=="', '"AQ"')],
    (BINARY, '""', b""),
    *[(DATE, raw, 19676) for raw in ('"2023-11-15"', "19676")],
    *[(TIME, raw, 28_290_888_000) for raw in ('"07:51:30.888"', "28290888")],
    (TIME, '"07:51"', 28_260_000_000),
    *[(UTC, json.dumps(text), ELEVEN) for text in SAME_TEXTS],
    (UTC, "1684408953000", ELEVEN),
    *[(UTC, json.dumps(f"2023-05-18 03:22:33{zone}"), ELEVEN) for zone in ("-08", "-0800")],
    (UTC, '"2023-05-18T03:22:33-08:00"', ELEVEN),
    *[(UTC, json.dumps(text), micros("2026-03-31T03:17:37.260514Z")) for text in MICRO_TEXTS],
    *[(LOCAL, json.dumps(f"2023-05-18T11:22:33{zone}"), ELEVEN) for zone in ("-08", "-0800", "-08:00", "Z", "")],
    (UTC, '"2025-01-15T10:30:00.123456789Z"', micros("2025-01-15T10:30:00.123456Z")),
    (Scalar("timestamptz_ns"), '"2025-01-15T10:30:00.123456789Z"', 1736937000_123456789),
    (Scalar("timestamp_ns"), "1736937000123", 1736937000_123000000),
    (UTC, '"2025-01-15T10:30"', micros("2025-01-15T10:30:00Z")),
]

REFUSED: list[tuple[Scalar, str, str]] = [
    *[(type_, "3.7", "has a fraction") for type_ in (INT, LONG)],
    *[(INT, raw, "does not fit in 32 bits") for raw in ("3000000000", "-2147483649", '"2147483648"')],
    *[(INT, raw, "not an integer") for raw in ('"123.0"', '" 12"', '""', '"1e3"', '"١"', '"1_0"')],
    *[(LONG, raw, "not an integer") for raw in ('"00501"', '"+49"', '"-0"', '"-007"')],
    *[(INT, raw, "expected an integer") for raw in ("true", "{}", "[1]")],
    *[(LONG, raw, "64 bits") for raw in ("9223372036854775808", "-9223372036854775809", '"9223372036854775808"')],
    *[(type_, raw, "not a number|expected a number") for type_ in (FLOAT, DOUBLE) for raw in ('"1,5"', "true", '""')],
    *[(DOUBLE, f'"{text}"', "not a number") for text in ("00501", "+1.5", "1.20", "1.", ".5", "-0", " 1.5 ", "1.5d")],
    *[(DOUBLE, f'"{text}"', "not a number") for text in ("NaN", "nan", "Infinity", "-Infinity", "inf", "15e-1", "1e2")],
    *[(DOUBLE, f'"{text}"', "not a number") for text in ("9007199254740993", "0.10000000000000000555", "1e400")],
    *[(DOUBLE, raw, "more digits") for raw in ("9007199254740993", "-9007199254740993", "12345678901234567890")],
    *[(FLOAT, raw, "more digits") for raw in ("16777217", '"16777217"', "3.141592653589793", "16777217.5", "9e-46")],
    *[(FLOAT, raw, "more digits") for raw in ("1e-46", "123456e-50", "1.23e-44")],
    *[(type_, raw, "nearer to zero") for type_ in (FLOAT, DOUBLE) for raw in ("1e-400", "-2.5E-0400")],
    (DOUBLE, f"0.{'0' * 400}1", "nearer to zero"),
    *[(FLOAT, raw, "more digits") for raw in ('"0.123456789012"', "-2.7182818284")],
    (FLOAT, "3.4028236e38", "out of range"),
    *[(DOUBLE, raw, "out of range") for raw in ("1e400", "-1e400", "1E99999999999999999999")],
    *[(decimal(10, 2), raw, "does not fit") for raw in ("100000000", "99999999.995", '"100000000"')],
    *[(decimal(10, 2), raw, "not a decimal|expected a number") for raw in ('"x"', "true", '"NaN"', '"1_0"', '""')],
    *[(decimal(10, 2), f'"{text}"', "not a decimal") for text in ("007", "+1", "1e2", ".5", "1.", " 1")],
    *[(decimal(10, 2), raw, "2 digits after") for raw in ("12.345", "-0.005", "1e-3", '"12.345"', '"1.200"', '"-0"')],
    (decimal(38, 0), "1e38", "does not fit"),
    *[(BOOLEAN, raw, "neither true nor false") for raw in ('"yes"', '""', '"1"', '" true"', '"TRUE"', '"False"')],
    *[(BOOLEAN, raw, "expected a boolean") for raw in ("1", "0", "{}")],
    *[(Scalar("uuid"), raw, "UUID") for raw in ('"f47ac10b58cc4372a5670e02b2c3d479"', "1", '"1-1-1-1"')],
    *[(Scalar("fixed", length=3), raw, "expected 3 bytes") for raw in ('"AQ=="', '"AQIDBA=="', '""')],
    *[(BINARY, raw, "Base64|Base64|ASCII") for raw in ('"_-8="', '"AQ\\nID"', '"A"', '"AQ="', '"====" ', '"é"')],
    (BINARY, "1", "expected a Base64 text"),
    (Scalar("double"), '"12.50"', r"not a number as numbers are written \(this one is 12\.5\)"),
    *[(DATE, raw, "date") for raw in ('"2025-01-15T00:00:00Z"', '"2025-1-5"', "true", '"19676"')],
    *[(DATE, raw, "day|month|year") for raw in ('"2025-02-29"', '"2025-13-01"', '"0000-01-01"')],
    *[(DATE, raw, "out of range") for raw in ("1684408953000", "1684408953", "2932897", "-719163")],
    *[(TIME, raw, "time|hour") for raw in ('"7:51"', '"24:00"', '"07:51Z"', '"07:51:60"', "true")],
    *[(TIME, raw, "millisecond") for raw in ("-1", "86400000")],
    *[(UTC, raw, "timestamp") for raw in ('"2025-01-15"', '"1736937000000"', '"2025-01-15T10:30:00 UTC"')],
    *[(UTC, raw, "timestamp") for raw in ('"2025-01-15T10:30:00,5Z"', '"2025-01-15T10:30:00[UTC]"', "true", "{}")],
    *[(UTC, raw, "range") for raw in ('"2025-01-15T10:30:60Z"', '"2025-01-15T25:00:00Z"', '"2025-01-15T10:30+24:00"')],
    *[(UTC, raw, "fraction|range|digits") for raw in ("1.5", "1e400", "9223372036854776", "1E99999999999999999999")],
    *[(type_, "1736937000000000", "out of range") for type_ in (UTC, LOCAL)],
    *[(UTC, f'"{text}"', "out of range") for text in ("9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00")],
    (Scalar("timestamptz_ns"), '"9999-12-31T00:00:00Z"', "out of range"),
]


def _ids(rows: list[tuple[Scalar, str, Any]]) -> list[str]:
    return [f"{type_} {raw[:40]}" for type_, raw, _ in rows]


@pytest.mark.parametrize(("type_", "raw", "value"), ACCEPTED, ids=_ids(ACCEPTED))
def test_accepted(type_: Scalar, raw: str, value: Any) -> None:
    converted = convert(type_, raw)
    assert (type(converted), converted) == (type(value), value)


@pytest.mark.parametrize(("type_", "raw", "reason"), REFUSED, ids=_ids(REFUSED))
def test_refused(type_: Scalar, raw: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        convert(type_, raw.strip())


@pytest.mark.parametrize("type_", [INT, LONG, decimal(38, 0), DATE, UTC], ids=str)
@pytest.mark.parametrize(
    "raw", ["1" + "0" * 5000, "1E999999999", "1e-999999999", "1E99999999999999999999", "0." + "1" * 5000]
)
def test_numbers_of_absurd_size_are_refused_at_once(type_: Scalar, raw: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="digits|range"):
        convert(type_, raw)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("text", ["1" * 5_000_000, "0." + "1" * 5_000_000], ids=["whole", "fraction"])
def test_a_number_of_five_megabytes_takes_bounded_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="too many digits"):
        convert(LONG, text)
    with pytest.raises(ValueError, match="not an integer"):
        convert(LONG, f'"{text}"')
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("raw", "kind"),
    [("1", "number"), ("-1", "number"), ('"x"', "text"), ("{}", "object"), ("[]", "array"), ("true", "boolean")]
    + [("false", "boolean"), ("null", "null")],
)
def test_kind_of_names_the_json_kind(raw: str, kind: str) -> None:
    assert scalars.kind_of(raw.encode()) == kind
