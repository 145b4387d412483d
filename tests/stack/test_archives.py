from __future__ import annotations

import errno
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from frazil.errors import StackError
from frazil.stack import archives, trino
from frazil.stack.archives import install
from frazil.stack.registry import REGISTRY_FILES
from frazil.stack.transfer import Transfer
from frazil.stack.trino import TRINO_FILES
from tests.stack.repository import Repository

SERVER, PLUGIN = "org.example:server:1.0@tar.gz", "org.example:iceberg:1.0@zip"
Resolve = Callable[[], Path]


@cache  # archives hold the time at which they were made
def server_archive() -> bytes:
    """Like Trino's: one folder, and a jar that occurs twice is a hard link."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        jar = tarfile.TarInfo("server-1.0/lib/server.jar")
        jar.size = 5
        tar.addfile(jar, io.BytesIO(b"a jar"))
        link = tarfile.TarInfo("server-1.0/lib/again.jar")
        link.type, link.linkname = tarfile.LNKTYPE, jar.name
        tar.addfile(link)
    return buffer.getvalue()


@cache
def plugin_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("iceberg-1.0/iceberg.jar", "a plugin")
    return buffer.getvalue()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repository")
    repository.add_file(SERVER, server_archive())
    return repository


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def resolve(
    tmp_path: Path, java: Path, repository: Repository, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> Resolve:
    """Resolves archives of these tests; the plugin is not published yet."""
    monkeypatch.setattr(archives, "LOCKS", tmp_path)
    lock(tmp_path)
    env = {"FRAZIL_IVY_SETTINGS": str(repository.settings)}
    return lambda: install(TRINO_FILES, java, tmp_path / "cache", lines.append, env)


def lock(folder: Path, **checksums: str) -> None:
    made = {SERVER: server_archive(), PLUGIN: plugin_archive()}
    text = "".join(
        f"{coordinate} {checksums.get(coordinate.split(':')[1]) or hashlib.sha256(data).hexdigest()} {len(data)}\n"
        for coordinate, data in made.items()
    )
    (folder / "trino.txt").write_text(f"# a comment\n{text}")


def test_the_locks_name_the_archives() -> None:
    (registry,) = REGISTRY_FILES.archives()
    assert registry.file_name == "apicurio-registry-app-3.3.3-all.tar.gz"
    server, plugin = TRINO_FILES.archives()
    assert server.file_name == "trino-server-core-476.tar.gz"
    assert plugin.file_name == "trino-iceberg-476.zip"
    assert 500e6 < server.size + plugin.size < 600e6


def test_server_and_plugin_are_installed_once(
    tmp_path: Path, resolve: Resolve, repository: Repository, lines: list[str]
) -> None:
    repository.add_file(PLUGIN, plugin_archive())
    folder = resolve()
    assert {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()} == {
        "lib/server.jar": "a jar",
        "lib/again.jar": "a jar",
        "plugin/iceberg/iceberg.jar": "a plugin",
    }
    total = sum(archive.size for archive in TRINO_FILES.archives())
    steps = [line for line in lines if isinstance(line, Transfer)]
    assert {step.total for step in steps} == {total}
    assert steps[-1].done <= total
    assert sorted(path.name for path in (tmp_path / "cache" / "trino").iterdir()) == sorted([folder.name, "lock"])
    repository.settings.unlink()
    assert resolve() == folder


def test_what_has_arrived_is_kept_when_the_rest_does_not(
    tmp_path: Path, resolve: Resolve, repository: Repository
) -> None:
    with pytest.raises(StackError, match=r"downloading archives failed: .*org\.example#iceberg;1\.0"):
        resolve()
    kept = tmp_path / "cache" / "trino" / "downloads"
    assert [path.name for path in kept.rglob("*.tar.gz")] != []
    assert not TRINO_FILES.folder(tmp_path / "cache").exists()
    (server,) = (tmp_path / "repository").rglob("*.tar.gz")
    server.unlink()
    repository.add_file(PLUGIN, plugin_archive())
    assert (resolve() / "lib" / "server.jar").exists()


def test_another_checksum_is_refused(tmp_path: Path, resolve: Resolve, repository: Repository) -> None:
    repository.add_file(PLUGIN, plugin_archive())
    lock(tmp_path, iceberg="0" * 64)
    with pytest.raises(StackError, match=f"{PLUGIN} is not the file that the lock names"):
        resolve()
    assert [path.name for path in (tmp_path / "cache" / "trino").iterdir()] == ["lock"]


def test_a_disk_without_room_is_told_before_anything_is_downloaded(
    tmp_path: Path, resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_ROOM_FACTOR", 1e15)
    with pytest.raises(StackError, match=r"MiB free; Trino needs .* nothing was downloaded\. .*FRAZIL_CACHE"):
        resolve()
    assert [path.name for path in (tmp_path / "cache" / "trino").iterdir()] == ["lock"]


def test_an_archive_that_cannot_be_unpacked_leaves_no_server(
    tmp_path: Path, resolve: Resolve, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.add_file(PLUGIN, b"not a zip file")
    lock(tmp_path, iceberg=hashlib.sha256(b"not a zip file").hexdigest())
    with pytest.raises(zipfile.BadZipFile):
        resolve()
    assert sorted(path.name for path in (tmp_path / "cache" / "trino").iterdir()) == ["downloads", "lock"]


def test_a_disk_that_becomes_full_leaves_no_server(
    tmp_path: Path, resolve: Resolve, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(archive: Path, target: Path, progress: Callable[[int], None]) -> None:
        target.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    repository.add_file(PLUGIN, plugin_archive())
    with monkeypatch.context() as patch:
        patch.setattr(trino, "unpack_zip", full)
        with pytest.raises(
            StackError, match=r"is full\. Trino was not installed; the downloads are kept in .*downloads"
        ):
            resolve()
    assert sorted(path.name for path in (tmp_path / "cache" / "trino").iterdir()) == ["downloads", "lock"]
    assert resolve().is_dir()
