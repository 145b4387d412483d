"""Files that frazil has made on this machine, in the folders that settings name: data, downloads, contexts."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from frazil.environment.settings import Settings
from frazil.stack.local import OWNED, LocalStack

_CACHED = ("classes", "ivy", "jars", "java", "registry", "trino")
"""Folders of downloads, and of what was made of them."""


@dataclass(frozen=True)
class Leftover:
    """Folder with files of ours: `what` they are, and their size in bytes."""

    what: str
    folder: Path
    size: int


def leftovers(settings: Settings) -> list[Leftover]:
    """Find what is there; changes nothing."""
    kinds = [
        ("topics, tables, connectors, logs", settings.home, [settings.home / name for name in OWNED]),
        ("downloads of every home", settings.cache, [settings.cache / name for name in _CACHED]),
        ("contexts", settings.contexts_file.parent, [settings.contexts_file]),
    ]
    found = [(what, folder, [path for path in paths if path.exists()]) for what, folder, paths in kinds]
    return [Leftover(what, folder, sum(map(_size, paths))) for what, folder, paths in found if paths]


def remove(settings: Settings) -> None:
    """Remove it all, but for files of others in the same folders.

    Raises StackError, having removed nothing, when any service of this home still runs.
    """
    LocalStack(settings).clean()
    for name in _CACHED:
        shutil.rmtree(settings.cache / name, ignore_errors=not (settings.cache / name).exists())
    settings.contexts_file.unlink(missing_ok=True)
    for folder in (settings.cache, settings.contexts_file.parent):
        if folder.exists() and not any(folder.iterdir()):
            folder.rmdir()


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; links count nothing, and what is gone meanwhile."""
    files = [path] if path.is_file() else path.rglob("*")
    total = 0
    for file in files:
        try:
            found = file.lstat()
        except FileNotFoundError:
            continue
        total += found.st_size if not (file.is_symlink() or file.is_dir()) else 0
    return total
