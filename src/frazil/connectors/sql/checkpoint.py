"""Checkpoints of a stream's state beside its table: files that are never written twice, and a manifest for each commit.

Spark keeps offsets and state in a folder of the worker. What came to it since the last commit is stored below
`<table>/frazil-state/<connector>/<run>/` before the next one, with a manifest that names every file, also those of runs
before. The snapshot names the manifest, so rows, offsets and state are one commit, and what another run stores is in
nobody's way.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec
from pyiceberg.io import FileIO

from frazil.clients.store import refuses
from frazil.errors import ConfigError, PositionLost, ServiceUnavailable

T = TypeVar("T")
FOLDER = "frazil-state"
_KEPT = 3
"""Manifests whose files are kept, the newest ones."""
_THREADS = 8


class Manifest(msgspec.Struct, frozen=True):
    """Checkpoint behind batch `batch`: locations of its files by their paths, and the `digest` of the statement."""

    batch: int
    digest: str
    files: Mapping[str, str]


class Checkpoints:
    """Stored checkpoints of one run of a connector. Raises ServiceUnavailable or ConfigError for its store."""

    def __init__(self, io: FileIO, location: str, connector: str) -> None:
        self._io = io
        self._root = f"{location.rstrip('/')}/{FOLDER}/{quote(connector, safe='')}/{uuid.uuid4().hex}"
        self._stored: dict[str, str] = {}
        self._kept: deque[tuple[str, Manifest]] = deque()

    def restore(self, location: str, folder: Path) -> Manifest:
        """Put the files of a manifest into an empty folder. Raises PositionLost where one of them is gone."""
        try:
            manifest = msgspec.json.decode(self._read(location), type=Manifest)
            with ThreadPoolExecutor(_THREADS) as threads:
                for path, content in threads.map(lambda each: (each[0], self._read(each[1])), manifest.files.items()):
                    target = folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
        except (FileNotFoundError, msgspec.DecodeError) as error:
            raise PositionLost(
                f"the state of the statement is lost: {location} cannot be read ({error}). Nothing was read past it. "
                "Reset the offsets of the connector to compute its rows anew from the topics, into a new table; or "
                "alter them to its position now, to go on with an empty state"
            ) from error
        self._stored = dict(manifest.files)
        self._kept.append((location, manifest))
        return manifest

    def save(self, folder: Path, batch: int, digest: str) -> str:
        """Store what a folder has behind a batch; gives the location of the manifest."""
        paths = {str(path.relative_to(folder)): path for path in _files(folder, batch)}
        new = {path: f"{self._root}/{path}" for path in paths.keys() - self._stored.keys()}
        with ThreadPoolExecutor(_THREADS) as threads:
            found = dict(threads.map(lambda path: (path, _content(paths[path])), new))
            stored = {path: content for path, content in found.items() if content is not None}
            list(threads.map(lambda path: self._write(new[path], stored[path]), stored))
        gone = found.keys() - stored.keys()
        self._stored = {path: new.get(path) or self._stored[path] for path in paths if path not in gone}
        manifest = Manifest(batch, digest, self._stored)
        location = f"{self._root}/manifest-{batch}.json"
        self._write(location, msgspec.json.encode(manifest))
        self._kept.append((location, manifest))
        return location

    def tidy(self) -> None:
        """Remove what the newest manifests do not name; to be called when the newest one is committed."""
        gone: set[str] = set()
        while len(self._kept) > _KEPT:
            location, manifest = self._kept.popleft()
            gone |= {location, *manifest.files.values()}
        gone -= {location for _, manifest in self._kept for location in manifest.files.values()}
        with ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(self._remove, gone))

    def _read(self, location: str) -> bytes:
        def read() -> bytes:
            with self._io.new_input(location).open() as stream:
                return bytes(stream.read())

        return self._asked(location, read)

    def _write(self, location: str, content: bytes) -> None:
        def write() -> None:
            with self._io.new_output(location).create(overwrite=True) as stream:
                stream.write(content)

        self._asked(location, write)

    def _remove(self, location: str) -> None:
        with suppress(FileNotFoundError):
            self._asked(location, lambda: self._io.delete(location))

    def _asked(self, location: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except FileNotFoundError:
            raise
        except OSError as error:
            if refuses(error):
                raise ConfigError(
                    f"the object store refused {location}, which is for the state of the statement: {error}. Nothing "
                    "was committed. Check the bucket and the access keys (iceberg.catalog.s3.*)"
                ) from error
            raise ServiceUnavailable(
                f"the object store did not answer for {location}: {error}. Nothing was committed; the batch is read "
                "again"
            ) from error


def _files(folder: Path, batch: int) -> Iterator[Path]:
    """Give the files of a checkpoint up to a batch; the next one waits, and has written its offsets."""
    for path in folder.rglob("*"):
        name = path.name
        of_later = path.parent.name in ("offsets", "commits") and name.isdecimal() and int(name) > batch
        if path.is_file() and not name.startswith(".") and not of_later:
            yield path


def _content(path: Path) -> bytes | None:
    """Read a file; None for one that Spark has removed, as newer ones stand for it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
