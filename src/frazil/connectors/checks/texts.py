"""Texts of many records, in a temporary file, until they are compared."""

from __future__ import annotations

from array import array
from tempfile import TemporaryFile


class Texts:
    """Texts by their number, in the order in which they were added."""

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
