from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Literal

import pytest

from frazil.worker.sources.plugin_path import find_plugins

SERVICES = "META-INF/services/org.apache.kafka.connect."


def jar(path: Path, **entries: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            archive.writestr(SERVICES + name.replace("_", "."), text)
    return path


def test_classes_are_found_where_connect_looks_for_them(tmp_path: Path) -> None:
    jar(tmp_path / "a" / "files" / "connect-file-4.3.1.jar", source_SourceConnector="# ours\nx.FileSource # it\n\n")
    jar(tmp_path / "a" / "both" / "lib" / "both.jar", source_SourceConnector="x.S", sink_SinkConnector="x.T\n")
    single = jar(tmp_path / "b" / "one-2.0-SNAPSHOT.jar", sink_SinkConnector="y.OneConnector")
    (tmp_path / "a" / "broken.jar").write_text("no archive")
    found = find_plugins(f"{tmp_path}/a, {single},/no/such/folder")
    assert [(one.class_name, one.type, one.version) for one in found] == [
        ("x.FileSource", "source", "4.3.1"),
        ("x.S", "source", None),
        ("x.T", "sink", None),
        ("y.OneConnector", "sink", "2.0-SNAPSHOT"),
    ]
    assert find_plugins("") == []


def test_a_jar_is_read_again_when_it_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []

    class Counted(zipfile.ZipFile):
        def __init__(self, file: Path, mode: Literal["r", "w"] = "r") -> None:
            super().__init__(file, mode)
            opened.append(file)

    one = jar(tmp_path / "one.jar", sink_SinkConnector="y.One")
    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    assert [plugin.class_name for _ in range(3) for plugin in find_plugins(str(tmp_path))] == ["y.One"] * 3
    assert opened == [one]
    jar(one, sink_SinkConnector="y.Two")
    os.utime(one, (1, 1))
    assert [plugin.class_name for plugin in find_plugins(str(tmp_path))] == ["y.Two"]
    one.unlink()
    assert find_plugins(str(tmp_path)) == []


def test_names_of_a_class(tmp_path: Path) -> None:
    (one,) = find_plugins(str(jar(tmp_path / "one.jar", sink_SinkConnector="y.OneConnector")))
    assert all(one.is_called(name) for name in ("y.OneConnector", "OneConnector", "One"))
    assert not any(one.is_called(name) for name in ("Connector", "y.One", "", "Two"))
