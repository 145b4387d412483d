"""Records that are to be stored, and what was found of them."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from frazil.connectors.checks.result import RangeCheck, Sum

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Expected:
    """Records of a partition that are to be stored, and how often each was found.

    They are looked up by digest. Those of files with columns are looked up by folder, and their texts are kept in a
    temporary file.
    """

    def __init__(self, check: RangeCheck) -> None:
        self.check = check
        self.total, self.found = Sum(), Sum()
        self._offsets = array("q")
        self._digests = array("Q")
        self._folders: dict[str, array[int]] = defaultdict(lambda: array("q"))
        """Records by the order in which they were added."""
        self._texts: Texts | None = None
        self._taken: Counter[int] = Counter()
        """Number of equal records that were found, by the place of the first."""

    def add(self, offset: int, digest_: int) -> None:
        """Expect a record with this digest; one of equal digests is as good as the other."""
        self._offsets.append(offset)
        self._digests.append(digest_)
        self.total.add(digest_)

    def add_row(self, offset: int, digest_: int, folder: str, text: bytes) -> None:
        """Expect a record that may be in a file with columns of this folder, with this text."""
        self._texts = self._texts or Texts()
        self._texts.add(text)
        self._folders[folder].append(len(self._offsets))
        self.add(offset, digest_)

    def close(self) -> None:
        """End the list of records; they stand in the order of their digests now, equal ones in that of offsets."""
        offsets = np.frombuffer(self._offsets, np.int64) if self._offsets else np.zeros(0, np.int64)
        digests = np.frombuffer(self._digests, np.uint64) if self._digests else np.zeros(0, np.uint64)
        self._order = np.argsort(digests, kind="stable")
        self._places = np.argsort(self._order, kind="stable")
        self._sorted = digests[self._order]
        self.offsets = offsets[self._order]
        self.counts = np.zeros(len(offsets), np.uint32)

    def ranges(self, digests: Sequence[int]) -> list[tuple[int, int]]:
        """Find where the records of each digest stand."""
        wanted = np.array(digests, np.uint64)
        begin, end = (np.searchsorted(self._sorted, wanted, side) for side in ("left", "right"))
        return list(zip(begin.tolist(), end.tolist(), strict=True))

    def count(self, place: int) -> None:
        """Note that the record at a place is stored, once more if it was found before."""
        self.check.stored += not self.counts[place]
        self.counts[place] += 1
        self.found.add(int(self._sorted[place]))

    def take(self, begin: int, end: int) -> bool:
        """Count one of equal records that was not found yet; False when all were."""
        place = begin + self._taken[begin]
        if place >= end:
            return False
        self._taken[begin] += 1
        self.count(place)
        return True

    def after(self, begin: int, end: int, last: int) -> int:
        """Place of the next of equal records behind an offset that was not found yet; else the next, else the first."""
        place = begin + int(np.searchsorted(self.offsets[begin:end], last, side="right"))
        if place < end and not self.counts[place]:
            return place
        fresh = place + int(np.argmin(self.counts[place:end])) if place < end else end
        if fresh < end and not self.counts[fresh]:
            return fresh
        return place if place < end else begin

    def at(self, begin: int, end: int, offset: int) -> int | None:
        """Place of that of equal records which has this offset; None when there is none."""
        place = begin + int(np.searchsorted(self.offsets[begin:end], offset))
        return place if place < end and self.offsets[place] == offset else None

    def rows(self, folder: str, first: int, count: int) -> Numbers:
        """Places of so many records of a folder, from an offset on."""
        found = self._places[np.array(self._folders.get(folder, ()), np.int64)]
        begin = int(np.searchsorted(self.offsets[found], first)) if len(found) else 0
        return found[begin : begin + count]

    def text(self, place: int) -> bytes:
        """The text of a record that `rows` has found."""
        assert self._texts is not None  # noqa: S101 - it was added with its text
        return self._texts.get(int(self._order[place]))

    def conclude(self, *, compared: bool) -> RangeCheck:
        """Sum up, once everything stored was looked at; without `compared` texts were only counted."""
        check = self.check
        if self._texts is not None:
            self._texts.close()
        check.missing = sorted([*check.missing, *self.offsets[self.counts == 0].tolist()])
        check.doubled = sorted(np.repeat(self.offsets, np.maximum(self.counts, 1) - 1).tolist())
        if compared:
            check.expected_sum, check.stored_sum = str(self.total), str(self.found)
        return check


class Texts:
    """Texts in a temporary file, by their number: the order in which they were added."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._ends = array("q", [0])

    def add(self, text: bytes) -> None:
        """Add a text; its number is one more than that of the text before."""
        self._file.write(text)
        self._ends.append(self._ends[-1] + len(text))

    def get(self, number: int) -> bytes:
        """The text with a number."""
        begin, end = self._ends[number], self._ends[number + 1]
        self._file.seek(begin)
        return self._file.read(end - begin)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
