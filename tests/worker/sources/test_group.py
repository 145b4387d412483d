"""Source connectors of a group: one worker has their runtime, all answer alike, and another takes it over."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from frazil.clients.kafka import topics as kafka_topics
from frazil.stack.jars import CONNECT_FILE, resolve
from frazil.stack.java import find_java
from frazil.stack.local import LocalStack
from frazil.stack.ports import unused
from frazil.stack.process import ProcessFile, is_alive
from tests.harness import messages
from tests.light_worker import properties, write
from tests.waits import PATIENCE_S, eventually
from tests.worker.rest.requests import sink

pytestmark = [pytest.mark.stack, pytest.mark.faults, pytest.mark.timeout(400)]

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


class Member:
    """A worker without Spark in a process of its own."""

    def __init__(self, bootstrap: str, group: str, plugins: Path, home: Path) -> None:
        (port,) = unused(1)
        keys = properties(bootstrap, group, port, plugin__path=str(plugins), offset__flush__interval__ms="500")
        self._command = [
            sys.executable,
            "-m",
            "tests.light_worker",
            str(write(home / "worker.properties", keys)),
            str(home),
        ]
        self._runtime = ProcessFile(home / "run" / "sources.json")
        self._log = home / "worker.log"
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S)
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)
        eventually(self._ready)

    def _ready(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()[-3000:]
        try:
            return self.client.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def runtime(self) -> psutil.Process | None:
        return self._runtime.find()

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)

    def state(self, name: str) -> str:
        answer = self.client.get(f"/connectors/{name}/status")
        states = [task["state"] for task in answer.json().get("tasks", [])] if answer.is_success else []
        return states[0] if states else "none"


@pytest.fixture
def members(stack: LocalStack, tmp_path: Path) -> Iterator[list[Member]]:
    settings = stack.settings
    resolve(CONNECT_FILE, find_java(settings.env), settings.cache, lambda text: None, settings.env)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "file").symlink_to(CONNECT_FILE.folder(settings.cache), target_is_directory=True)
    group = f"group-{uuid.uuid4().hex[:8]}"
    with ExitStack() as exits:
        made: list[Member] = []
        for number in range(2):
            member = Member(settings.bootstrap_servers, group, plugins, tmp_path / str(number))
            exits.callback(member.client.close)
            exits.callback(lambda member=member: member.process.poll() is None and member.end())  # type: ignore[misc]
            made.append(member)
        yield made


def test_source_connectors_go_where_the_leader_is(members: list[Member], stack: LocalStack, tmp_path: Path) -> None:
    one, two = members
    bootstrap, topic = stack.settings.bootstrap_servers, f"lines-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})
    lines, expected = tmp_path / "lines.txt", [b'"0"']
    lines.write_text("0\n")
    source = {"connector.class": SOURCE, "file": str(lines), "topic": topic}
    assert two.client.put("/connectors/sink/config", json=sink("sink")).status_code == 201
    # Whichever is asked, the leader does it, and both tell the same.
    created = two.client.post("/connectors", json={"name": "lines", "config": source})
    assert created.status_code == 201, created.text
    assert created.headers["location"] == f"{two.client.base_url}/connectors/lines"
    assert two.client.post("/connectors", json={"name": "lines", "config": source}).status_code == 409
    eventually(lambda: (one.state("lines"), two.state("lines")) == ("RUNNING", "RUNNING"))
    for path in ("", "?expand=info&expand=status", "/lines", "/lines/config", "/lines/tasks", "/lines/status"):
        answers = [member.client.get(f"/connectors{path}").json() for member in members]
        assert answers[0] == answers[1], path
    assert two.client.get("/connectors").json() == ["lines", "sink"]
    assert two.client.post("/connectors/lines/restart").status_code == 204
    assert two.client.put("/connectors/lines/pause").status_code == 202
    eventually(lambda: one.state("lines") == "PAUSED")
    assert one.client.put("/connectors/lines/resume").status_code == 202
    eventually(lambda: two.state("lines") == "RUNNING")
    assert sum(member.runtime() is not None for member in members) == 1

    def add(text: str) -> None:
        with lines.open("a") as file:
            file.write(f"{text}\n")
        expected.append(f'"{text}"'.encode())
        eventually(lambda: len(messages(bootstrap, topic)) >= len(expected))

    add("before")
    for number in (signal.SIGKILL, signal.SIGSTOP):
        lost, left = sorted(members, key=lambda member: member.runtime() is None)
        begun, runtime = time.monotonic(), lost.runtime()
        assert runtime is not None
        if number == signal.SIGKILL:
            lost.end(number)
        else:
            lost.process.send_signal(number)
        eventually(lambda: not is_alive(runtime))  # noqa: B023
        eventually(lambda: left.state("lines") == "RUNNING")  # noqa: B023
        print(f"{signal.Signals(number).name}: runs elsewhere after {time.monotonic() - begun:.1f} s")
        add(signal.Signals(number).name)
        if number == signal.SIGKILL:
            lost.start()
        else:
            lost.process.send_signal(signal.SIGCONT)
        # The coordinator may make the one that joins the leader, and so move the runtime once more.
        eventually(lambda: sum(member.runtime() is not None for member in members) == 1)
        eventually(lambda: [member.state("lines") for member in members] == ["RUNNING", "RUNNING"])
    assert [message.value() for message in messages(bootstrap, topic)] == expected
    # 500 while it moves.
    eventually(lambda: two.client.delete("/connectors/lines").status_code == 204)
    eventually(lambda: [member.client.get("/connectors").json() for member in members] == [["sink"], ["sink"]])


def test_a_task_that_has_failed_runs_when_its_cause_is_gone(
    members: list[Member], stack: LocalStack, tmp_path: Path
) -> None:
    one, _ = members
    bootstrap, topic = stack.settings.bootstrap_servers, f"lines-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})
    folder = tmp_path / "folder"
    folder.write_text("a file where the folder is to be")
    source = {"connector.class": SOURCE, "file": str(folder / "lines.txt"), "topic": topic}
    source |= {"frazil.restart.backoff.ms": "1000", "frazil.restart.backoff.max.ms": "1000"}
    assert one.client.post("/connectors", json={"name": "lines", "config": source}).status_code == 201
    eventually(lambda: one.state("lines") == "FAILED")
    folder.unlink()
    folder.mkdir()
    (folder / "lines.txt").write_text("late\n")
    eventually(lambda: [message.value() for message in messages(bootstrap, topic)] == [b'"late"'])
    assert one.state("lines") == "RUNNING"
