"""What waits for an object to be stored: in memory, and in a temporary file when it is too much."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

_GZIP = 31
"""Window bits of zlib for the format of gzip, whose header has no time then."""


class Spool:
    """Bytes of one object, in order, compressed on their way in when `gzip_level` is set."""

    def __init__(self, gzip_level: int | None = None) -> None:
        self._file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=0)  # noqa: SIM115 - closed by `close`
        self._gzip = None if gzip_level is None else zlib.compressobj(gzip_level, zlib.DEFLATED, _GZIP)
        self.memory_bytes = 0
        """What is held in memory."""
        self.in_memory = True

    def write(self, data: bytes | memoryview) -> None:
        """Add bytes."""
        if self._gzip is not None:
            data = self._gzip.compress(data)
        self._file.write(data)
        if self.in_memory:
            self.memory_bytes += len(data)

    def to_disk(self) -> None:
        """Move what is in memory, and what comes, to a temporary file."""
        if self.in_memory:
            self._file.rollover()
            self.in_memory = False
            self.memory_bytes = 0

    def finish(self) -> IO[bytes]:
        """All bytes from their start, when no more will come."""
        if self._gzip is not None:
            self._file.write(self._gzip.flush())
            self._gzip = None
        self._file.seek(0)
        return self._file

    def lines(self) -> Iterator[bytes]:
        """The lines that were added, without their ends, from the start."""
        self._file.seek(0)
        for line in self._file:
            yield line[:-1]

    def close(self) -> None:
        """Let go of memory and file."""
        self._file.close()
        self.memory_bytes = 0


def joined(texts: pa.BinaryArray, separator: bytes) -> memoryview:
    """The texts, none of them null, each with the separator behind it."""
    whole = pc.binary_join_element_wise(texts, pa.scalar(b"", pa.binary()), pa.scalar(separator, pa.binary()))
    _, offsets, data = whole.buffers()
    ends = memoryview(offsets).cast("i")
    return memoryview(data)[ends[whole.offset] : ends[whole.offset + len(whole)]]
