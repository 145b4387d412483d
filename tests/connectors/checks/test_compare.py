"""The part of a connector's topics that is compared."""

from __future__ import annotations

from frazil.connectors.checks.compare import Limits


def test_limits() -> None:
    begin, end = {("t", 0): 5, ("t", 1): 0}, {("t", 0): 20, ("t", 1): 3}
    assert Limits().cut(begin, end) == (begin, end)
    assert Limits(0, 2, 10).cut(begin, end) == ({("t", 0): 5}, {("t", 0): 10})
    assert Limits(None, 7, 9).cut(begin, end) == ({("t", 0): 7, ("t", 1): 7}, {("t", 0): 9, ("t", 1): 7})
