from __future__ import annotations

import zipfile
from pathlib import Path

from frazil.worker.sources.plugins import find_plugins

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


def test_names_of_a_class(tmp_path: Path) -> None:
    (one,) = find_plugins(str(jar(tmp_path / "one.jar", sink_SinkConnector="y.OneConnector")))
    assert all(one.is_called(name) for name in ("y.OneConnector", "OneConnector", "One"))
    assert not any(one.is_called(name) for name in ("Connector", "y.One", "", "Two"))
