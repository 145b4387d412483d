"""Spool for the bytes of an object until it is stored: in memory, and in a file when they are too many."""

import io
import zlib
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

_GZIP = 31
"""Window bits of zlib for the format of gzip, whose header has no time then."""


class Spool:
    """Bytes of one object, in order, compressed on their way in when `gzip_level` is set."""

    def __init__(self, gzip_level: int | None = None) -> None:
        self._memory: io.BytesIO | None = io.BytesIO()
        self._file: IO[bytes] = self._memory
        self._gzip = None if gzip_level is None else zlib.compressobj(gzip_level, zlib.DEFLATED, _GZIP)
        self.memory_bytes = 0
        """Bytes held in memory."""

    @property
    def in_memory(self) -> bool:
        """Whether no bytes are in a file."""
        return self._memory is not None

    def write(self, data: bytes | memoryview) -> None:
        """Add bytes."""
        if self._gzip is not None:
            data = self._gzip.compress(data)
        self._file.write(data)
        if self.in_memory:
            self.memory_bytes += len(data)

    def to_disk(self) -> None:
        """Move what is in memory, and what comes, to a temporary file."""
        if self._memory is not None:
            self._file = TemporaryFile()  # noqa: SIM115 - closed by `close`
            self._file.write(self._memory.getbuffer())
            self._memory = None
            self.memory_bytes = 0

    def finish(self) -> IO[bytes]:
        """Return all bytes from their start, when no more will come."""
        if self._gzip is not None:
            self._file.write(self._gzip.flush())
            self._gzip = None
        self._file.seek(0)
        return self._file

    def lines(self) -> Iterable[bytes]:
        """The lines that were added, without their ends, from the start; a list when all is in memory."""
        return self._memory.getvalue().split(b"\n")[:-1] if self._memory is not None else self._read_lines()

    def _read_lines(self) -> Iterator[bytes]:
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
