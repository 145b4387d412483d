"""Trino on disk: the server and its Iceberg plugin, downloaded and unpacked once into the cache.

`locks/trino.txt` has one line `org:name:version@ext sha256 bytes` per archive; `frazil.stack.lock` renews it. The
folder is complete or absent: it is unpacked elsewhere, after its checksums were compared, and renamed.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from frazil.errors import StackError
from frazil.stack.ivy import Progress, retrieve, user_settings
from frazil.stack.jars import LOCKS, exclusive, file_name, sha256
from frazil.stack.transfer import Transfer, watched

# Archives and their content lie side by side for a while; the content is hardly larger than the archives.
_ROOM_FACTOR = 2.5
_UNPACKING = "unpacking Trino"


@dataclass(frozen=True)
class Archive:
    """Line of the lock; `size` is in bytes."""

    coordinate: str
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        return file_name(self.coordinate)


def archives() -> tuple[Archive, ...]:
    """The server (`.tar.gz`) and its Iceberg plugin (`.zip`), as the lock has them."""
    lines = (line.split() for line in (LOCKS / "trino.txt").read_text().splitlines() if not line.startswith("#"))
    return tuple(Archive(coordinate, digest, int(size)) for coordinate, digest, size in lines)


def server_folder(cache: Path) -> Path:
    """Folder of the server once `resolve_trino` has returned; changes with any archive."""
    digest = hashlib.sha256("\n".join(f"{a.coordinate} {a.sha256}" for a in archives()).encode()).hexdigest()
    return cache / "trino" / digest[:12]


def resolve_trino(java: Path, cache: Path, progress: Progress, env: Mapping[str, str]) -> Path:
    """Folder of the server with `lib/` and `plugin/iceberg/`, downloaded first when it is not in `cache` yet.

    The repository, its certificate and a proxy are those of the jars (`FRAZIL_IVY_SETTINGS`, `JAVA_TOOL_OPTIONS`).
    `progress` gets the bytes. An archive that has arrived is kept until the other one has, so that a next call goes on
    with what is missing. Raises StackError when a download fails, a checksum differs or the disk is full; then the
    folder is absent.
    """
    folder = server_folder(cache)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.parent / "lock", "Trino", progress):
            if not folder.is_dir():
                _build(java, folder, progress, env)
    return folder


def _build(java: Path, folder: Path, progress: Progress, env: Mapping[str, str]) -> None:
    downloads = folder.parent / "downloads"
    _require_room(folder.parent, downloads)
    found = _download(java, downloads, progress, env)
    draft = Path(tempfile.mkdtemp(prefix=".trino-", dir=folder.parent))
    try:
        _unpack(found, draft, progress).rename(folder)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise StackError(
            f"the disk of {folder.parent} is full. Trino was not installed; the downloads are kept in {downloads}. "
            "Free some space, or set FRAZIL_CACHE to a folder on another disk, and try again."
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(downloads)


def _require_room(cache: Path, downloads: Path) -> None:
    needed = int(sum(archive.size for archive in archives()) * _ROOM_FACTOR) - _bytes(downloads)
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise StackError(
            f"the disk of {cache} has {free >> 20} MiB free; Trino needs {needed >> 20} MiB while it is installed, and "
            "nothing was downloaded. Free some space, or set FRAZIL_CACHE to a folder on another disk."
        )


def _download(java: Path, downloads: Path, progress: Progress, env: Mapping[str, str]) -> list[Path]:
    wanted = archives()
    total = sum(archive.size for archive in wanted)
    with watched("downloading Trino", lambda: _bytes(downloads / "ivy"), total, progress):
        retrieve(
            java,
            [archive.coordinate for archive in wanted],
            downloads,
            downloads / "ivy",
            user_settings(env),
            lambda text: None,
            env,
            links=True,
        )
    progress("comparing the checksums of Trino")
    for archive in wanted:
        if sha256(downloads / archive.file_name) != archive.sha256:
            shutil.rmtree(downloads)
            raise StackError(
                f"{archive.coordinate} is not the file that the lock names (SHA-256 differs). Nothing was installed, "
                "and the downloads were removed. Try again; if it stays so, do not trust the repository."
            )
    return [downloads / archive.file_name for archive in wanted]


def _bytes(folder: Path) -> int:
    """Bytes of the archives so far; Ivy writes into `….part` first."""
    size = 0
    for path in folder.rglob("*"):
        if path.name.endswith((".tar.gz", ".zip", ".part")) and not path.is_symlink():
            with suppress(FileNotFoundError):  # renamed meanwhile
                size += path.stat().st_size
    return size


def _unpack(found: list[Path], draft: Path, progress: Progress) -> Path:
    """Unpack both archives below `draft`; returns the folder of the server, with the plugin in its place."""
    server, plugin = found
    sizes = [path.stat().st_size for path in found]
    total = sum(sizes)
    top = _unpack_tar(server, draft / "server", lambda done: progress(Transfer(_UNPACKING, done, total)))
    inner = _unpack_zip(plugin, draft / "plugin", lambda done: progress(Transfer(_UNPACKING, sizes[0] + done, total)))
    (top / "plugin").mkdir(exist_ok=True)
    inner.rename(top / "plugin" / "iceberg")
    return top


def _unpack_tar(archive: Path, target: Path, progress: Callable[[int], None]) -> Path:
    with archive.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:gz") as tar:
        # Absent before Python 3.11.4, where the checksum has to do.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        for member in tar:
            tar.extract(member, target)
            progress(raw.tell())
    return next(target.iterdir())


def _unpack_zip(archive: Path, target: Path, progress: Callable[[int], None]) -> Path:
    done = 0
    with zipfile.ZipFile(archive) as content:
        for member in content.infolist():
            content.extract(member, target)
            done += member.compress_size
            progress(done)
    return next(target.iterdir())
