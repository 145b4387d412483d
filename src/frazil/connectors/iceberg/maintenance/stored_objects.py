"""Listing and removing the objects below a table's folder."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from pyarrow.fs import FileSelector, FileSystem
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

from frazil.clients.store import store_errors
from frazil.errors import TerminalError

_DELETES = 8


@dataclass(frozen=True)
class StoredObject:
    """An object: location as Iceberg writes it, size in bytes, time of its last change in ms since 1970."""

    location: str
    size: int
    changed_ms: int


class Objects:
    """The object store of a table.

    Raises ServiceUnavailable when the store does not answer, ConfigError when it refuses.
    """

    def __init__(self, table: Table) -> None:
        if not isinstance(table.io, PyArrowFileIO):
            raise TerminalError(f"the files of {'.'.join(table.name())} cannot be listed; nothing was removed")
        self._io = table.io

    def below(self, folder: str) -> Iterator[StoredObject]:
        """Yield every object below the folder but hidden ones, whose names begin with `.` or `_`.

        A name `_column=value` is a partition's and not hidden.
        """
        parts = urlsplit(folder)
        filesystem: FileSystem = self._io.fs_by_scheme(parts.scheme, parts.netloc)
        root = parts.netloc + parts.path.rstrip("/")
        with _asked(folder):
            found = filesystem.get_file_info(FileSelector(root, allow_not_found=True, recursive=True))
        for info in found:
            if info.is_file and not _hidden(info.path.removeprefix(root + "/")):
                yield StoredObject(f"{parts.scheme}://{info.path}", info.size, info.mtime_ns // 1_000_000)

    def remove(self, locations: Iterable[str]) -> None:
        """Remove objects; one that is gone already is no error."""
        with ThreadPoolExecutor(_DELETES) as threads:
            for _ in threads.map(self._remove, locations):
                pass

    def _remove(self, location: str) -> None:
        with _asked(location), suppress(FileNotFoundError):
            self._io.delete(location)


def _asked(location: str) -> AbstractContextManager[None]:
    removed = "What was removed before stays removed"
    return store_errors(location, left=removed, cure=".", again="run maintenance again.")


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in path.split("/"))
