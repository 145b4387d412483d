"""Checkpoints of a stream's state beside its table: files that are never written twice, and a manifest for each commit.

Spark keeps offsets and state in a folder of the worker. What came to it since the last commit is stored below
`<table>/data/_frazil_state/<connector>/<run>/<batch>/` before the next one, with a manifest that names every file, also
those of runs before. The snapshot names the manifest, so rows, offsets and state are one commit, and what another run
stores is in nobody's way.
"""

import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from pyiceberg.io import FileIO

from frazil.clients.store import refuses
from frazil.connectors.iceberg.maintenance.stored_objects import StoredObject
from frazil.errors import ConfigError, PositionLost, ServiceUnavailable

T = TypeVar("T")
FOLDER = "data/_frazil_state"
"""Folder in that of the table. Buckets of tables take files in `data` only, and by their endings; to Iceberg names with
`_` are hidden, so they are nobody's orphans."""
_ENDING = ".avro"
_KEPT = 3
"""Manifests whose files are kept, the newest ones."""
_THREADS = 8
_STRAY_MS = 86_400_000
_WORD = re.compile("[A-Za-z0-9_-]+")
_SNAPSHOTS = ("SSTs", "logs")
"""Folders of RocksDB's files, which Spark copies there one after the other."""


class Manifest(msgspec.Struct, frozen=True):
    """Checkpoint behind batch `batch`: locations of its files by their paths, and the `digest` of the statement."""

    batch: int
    digest: str
    files: Mapping[str, str]


class Checkpoints:
    """Stored checkpoints of one run of a connector. Raises ServiceUnavailable or ConfigError for its store."""

    def __init__(self, io: FileIO, location: str, connector: str) -> None:
        self._io = io
        name = connector if _WORD.fullmatch(connector) else connector.encode().hex()
        self.folder = f"{location.rstrip('/')}/{FOLDER}/{name}"
        self._run = f"{self.folder}/{uuid.uuid4().hex}"
        self._stored: dict[str, tuple[str, int]] = {}
        """Location and size of each file by its path; one that was stored while Spark wrote it grows."""
        self._kept: deque[tuple[str, Manifest]] = deque()

    def restore(self, location: str, folder: Path) -> Manifest:
        """Put the files of a manifest into an empty folder. Raises PositionLost where one of them is gone."""
        try:
            self._check(location)
            manifest = msgspec.json.decode(self._read(location), type=Manifest)
            for path, at in manifest.files.items():
                self._check(at, Path(path))
            with ThreadPoolExecutor(_THREADS) as threads:
                for path, content in threads.map(lambda each: (each[0], self._read(each[1])), manifest.files.items()):
                    target = folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                    self._stored[path] = manifest.files[path], len(content)
        except (FileNotFoundError, ValueError) as error:
            raise PositionLost(
                f"the state of the statement is lost: {location} cannot be read ({error}). Nothing was read past it. "
                "Reset the offsets of the connector to compute its rows anew from the topics, into a new table; or "
                "alter them to its position now, to go on with an empty state"
            ) from error
        self._kept.append((location, manifest))
        return manifest

    def _check(self, location: str, path: Path = Path()) -> None:
        """Raise ValueError for a stored object of somebody else, or a file that would be outside of the folder."""
        if (
            not location.startswith(f"{self.folder}/")
            or path.is_absolute()
            or ".." in (*path.parts, *location.split("/"))
        ):
            raise ValueError(f"it names {path} at {location}, which is no file of this state")

    def save(self, folder: Path, batch: int, digest: str) -> str:
        """Store what a folder has behind a batch; gives the location of the manifest."""
        found = {str(path.relative_to(folder)): path for path in _files(folder, batch)}
        known = {path: self._stored.get(path, ("", -1)) for path in found}
        new = [path for path, at in found.items() if known[path][1] != _size(at)]
        with ThreadPoolExecutor(_THREADS) as threads:
            for path, stored in zip(
                new, threads.map(lambda each: self._store(each[0], found[each[1]], batch), enumerate(new)), strict=True
            ):
                known[path] = stored or ("", -1)
        self._stored = {path: stored for path, stored in known.items() if stored[0]}
        manifest = Manifest(batch, digest, {path: location for path, (location, _) in self._stored.items()})
        location = f"{self._run}/{batch}/manifest{_ENDING}"
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

    def strays(self, objects: Iterable[StoredObject], now_ms: int) -> list[str]:
        """Find what workers that were killed have left: objects of the folder that the kept manifests do not name."""
        named = {at for location, manifest in self._kept for at in (location, *manifest.files.values())}
        return [
            each.location for each in objects if each.location not in named and each.changed_ms < now_ms - _STRAY_MS
        ]

    def _store(self, number: int, path: Path, batch: int) -> tuple[str, int] | None:
        """Store a file; None for one that Spark has removed, as newer ones stand for it."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        location = f"{self._run}/{batch}/{number}{_ENDING}"
        self._write(location, content)
        return location, len(content)

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
    """Give the files of a checkpoint up to a batch; the next one waits, and has written its offsets.

    What a snapshot of the state consists of comes last: it is whole by the time that its `.zip` is there.
    """
    for of_snapshots in (False, True):
        for path in folder.rglob("*"):
            name = path.name
            of_later = path.parent.name in ("offsets", "commits") and name.isdecimal() and int(name) > batch
            if (path.parent.name in _SNAPSHOTS) is of_snapshots and path.is_file() and name[0] != "." and not of_later:
                yield path


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1
