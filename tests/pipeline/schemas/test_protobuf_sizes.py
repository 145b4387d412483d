"""Protobuf records of a few bytes that stand for a lot."""

from __future__ import annotations

import pytest

from frazil.pipeline.schemas.connect import UnfitRecord
from tests.pipeline.schemas.protobufs import HEAD, value_of

FIELDS = 2000
WIDE = "message Wide { " + " ".join(f"int64 f{n} = {n};" for n in range(1, FIELDS + 1)) + " }\n"
FLAT = HEAD + "message Item { repeated Wide w = 1; }\n" + WIDE
DEEP = HEAD + "message Item { repeated Box b = 1; }\nmessage Box { Wide w = 1; }\n" + WIDE
ONCE = HEAD + "message Item { Box b = 1; fixed64 x = 2; fixed32 y = 3; }\nmessage Box { Wide w = 1; }\n" + WIDE
MAP = HEAD + "message Item { map<int32, Wide> m = 1; }\n" + WIDE

EMPTY, BOXED = b"\x0a\x00", b"\x0a\x02\x0a\x00"


@pytest.mark.parametrize(
    ("text", "element"), [(FLAT, EMPTY), (DEEP, BOXED), (MAP, b"\x0a\x02\x12\x00")], ids=["flat", "deep", "map"]
)
def test_elements_whose_fields_are_not_there_are_bounded_by_the_bytes(text: str, element: bytes) -> None:
    value_of(text, element * 400)
    with pytest.raises(UnfitRecord, match=r"its repeated messages have more than 1,0\d\d,\d\d\d values"):
        value_of(text, element * 600)


def test_elements_whose_fields_are_there_are_read_however_many() -> None:
    full = b"".join(_key(n) + b"\x05" for n in range(1, FIELDS + 1))
    found = value_of(FLAT, (b"\x0a" + _length(len(full)) + full) * 600)["w"]
    assert (len(found), found[599]["f1"], found[599][f"f{FIELDS}"]) == (600, 5, 5)


def test_what_is_no_list_costs_as_much_once_however_often_it_comes() -> None:
    data = BOXED * 5000 + b"\x11" + b"\x07" * 8 + b"\x1d" + b"\x07" * 4
    found = value_of(ONCE, data)
    assert (len(found["b"]["w"]), found["y"]) == (FIELDS, 0x07070707)


@pytest.mark.parametrize("rest", [b"\x0a", b"\x0a\xff", b"\x0b", b"\x0f", b"\xff" * 20])
def test_what_is_no_message_is_refused_as_such(rest: bytes) -> None:
    with pytest.raises(UnfitRecord, match="it is no shop.v1.Item"):
        value_of(FLAT, EMPTY * 400 + b"\x12\xe8\x07" + b"\x00" * 1000 + rest)


def _key(number: int) -> bytes:
    return _length(number << 3)


def _length(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
