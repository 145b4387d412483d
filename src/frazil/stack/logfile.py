"""Log files of services: bounds, last lines, following."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from frazil.environment.private_file import open_private

_MOST_BYTES = 32 << 20
_BLOCK = 64 << 10


def bound(log: Path) -> None:
    """Empty a log that has grown past 32 MiB, and keep its last 32 MiB in `<name>.log.1`.

    Whoever appends to it goes on; a line of this very moment may be lost. On a full disk the older lines are.
    """
    try:
        if log.stat().st_size <= _MOST_BYTES:
            return
        with log.open("rb") as source, open_private(log.with_name(f"{log.name}.1"), "wb") as older, suppress(OSError):
            source.seek(-_MOST_BYTES, os.SEEK_END)
            shutil.copyfileobj(source, older)
        os.truncate(log, 0)
    except FileNotFoundError:
        return  # there is none, or its home is being removed


def tail(log: Path, count: int) -> tuple[list[str], int]:
    """Last `count` lines of a log (none when it is absent), and the byte position behind them."""
    if not log.exists():
        return [], 0
    with log.open("rb") as file:
        end = position = file.seek(0, os.SEEK_END)
        block = b""
        while position > 0 and block.count(b"\n") <= count:
            step = min(_BLOCK, position)
            position -= step
            file.seek(position)
            block = file.read(step) + block
    lines = block.decode(errors="replace").splitlines()
    return lines[max(0, len(lines) - count) :], end


def tail_since(log: Path, start: int, count: int) -> list[str]:
    """Last `count` lines that were written after byte position `start`, or since the log was emptied."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start if start <= end else 0, end - _BLOCK))
        return file.read().decode(errors="replace").splitlines()[-count:]


def follow(logs: Mapping[str, Path], positions: Mapping[str, int], poll_s: float = 0.25) -> Iterator[tuple[str, str]]:
    """Yield (name, line) for every line that is appended, for ever.

    `positions` are the byte positions to go on from. A log that is rotated, truncated or created later is read from
    its beginning.
    """
    followers = {name: _Follower(path, positions.get(name, 0)) for name, path in logs.items()}
    while True:
        idle = True
        for name, follower in followers.items():
            for line in follower.read():
                idle = False
                yield name, line
        if idle:
            time.sleep(poll_s)


class _Follower:
    """Reads what is appended to one log, across rotation and truncation."""

    def __init__(self, path: Path, position: int) -> None:
        self._path = path
        self._position = position
        self._inode = path.stat().st_ino if path.exists() else None
        self._partial = b""

    def read(self) -> list[str]:
        try:
            with self._path.open("rb") as file:
                stat = os.fstat(file.fileno())
                if stat.st_ino != self._inode or stat.st_size < self._position:
                    self._inode, self._position, self._partial = stat.st_ino, 0, b""
                file.seek(self._position)
                block = file.read()
        except FileNotFoundError:
            return []
        self._position += len(block)
        *lines, self._partial = (self._partial + block).split(b"\n")
        return [line.decode(errors="replace") for line in lines]
