from __future__ import annotations

from frazil.text.lists import listed


def test_items_are_without_white_space_and_empty_ones_are_none() -> None:
    assert listed(" a,b c ,, \n,d") == ("a", "b c", "d")
    assert listed("") == listed(" , ") == ()
