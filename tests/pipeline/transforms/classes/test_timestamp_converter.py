from __future__ import annotations

import pytest

from frazil.pipeline.convert.strict import StageError
from frazil.pipeline.types import Typed
from tests.pipeline.transforms.chains import after, applied, chain, text

ISO = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"


def converted(value: bytes, target: str, **keys: str) -> bytes | None:
    more = {key.replace("_", "."): given for key, given in keys.items()}
    return after(("TimestampConverter$Value", {"field": "a", "target.type": target, **more}), b'{"a":%b}' % value)


@pytest.mark.parametrize(
    ("value", "target", "keys", "expected"),
    [
        (b"1700000000123", "string", {"format": ISO}, b'"2023-11-14T22:13:20.123Z"'),
        (b"-1", "string", {"format": ISO}, b'"1969-12-31T23:59:59.999Z"'),
        (b"1700000000123", "Timestamp", {}, b'"2023-11-14T22:13:20.123Z"'),
        (b"1700000000000", "Timestamp", {}, b'"2023-11-14T22:13:20Z"'),
        (b"1700000000123456789", "Timestamp", {"unix_precision": "nanoseconds"}, b'"2023-11-14T22:13:20.123456789Z"'),
        (b"1700000000", "Date", {"unix_precision": "seconds"}, b'"2023-11-14"'),
        (b"1700000000123", "Time", {}, b'"22:13:20.123"'),
        (b'"2026-01-31 10:30:00"', "unix", {"format": "yyyy-MM-dd HH:mm:ss"}, b"1769855400000"),
        (
            b'"2026-01-31T10:30:00.123456+02:00"',
            "unix",
            {"format": ISO, "unix_precision": "microseconds"},
            b"1769848200123456",
        ),
        (b"1700000000123999", "unix", {"unix_precision": "microseconds"}, b"1700000000123999"),
        (b"null", "unix", {}, b"null"),
    ],
)
def test_a_field(value: bytes, target: str, keys: dict[str, str], expected: bytes) -> None:
    assert converted(value, target, **keys) == b'{"a":%b}' % expected


@pytest.mark.parametrize(
    ("value", "keys", "reason"),
    [
        (b'"2026-13-31 10:30:00"', {"format": "yyyy-MM-dd HH:mm:ss"}, "13 for M is out of range"),
        (b'"2026-01-31 10:30:00+02:00"', {"format": "yyyy-MM-dd HH:mm:ss"}, "has a zone offset"),
        (b'"x"', {"format": "yyyy-MM-dd HH:mm:ss"}, "does not match the pattern"),
        (b'"2026"', {}, "there is no format"),
        (b"1.5", {}, "got number"),
        (b"true", {}, "got boolean"),
        (b"{}", {}, "got object"),
    ],
)
def test_no_time_is_made_up(value: bytes, keys: dict[str, str], reason: str) -> None:
    with pytest.raises(StageError, match=f"transformation t0: a: .*{reason}"):
        converted(value, "unix", **keys)


def test_a_time_out_of_the_calendar_is_an_error() -> None:
    with pytest.raises(StageError, match="outside of the years 1 to 9999"):
        converted(b"999999999999999", "string", format=ISO)


def test_the_whole_value_and_null() -> None:
    step = ("TimestampConverter$Value", {"target.type": "unix", "format": "yyyy"})

    assert after(step, b'"1971"') == b"31536000000"
    assert after(step, None) is None
    assert after(("TimestampConverter$Value", {"target.type": "unix", "field": "a"}), b"{}") == b"{}"


def test_times_go_through_several_conversions() -> None:
    found = chain(
        ("InsertField$Value", {"timestamp.field": "a"}),
        ("TimestampConverter$Value", {"field": "a", "target.type": "Timestamp"}),
        ("TimestampConverter$Value", {"field": "a", "target.type": "unix", "unix.precision": "microseconds"}),
    )

    made = applied(found, b"{}")

    assert made is not None
    assert text(made.value) == b'{"a":1700000000123000}'


def test_a_timestamp_knows_its_type() -> None:
    made = applied(chain(("TimestampConverter$Value", {"field": "a", "target.type": "Date"})), b'{"a":0}')

    assert made is not None and type(made.value) is dict
    value = made.value["a"]
    assert isinstance(value, Typed)
    assert str(value.type) == "date"
