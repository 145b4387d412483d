"""The bytes of many records side by side, and the numbers of variable length in them."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

_PADDING: Final = bytes(32)
"""Bytes before the first record and behind the last one, so that there is something to read at their places."""
_MORE: Final = np.uint64(0x8080808080808080)
_FAR: Final = 1 << 40


class Texts:
    """Bytes of records, one after the other; record `i` has those from `begins[i]` to before `ends[i]`.

    A place in a record that is broken is its edge, the one behind its end; nothing leads from there to another place.
    """

    def __init__(self, values: Sequence[bytes]) -> None:
        self.data = b"".join([_PADDING, *values, _PADDING])
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        self.ends: Ints = np.cumsum(lengths) + len(_PADDING)
        self.begins: Ints = self.ends - lengths
        self.buffer = pa.py_buffer(self.data)
        self._wrong: list[Ints] = []
        self._bytes: Bytes = np.frombuffer(self.data, np.uint8)
        self._words: Words = np.ndarray(len(self.data) - 7, "<u8", self.data, strides=(1,))

    def byte(self, at: Ints) -> Bytes:
        """Read a byte at each place."""
        return self._bytes[at]

    def word(self, at: Ints) -> Words:
        """Read eight bytes at each place, the first one lowest."""
        return self._words[at]

    def numbers(self, at: Ints, edge: Ints) -> tuple[Ints, Ints]:
        """Read a number of variable length at each place; the places behind them too."""
        first = self._bytes[at]
        found = ((first >> 1).view(np.int8) ^ -(first & 1).view(np.int8)).astype(np.int64)
        behind = at + 1
        several = np.flatnonzero(first > 0x7F)
        if len(several):
            value, behind[several] = self._long(at[several])
            found[several] = ((value >> np.uint64(1)) ^ (np.uint64(0) - (value & np.uint64(1)))).view(np.int64)
        return found, np.minimum(behind, edge)

    def _long(self, at: Ints) -> tuple[Words, Ints]:
        """Read numbers, mostly of two bytes and more: their bits without the marks that more bytes follow."""
        word = self._words[at]
        stops = ~word & _MORE
        first = stops & (np.uint64(0) - stops)
        kept = (first << np.uint64(1)) - np.uint64(1)
        value = word & kept & ~_MORE
        for mask, shift in _MERGED:
            value = (value & mask) | ((value & ~mask) >> shift)
        behind = at + (np.bitwise_count(kept) >> 3)
        longer = np.flatnonzero(stops == 0)
        if len(longer):
            ninth, tenth = (self._bytes[at[longer] + place].astype(np.uint64) for place in (8, 9))
            ends = ninth < 0x80
            tenth[ends] = 0
            value[longer] |= (ninth & np.uint64(0x7F)) << np.uint64(56) | (tenth << np.uint64(63))
            behind[longer] += np.where(ends, 1, 2)
            behind[longer[tenth > 1]] += _FAR  # it has more than 64 bits
        return value, behind

    def refuse(self, places: Ints) -> None:
        """Note places of values that are not what their schema says."""
        self._wrong.append(places)

    def refused(self) -> Ints:
        """Give the records that have places that were noted since the last call."""
        places = np.concatenate([np.zeros(0, np.int64), *self._wrong])
        self._wrong.clear()
        return np.searchsorted(self.begins, places, "right") - 1


_MERGED: Final = tuple(
    (np.uint64(mask), np.uint64(shift))
    for mask, shift in ((0x007F007F007F007F, 1), (0x00003FFF00003FFF, 2), (0x000000000FFFFFFF, 4))
)
