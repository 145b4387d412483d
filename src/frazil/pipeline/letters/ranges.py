"""Sets of offsets that are mostly consecutive, with a short text: `5,7-9`."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Ranges:
    """An immutable set of offsets, kept as disjoint ranges in ascending order."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        """Ranges given by first and last offset, both included; they may overlap."""
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in sorted(pairs):
            if self._lasts and first <= self._lasts[-1] + 1:
                self._lasts[-1] = max(self._lasts[-1], last)
            else:
                self._firsts.append(first)
                self._lasts.append(last)

    @classmethod
    def of(cls, offsets: Iterable[int]) -> Ranges:
        """The set of single offsets."""
        return cls((offset, offset) for offset in offsets)

    @classmethod
    def parse(cls, text: str) -> Ranges:
        """Read the text that `str` gives. Raises ValueError for any other."""
        return cls(map(_pair, text.split(","))) if text else cls()

    def pairs(self) -> list[tuple[int, int]]:
        """First and last offset of each range."""
        return list(zip(self._firsts, self._lasts, strict=True))

    def __contains__(self, offset: int) -> bool:
        index = bisect_right(self._firsts, offset) - 1
        return index >= 0 and offset <= self._lasts[index]

    def first_beyond(self, offset: int) -> int:
        """Give the first offset from `offset` on that is not in the set."""
        index = bisect_right(self._firsts, offset) - 1
        return max(offset, self._lasts[index] + 1) if index >= 0 else offset

    def __or__(self, other: Ranges) -> Ranges:
        return Ranges([*self.pairs(), *other.pairs()])

    def __iter__(self) -> Iterator[int]:
        for first, last in self.pairs():
            yield from range(first, last + 1)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and self.pairs() == other.pairs()

    def __hash__(self) -> int:
        return hash(tuple(self.pairs()))

    def __str__(self) -> str:
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.pairs())

    def __repr__(self) -> str:
        return f"Ranges.parse({str(self)!r})"


def by_partition(positions: Iterable[tuple[str, int, int]]) -> dict[tuple[str, int], Ranges]:
    """Offsets by topic and partition, from topic, partition and offset."""
    offsets: dict[tuple[str, int], array[int]] = {}
    for topic, partition, offset in positions:
        offsets.setdefault((topic, partition), array("q")).append(offset)
    return {key: Ranges.of(several) for key, several in offsets.items()}


def _pair(part: str) -> tuple[int, int]:
    first, dash, last = part.partition("-")
    if not (first.isascii() and first.isdigit()) or dash and not (last.isascii() and last.isdigit()):
        raise ValueError(f"{part!r} is no range of offsets")
    pair = int(first), int(last or first)
    if pair[0] > pair[1]:
        raise ValueError(f"{part!r} ends before it begins")
    return pair
