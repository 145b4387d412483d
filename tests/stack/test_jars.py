from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from frazil.errors import StackError
from frazil.stack import jars
from frazil.stack.ivy import PYSPARK_JARS
from frazil.stack.jars import CONNECT, ICEBERG_CONNECT, KAFKA, JarSet, file_name, resolve
from tests.stack.repository import Repository

ONE, TWO = "org.example:one:1.0", "org.example:two:2.0:extra"
Lock = Callable[..., JarSet]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repository")
    repository.add(ONE)
    repository.add(TWO)
    return repository


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lock:
    """Writes a lock file with the true checksums, or the given ones, and returns its set."""
    monkeypatch.setattr(jars, "LOCKS", tmp_path)

    def write(*coordinates: str, linked: tuple[str, ...] = (), **checksums: str) -> JarSet:
        lines = [
            f"{c} {checksums.get(c.split(':')[1]) or hashlib.sha256(Repository.content(c)).hexdigest()}"
            for c in coordinates
        ]
        (tmp_path / "some.txt").write_text("# comment\n" + "\n".join(lines) + "\n")
        return JarSet("some", linked)

    return write


def resolved(jar_set: JarSet, java: Path, tmp_path: Path, repository: Repository, lines: list[str]) -> list[Path]:
    env = {"FRAZIL_IVY_SETTINGS": str(repository.settings)}
    return resolve(jar_set, java, tmp_path / "cache", lines.append, env)


def test_a_set_is_downloaded_once(tmp_path: Path, java: Path, repository: Repository, lock: Lock) -> None:
    some = lock(ONE, TWO, linked=("py4j-0.10.9.9.jar",))
    lines: list[str] = []
    found = resolved(some, java, tmp_path, repository, lines)
    assert [path.name for path in found] == ["one-1.0.jar", "py4j-0.10.9.9.jar", "two-2.0-extra.jar"]
    assert found[1].resolve() == PYSPARK_JARS / "py4j-0.10.9.9.jar"
    assert lines[0].startswith("some jars: 1/2 ")
    repository.settings.unlink()
    assert resolved(some, java, tmp_path, repository, lines) == found
    assert len(lines) == 2


def test_a_failed_download_leaves_no_set(tmp_path: Path, java: Path, repository: Repository, lock: Lock) -> None:
    some = lock(ONE, "org.example:absent:1.0")
    with pytest.raises(StackError, match=r"org\.example#absent;1\.0"):
        resolved(some, java, tmp_path, repository, [])
    assert list((tmp_path / "cache" / "jars").iterdir()) == [tmp_path / "cache" / "jars" / "some.lock"]
    repository.add("org.example:absent:1.0")
    assert len(resolved(some, java, tmp_path, repository, [])) == 2


def test_another_checksum_is_refused(tmp_path: Path, java: Path, repository: Repository, lock: Lock) -> None:
    some = lock(ONE, TWO, two="0" * 64)
    with pytest.raises(StackError, match=f"{TWO} is not the file that the lock names"):
        resolved(some, java, tmp_path, repository, [])
    assert not some.folder(tmp_path / "cache").exists()


def test_a_set_that_lost_a_jar_is_made_again(tmp_path: Path, java: Path, repository: Repository, lock: Lock) -> None:
    some = lock(ONE, TWO)
    found = resolved(some, java, tmp_path, repository, [])
    found[0].unlink()
    assert resolved(some, java, tmp_path, repository, []) == found


def test_two_at_once_make_one_download(tmp_path: Path, java: Path, repository: Repository, lock: Lock) -> None:
    some = lock(ONE, TWO)
    lines: list[str] = []
    results: list[list[Path]] = []
    threads = [
        threading.Thread(target=lambda: results.append(resolved(some, java, tmp_path, repository, lines)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1]
    assert sum("waiting" not in line for line in lines) == 2


def test_another_checksum_is_another_folder(tmp_path: Path, lock: Lock) -> None:
    assert lock(ONE).folder(tmp_path) != lock(ONE, one="0" * 64).folder(tmp_path)


def test_broker_and_connect_have_a_logger_that_binds() -> None:
    names = set(map(file_name, KAFKA.coordinates))
    assert {"kafka_2.13-4.3.1.jar", "kafka-server-4.3.1.jar", "kafka-tools-4.3.1.jar"} <= names
    assert {"connect-runtime-4.3.1.jar", "connect-json-4.3.1.jar", "connect-transforms-4.3.1.jar"} <= names
    assert {"log4j-slf4j2-impl-2.25.3.jar", "log4j-core-2.25.3.jar"} <= names
    assert [name for name in names if name.startswith("slf4j-api")] == ["slf4j-api-2.0.17.jar"]
    assert CONNECT is KAFKA


def test_iceberg_plugin_links_hadoop_from_pyspark() -> None:
    assert {name.rsplit("-", 1)[0] for name in ICEBERG_CONNECT.linked} == {"hadoop-client-api", "hadoop-client-runtime"}
    assert all((PYSPARK_JARS / name).exists() for name in ICEBERG_CONNECT.linked)
