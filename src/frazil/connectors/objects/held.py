"""Rows that are held as long as their objects are open, so that these can be begun again without a refused record."""

from collections import deque
from collections.abc import Iterator

import numpy as np

from frazil.pipeline.rows import Rows

MAX_HELD = 32 << 20
"""Bytes of values that are held, beside the chunk that was read last. Larger objects are read from Kafka again."""


class HeldRows:
    """The last chunks of one Kafka partition, in order of their offsets."""

    def __init__(self) -> None:
        self._chunks: deque[tuple[Rows, int]] = deque()
        self._size = 0

    def add(self, rows: Rows) -> None:
        """Hold a chunk, at least one record; the oldest ones are let go when they are too many."""
        size = rows.size
        while self._chunks and self._size > MAX_HELD:
            self._drop()
        self._chunks.append((rows, size))
        self._size += size

    def forget(self, below: int | None) -> None:
        """Let chunks go whose records are all below an offset; all chunks without one."""
        while self._chunks and (below is None or self._chunks[0][0].offsets[-1] < below):
            self._drop()

    def _drop(self) -> None:
        self._size -= self._chunks.popleft()[1]

    def reach(self, offset: int) -> bool:
        """Whether all rows from the offset of a record on are held."""
        return bool(self._chunks) and int(self._chunks[0][0].offsets[0]) <= offset

    def parts(self, begin: int, most: int) -> Iterator[Rows]:
        """The rows from an offset on, in parts of `most` records at first, and of twice as many each time."""
        for rows, _ in list(self._chunks):
            at = int(np.searchsorted(rows.offsets, begin))
            while at < len(rows):
                yield rows.take(range(at, min(at + most, len(rows))))
                at, most = at + most, 2 * most
