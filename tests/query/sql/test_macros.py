from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.query.session import session


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("u2000: 85", "u2000: 85"),
        (" \t\n\x0b\f\ra b ", "a b"),
        ("\u2003\u3000x\u1680", "x"),
        ("\u00a0x", "\u00a0x"),
        ("", ""),
    ],
)
def test_trim_takes_white_space_and_nothing_else(text: str, trimmed: str) -> None:
    with session(1 << 30) as connection:
        quoted = "'" + text.replace("'", "''") + "'"
        assert connection.evaluate(f"trim({quoted}, frazil_spaces())") == trimmed


@pytest.mark.parametrize(
    ("digits", "base", "number"),
    [("ff", 16, 255), ("-FF", 16, -255), ("+10", 2, 2), ("7" * 21, 8, 2**63 - 1), ("zz", 36, 1295), ("0", 2, 0)],
)
def test_numbers_of_any_base(digits: str, base: int, number: int) -> None:
    with session(1 << 30) as connection:
        assert connection.evaluate(f"frazil_from_base('{digits}', {base})") == number


@pytest.mark.parametrize(
    ("digits", "base", "message"),
    [
        ("9", 8, "Not a valid base-8 number: 9"),
        ("z1", 35, "Not a valid base-35 number: z1"),
        ("", 10, "Not a valid base-10 number"),
        ("--1", 10, "Not a valid base-10 number: --1"),
        ("1" * 100, 10, "Not a valid base-10 number"),
        ("zz", 99, "Radix must be between 2 and 36"),
        ("1", 1, "Radix must be between 2 and 36"),
    ],
)
def test_what_is_no_number_of_a_base(digits: str, base: int, message: str) -> None:
    with session(1 << 30) as connection, pytest.raises(QueryError, match=message):
        connection.evaluate(f"frazil_from_base('{digits}', {base})")


def test_a_sequence_has_at_most_ten_thousand_entries() -> None:
    with session(1 << 30) as connection:
        assert connection.evaluate("len(frazil_sequence(1, 10000))") == 10_000
        assert connection.evaluate("frazil_sequence(3, 1)") == [3, 2, 1]
        for bounds in ("1, 10001", "10001, 1", "-9223372036854775808, 9223372036854775807"):
            with pytest.raises(QueryError, match="must not have more than 10000 entries"):
                connection.evaluate(f"frazil_sequence({bounds})")
