"""The pages about Python: their examples run on the real parts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import frazil
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.stack.local import LocalStack
from tests.engine.session import Session
from tests.harness import send

ROOT = Path(__file__).resolve().parents[2]
_BLOCKS = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    return _BLOCKS.findall((ROOT / "docs" / page).read_text())


@pytest.mark.stack
def test_the_examples_of_the_page_run_one_after_the_other(stack: LocalStack, tmp_path: Path) -> None:
    settings = stack.settings
    kafka_topics.ensure_topics(settings.bootstrap_servers, {"orders": (3, {})})
    good = [json.dumps({"id": n, "price": n / 4, "item": f"item {n}"}).encode() for n in range(40)]
    send(settings.bootstrap_servers, "orders", [*good, b"{no json"])
    example = Path("docs/examples/connectors/orders.json")
    (tmp_path / example).parent.mkdir(parents=True)
    shutil.copy(ROOT / example, tmp_path / example)
    program = "\n".join(blocks("python.md"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=dict(settings.env), cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "40 rows in 1 batches, 1 dead letters" in done.stdout
    assert "('n', 'most') [(40, 9.75)]" in done.stdout
    assert "orders" in done.stdout and "fails" in done.stdout
    assert "Must specify table name(s)" in done.stdout
    assert "Row(dear=35, known=True)" in done.stdout
    assert "35 rows of 41 records" in done.stdout
    assert "Row(first=1)" in done.stdout
    assert "35 rows with tax, 1 dead letters" in done.stdout
    assert "[(40,)]" in done.stdout
    script = ROOT / "docs/examples/orders_per_minute.py"
    assert f"```python\n{script.read_text()}```" in (ROOT / "docs/python.md").read_text()
    send(settings.bootstrap_servers, "orders", [b'{"id":40}', b'{"id":41}'])
    again = subprocess.run(
        [sys.executable, script], env=dict(settings.env), cwd=tmp_path, capture_output=True, text=True
    )
    assert (again.returncode, again.stdout) == (0, "[(42,)]\n"), again.stderr


@pytest.mark.stack
def test_the_sink_of_the_page_stores_each_record_once(stack: LocalStack, tmp_path: Path) -> None:
    (source,) = blocks("write-a-sink.md")
    assert source == (ROOT / "docs/examples/arrow_files.py").read_text()
    package = tmp_path / "site"
    (package / "arrow_files-1.dist-info").mkdir(parents=True)
    (package / "arrow_files.py").write_text(source)
    (package / "arrow_files-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: arrow-files\nVersion: 1\n"
    )
    entry = "[frazil.connectors]\narrow-files = arrow_files:PLUGIN\n"
    (package / "arrow_files-1.dist-info" / "entry_points.txt").write_text(entry)
    settings = stack.settings
    kafka_topics.ensure_topics(settings.bootstrap_servers, {"arrows": (2, {})})
    send(settings.bootstrap_servers, "arrows", [b"%d" % n for n in range(30)])
    folder = tmp_path / "files"
    config = {"name": "arrows", "connector.class": "ArrowFiles", "topics": "arrows", "arrow.folder": str(folder)}
    drain = f"import frazil; c = frazil.open({config!r}); assert c.check(); print(c.drain().stored, c.drain().stored)"

    def run() -> str:
        env = {**settings.env, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT / "src")])}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", drain],
            env=env, cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run() == "30 0"
    position = kafka_offsets.end_offsets(settings.bootstrap_servers, ["arrows"])
    leftover = folder / f"arrows+0+{position['arrows', 0]}+999.arrow"  # of a worker that was killed
    leftover.write_bytes(b"half a file")
    send(settings.bootstrap_servers, "arrows", [b"%d" % n for n in range(30, 50)])
    assert run() == "20 0"
    values = [
        value.as_py() for path in sorted(folder.glob("*.arrow")) for value in pa.ipc.open_file(path).read_all()["value"]
    ]
    assert sorted(values) == sorted(b"%d" % n for n in range(50))


def test_only_what_is_promised_is_public() -> None:
    assert frazil.__all__ == ["Connector", "RecordSource", "Worker", "errors", "open", "query"]
    assert all(getattr(frazil, name) is not None for name in frazil.__all__)
    from frazil import open, query

    assert (open, query) == (frazil.open, frazil.query)
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = frazil.nope


def test_a_connector_is_opened_from_a_file_or_from_keys_and_values(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({"connector.class": "IcebergSink", "tasks.max": 2}))
    opened = frazil.open(file, env={})
    assert (opened.name, opened.config["tasks.max"]) == ("orders", "2")
    assert not opened.check()
    assert any("topics" in text for text in opened.check().errors)
    with pytest.raises(frazil.errors.ConfigError, match="Must configure one of topics or topics.regex"):
        opened.drain()
    assert frazil.open({"name": "a", "config": {"connector.class": "S3Sink"}}, env={}).name == "a"
    with pytest.raises(frazil.errors.UsageError, match="without a name"):
        frazil.open({"connector.class": "S3Sink"}, env={})
    with pytest.raises(frazil.errors.UsageError, match="cannot be read"):
        frazil.open(tmp_path / "none.json", env={})
    (tmp_path / "two.yaml").write_text("name: a\n---\nname: b\n")
    with pytest.raises(frazil.errors.UsageError, match="has several connectors"):
        frazil.open(tmp_path / "two.yaml", env={})


def test_what_store_raises_has_no_frames_for_spark_to_print_again_and_again() -> None:
    sink = frazil.open({"connector.class": "S3Sink", "topics": "t"}, name="c", env={})
    frame: Any = SimpleNamespace(sparkSession=Session())
    with pytest.raises(frazil.errors.ConfigError, match="Missing required configuration") as raised:
        sink.store(frame, 0)
    assert [frame.name for frame in raised.traceback][1:] == ["store"]
    assert raised.value.__suppress_context__


def test_no_name_is_that_of_a_room() -> None:
    """Python binds a room to its name in the package once a part of it is imported, in place of the function."""
    rooms = {path.stem for path in (ROOT / "src" / "frazil").iterdir()} - {"errors", "__init__"}
    assert rooms.isdisjoint(frazil.__all__)
    code = "import frazil; a = frazil.query('SELECT 1'); b = frazil.query('SELECT 2'); print(a.rows(), b.rows())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[(1,)] [(2,)]\n"), done.stderr
