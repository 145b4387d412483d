from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.sql.session import session


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


def test_a_sequence_has_at_most_ten_thousand_entries() -> None:
    with session(1 << 30) as connection:
        assert connection.evaluate("len(frazil_sequence(1, 10000))") == 10_000
        assert connection.evaluate("frazil_sequence(3, 1)") == [3, 2, 1]
        for bounds in ("1, 10001", "10001, 1", "-9223372036854775808, 9223372036854775807"):
            with pytest.raises(QueryError, match="must not have more than 10000 entries"):
                connection.evaluate(f"frazil_sequence({bounds})")
