"""Files that may hold credentials: readable by their owner only, and replaced in one step."""

import os
import tempfile
from pathlib import Path
from typing import IO, Any

MASK = 0o077
"""The umask of programs that are ours: what they make is for its owner only."""


def private_home(home: Path) -> Path:
    """Make a home, readable by its owner only; so is one from now on that was made otherwise and is the caller's own.

    Raises OSError.
    """
    home.mkdir(parents=True, exist_ok=True)
    if home.stat().st_uid == os.getuid():
        home.chmod(0o700)
    return home


def open_private(path: Path, mode: str) -> IO[Any]:
    """Open a file, which is made for its owner only; raises OSError."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def write_private(path: Path, text: str) -> Path:
    """Put `text` into the file, with mode 600, and return its path; a missing folder is made with mode 700.

    A reader, also one after a power cut, sees the old text or the new one. Raises OSError; the old text stays then.
    """
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, draft = tempfile.mkstemp(prefix=path.name, dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return path
