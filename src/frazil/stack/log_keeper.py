"""Keeps the logs of a home within bounds for as long as one of its services runs, whoever has started it.

It is a process of its own, `python -m frazil.stack.log_keeper HOME`, since services go on when the command that has
started them has ended; a home has one of it. When it is killed, nothing else is touched, and the next start of a
service brings it back.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from io import IOBase
from pathlib import Path

from frazil.stack.logfile import bound

_LOOK_S = 1.0
# Children of this process, so that their exit status is collected.
_keepers: list[subprocess.Popen[bytes]] = []


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
    """Look after the logs of a home until no service of it runs; return at once when another process does."""
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
