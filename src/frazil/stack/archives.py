"""Services on disk that come as archives: downloaded and unpacked once into the cache.

`locks/<name>.txt` has one line `org:name:version[:classifier]@ext sha256 bytes` per archive; `scripts.jar_locks` renews
it. The folder is complete or absent: it is unpacked elsewhere, after its checksums were compared, and renamed.
"""

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
from frazil.stack.transfer import watched

# Archives and their content lie side by side for a while; the content is hardly larger than the archives.
_ROOM_FACTOR = 2.5


@dataclass(frozen=True)
class Archive:
    """Line of the lock; `size` is in bytes."""

    coordinate: str
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        return file_name(self.coordinate)


@dataclass(frozen=True)
class ArchiveSet:
    """Archives that make one service; `title` names it in texts.

    `unpack` gets the files, a folder to work in and the progress; it returns the folder that is to be kept.
    """

    name: str
    title: str
    unpack: Callable[[list[Path], Path, Progress], Path]

    def archives(self) -> tuple[Archive, ...]:
        """The archives as the lock has them."""
        text = (LOCKS / f"{self.name}.txt").read_text()
        lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
        return tuple(Archive(coordinate, digest, int(size)) for coordinate, digest, size in lines)

    def folder(self, cache: Path) -> Path:
        """Folder of the service once `install` has returned; changes with any archive."""
        lines = "\n".join(f"{a.coordinate} {a.sha256}" for a in self.archives())
        return cache / self.name / hashlib.sha256(lines.encode()).hexdigest()[:12]


def install(wanted: ArchiveSet, java: Path, cache: Path, progress: Progress, env: Mapping[str, str]) -> Path:
    """Folder of a service, downloaded first when it is not in `cache` yet.

    The repository, its certificate and a proxy are those of the jars (`FRAZIL_IVY_SETTINGS`, `JAVA_TOOL_OPTIONS`).
    `progress` gets the bytes. An archive that has arrived is kept until the others have, so that a next call goes on
    with what is missing. Raises StackError when a download fails, a checksum differs or the disk is full; then the
    folder is absent.
    """
    folder = wanted.folder(cache)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.parent / "lock", wanted.title, progress):
            if not folder.is_dir():
                _build(wanted, java, folder, progress, env)
    return folder


def unpack_tar(archive: Path, target: Path, progress: Callable[[int], None]) -> None:
    """Unpack a `.tar.gz` into a folder; `progress` gets the bytes that were read so far."""
    with archive.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:gz") as tar:
        # Absent before Python 3.11.4, where the checksum has to do.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        for member in tar:
            tar.extract(member, target)
            progress(raw.tell())


def unpack_zip(archive: Path, target: Path, progress: Callable[[int], None]) -> None:
    """Unpack a `.zip` into a folder; `progress` gets the compressed bytes of the members so far."""
    done = 0
    with zipfile.ZipFile(archive) as content:
        for member in content.infolist():
            content.extract(member, target)
            done += member.compress_size
            progress(done)


def _build(wanted: ArchiveSet, java: Path, folder: Path, progress: Progress, env: Mapping[str, str]) -> None:
    downloads = folder.parent / "downloads"
    _require_room(wanted, folder.parent, downloads)
    found = _download(wanted, java, downloads, progress, env)
    draft = Path(tempfile.mkdtemp(prefix=f".{wanted.name}-", dir=folder.parent))
    try:
        wanted.unpack(found, draft, progress).rename(folder)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise StackError(
            f"the disk of {folder.parent} is full. {wanted.title} was not installed; the downloads are kept in "
            f"{downloads}. Free some space, or set FRAZIL_CACHE to a folder on another disk, and try again."
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(downloads)


def _require_room(wanted: ArchiveSet, cache: Path, downloads: Path) -> None:
    needed = int(sum(archive.size for archive in wanted.archives()) * _ROOM_FACTOR) - _bytes(downloads)
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise StackError(
            f"the disk of {cache} has {free >> 20} MiB free; {wanted.title} needs {needed >> 20} MiB while it is "
            "installed, and nothing was downloaded. Free some space, or set FRAZIL_CACHE to a folder on another disk."
        )


def _download(
    wanted: ArchiveSet, java: Path, downloads: Path, progress: Progress, env: Mapping[str, str]
) -> list[Path]:
    archives = wanted.archives()
    total = sum(archive.size for archive in archives)
    with watched(f"downloading {wanted.title}", lambda: _bytes(downloads / "ivy"), total, progress):
        retrieve(
            java,
            [archive.coordinate for archive in archives],
            downloads,
            downloads / "ivy",
            user_settings(env),
            lambda text: None,
            env,
            links=True,
        )
    progress(f"comparing the checksums of {wanted.title}")
    for archive in archives:
        if sha256(downloads / archive.file_name) != archive.sha256:
            shutil.rmtree(downloads)
            raise StackError(
                f"{archive.coordinate} is not the file that the lock names (SHA-256 differs). Nothing was installed, "
                "and the downloads were removed. Try again; if it stays so, do not trust the repository."
            )
    return [downloads / archive.file_name for archive in archives]


def _bytes(folder: Path) -> int:
    """Bytes of the archives so far; Ivy writes into `….part` first."""
    size = 0
    for path in folder.rglob("*"):
        if path.name.endswith((".tar.gz", ".zip", ".part")) and not path.is_symlink():
            with suppress(FileNotFoundError):  # renamed meanwhile
                size += path.stat().st_size
    return size
