from __future__ import annotations

import pytest

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
