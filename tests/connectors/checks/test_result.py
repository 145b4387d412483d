"""Checksums of records."""

from __future__ import annotations

from frazil.connectors.checks.result import Sum, digest


def test_checksums_do_not_depend_on_the_order() -> None:
    one, other = Sum(), Sum()
    for text in (b"a", b"b", b"c"):
        one.add(digest(text))
    for text in (b"c", b"a", b"b"):
        other.add(digest(text))
    assert str(one) == str(other) != str(Sum())
