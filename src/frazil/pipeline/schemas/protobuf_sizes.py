"""Bound of what a Protobuf message costs: an element of a few bytes has a value for each field of its message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from frazil.environment.extras import extra
from frazil.pipeline.schemas.connect import UnfitRecord

with extra("protobuf"):
    from google.protobuf.descriptor import Descriptor

MOST_VALUES, VALUES_PER_BYTE = 1_000_000, 16
"""Values that repeated messages of a record may have, and those beside them for each of its bytes."""
_SMALLEST = 2
"""Bytes of a message inside of another: a tag and a length."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass
class _Level:
    """Messages inside of a message by the numbers of their fields, with the values that each one costs."""

    inside: dict[int, tuple[int, _Level]] = field(default_factory=dict)

    def widest(self) -> int:
        """The most values that a message inside costs."""
        return max((max(cost, level.widest()) for cost, level in self.inside.values()), default=0)


def size_check(descriptor: Descriptor) -> Callable[[bytes], None]:
    """Make what raises UnfitRecord for a record whose repeated messages have more values than its bytes allow.

    It is for messages that are not inside of themselves, and looks at nothing but their frames.
    """
    level = _level(descriptor, repeated=False)
    widest = level.widest()

    def check(data: bytes) -> None:
        most = MOST_VALUES + VALUES_PER_BYTE * len(data)
        if len(data) // _SMALLEST * widest > most and _count(level, data, 0, len(data), most) > most:
            raise UnfitRecord(
                f"its repeated messages have more than {most:,} values, as many as {len(data):,} bytes may have: "
                "most of their fields are not there"
            )

    return check


def _level(descriptor: Descriptor, *, repeated: bool) -> _Level:
    found = _Level()
    for one in descriptor.fields:
        if one.message_type is not None:
            several = repeated or one.is_repeated
            inside = _level(one.message_type, repeated=several)
            cost = len(one.message_type.fields) if several else 0
            if cost or inside.inside:
                found.inside[one.number] = cost, inside
    return found


def _count(level: _Level, data: bytes, at: int, end: int, most: int) -> int:
    """Count the values up to the first that are too many; what is no message is left to who reads it."""
    values = 0
    while at < end and values <= most:
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if kind == _BYTES:
            length, at = _varint(data, at, end)
            known = level.inside.get(tag >> 3)
            if known is not None:
                cost, inside = known
                values += cost
                if inside.inside:
                    values += _count(inside, data, at, min(at + length, end), most - values)
            at += length
        elif kind == _VARINT:
            _, at = _varint(data, at, end)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
    return values


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            break
        shift += 7
    return value, at
