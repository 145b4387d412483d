from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from frazil.connectors.registry import checked
from frazil.environment.extras import Extra
from frazil.environment.settings import Settings
from frazil.errors import ConfigError

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
HIDING = """
import os, pty, sys
hidden, arguments = sys.argv[1].split(","), sys.argv[2:]
sys.modules.update(dict.fromkeys(hidden))
import frazil.cli.main  # without what is missing, everything else works
slave = pty.openpty()[1]
os.dup2(slave, 0)
os.dup2(slave, 1)
frazil.cli.main.main(arguments)
"""
DELTA = {
    "name": "x",
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "topics": "x",
    "store.url": "http://127.0.0.1:9000",
    "s3.bucket.name": "x",
    "flush.size": "1",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "format.class": "frazil.DeltaFormat",
}


@pytest.mark.parametrize(
    ("extra", "package", "hidden", "arguments"),
    [
        ("sql", "duckdb", "duckdb", ["sql", "SELECT 1"]),
        ("trino", "trino", "trino,uv", ["sql", "--engine", "trino", "SELECT 1"]),
        ("trino", "trino", "trino,duckdb", ["sql", "--engine", "trino", "SELECT 1"]),
        ("report", "vl_convert", "vl_convert", ["report"]),
        ("shell", "prompt_toolkit", "prompt_toolkit,pygments", ["sql"]),
    ],
)
def test_a_verb_without_its_extra_says_which_one_to_install(
    extra: str, package: str, hidden: str, arguments: list[str], tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HIDING, hidden, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert f"the package {package} is not installed; it belongs to the extra `{extra}`" in ended.stderr, ended.stderr
    assert f"pip install 'frazil[{extra}]'" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 2


def test_a_worker_needs_no_extra() -> None:
    hide = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1].split(',')))"
    packages = "duckdb,trino,deltalake,vl_convert,prompt_toolkit,grpc_tools,psycopg,opentelemetry"
    done = subprocess.run(
        [sys.executable, "-c", f"{hide}; import frazil.api.worker, frazil.worker.main", packages],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_delta_connector_without_its_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    checked(DELTA, Settings({}))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ConfigError, match=r"format\.class: the package deltalake .* `pip install 'frazil\[delta\]'"):
        checked(DELTA, Settings({}))


def test_a_delta_table_without_its_extra_cannot_be_opened() -> None:
    code = "import sys; sys.modules['deltalake'] = None; import frazil.connectors.objects.delta.table"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ConfigError: the package deltalake is not installed; it belongs to the extra `delta`" in ended.stderr


def test_the_extras_are_those_of_the_project() -> None:
    declared = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    assert declared.keys() == {*get_args(Extra), "all"}
    assert declared["all"] == [f"frazil[{','.join(sorted(get_args(Extra)))}]"]
