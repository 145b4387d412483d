"""Log files of services: last lines, following, and bounds.

A process of its own keeps the bounds, `python -m frazil.stack.logfile HOME`: services go on when the command that has
started them has ended.
"""

import atexit
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import IOBase
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


_LOOK_S = 1.0
# Children of this process, so that their exit status is collected.
_keepers: list[subprocess.Popen[bytes]] = []


@atexit.register
def _leave_keepers() -> None:
    """Leave those that go on without this process, of which Python would warn."""
    for keeper in _keepers:
        keeper.returncode = keeper.poll() or 0


def start_keeper(home: Path, env: Mapping[str, str]) -> None:
    """Start the keeper of a home; it ends at once when there is one already. Raises OSError."""
    _keepers[:] = [keeper for keeper in _keepers if keeper.poll() is None]
    _keepers.append(
        subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", __name__, str(home)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            cwd=home,
            start_new_session=True,
        )
    )


def keep(home: Path, look_s: float = _LOOK_S) -> None:
    """Look after the logs of a home until no service of it runs; return at once when another process does.

    When it is killed, nothing else is touched, and the next start of a service brings it back.
    """
    with (home / "run" / "logs.lock").open("a") as lock:
        while _runs(home) and _locked(lock):
            while _runs(home):
                for log in (home / "logs").glob("*.log"):
                    bound(log)
                time.sleep(look_s)
            # A service that starts just now has found the lock taken: it is seen by the look that follows.
            fcntl.flock(lock, fcntl.LOCK_UN)


def _locked(lock: IOBase) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runs(home: Path) -> bool:
    """Whether a process is there that a process file of the home names."""
    return any(_is_there(file) for file in (home / "run").glob("*.json"))


def _is_there(file: Path) -> bool:
    try:
        os.kill(int(json.loads(file.read_text())["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False  # gone, or cut short by a full disk
    return True


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
